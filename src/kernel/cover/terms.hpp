// What the nodes of twigs are called and what is asked of their values, as small numbers.
//
// A label is a node test: a kind, a namespace and a local name, where ANY stands for any.  An atom
// is a comparison of a node's value with a constant, or its position among its siblings.  The
// order among them is all that covering needs to know: `accepts` of labels, `implies` of atoms.
// Both are those of twigcast.language (NodeTest.covers, value_implies, position_implies), and a
// test compares them.
#pragma once

#include <unordered_map>

#include "base/common.hpp"
#include "base/value_test.hpp"
#include "cover/implications.hpp"

namespace twigcast::cover {

using namespace base;

constexpr uint32_t ANY = 0;
constexpr uint32_t ANY_ELEMENT = 0;  // the label of `*`

struct Label {
    Kind kind = Kind::element;
    uint32_t space = ANY;
    uint32_t local = ANY;
};

struct Atom : ValueTest {
    bool is_position = false;  // the number is compared with the index among siblings
    uint32_t test = 0;         // the label that siblings are counted by, for positions
};

// What a negation denies, where a comparison or the name of the root may exclude it; see `Denial`
// in conditions.py.
struct Denial {
    enum class Of : uint8_t { nothing, value, attribute, root };
    Of of = Of::nothing;
    uint32_t label = 0;           // of the attribute, or the root
    std::vector<uint32_t> tests;  // atoms
};

class Terms {
public:
    Implications others;  // the conditions that are neither labels nor atoms

    Terms() { label(Kind::element, ANY, ANY); }

    uint32_t label(Kind kind, uint32_t space, uint32_t local) {
        const uint64_t key = key_of(kind, space, local);
        const auto known_id = label_ids_.find(key);
        if (known_id != label_ids_.end()) return known_id->second;
        const auto id = count_of(labels_);
        label_ids_.emplace(key, id);
        labels_.push_back({kind, space, local});
        return id;
    }

    uint32_t atom(Atom atom) {
        atoms_.push_back(std::move(atom));
        return count_of(atoms_) - 1;
    }

    const Atom& atom(uint32_t id) const { return atoms_[id]; }

    void deny(uint32_t other, Denial::Of of, uint32_t label, const std::vector<uint32_t>& tests) {
        denials_.resize(others.size());
        denials_[other] = {of, label, tests};
    }

    const Denial& denial(uint32_t other) const {
        static const Denial nothing;
        return other < denials_.size() ? denials_[other] : nothing;
    }

    bool excludes(uint32_t given, const Denial& denial) const {
        return std::any_of(denial.tests.begin(), denial.tests.end(), [&](uint32_t test) {
            return !atoms_[given].is_position && exclude(atoms_[given], atoms_[test]);
        });
    }

    bool overlap(uint32_t one, uint32_t other) const {
        const Label &first = labels_[one], &second = labels_[other];
        return first.kind == second.kind &&
               (first.space == ANY || second.space == ANY || first.space == second.space) &&
               (first.local == ANY || second.local == ANY || first.local == second.local);
    }
    Kind kind(uint32_t label) const { return labels_[label].kind; }
    size_t label_count() const { return labels_.size(); }
    size_t size() const { return labels_.size() + atoms_.size() + others.size(); }

    // Whether only nodes of one name pass the test.
    bool is_name(uint32_t label) const {
        const Label& one = labels_[label];
        return one.kind == Kind::text || (one.space != ANY && one.local != ANY);
    }

    bool accepts(uint32_t asked, uint32_t given) const {
        if (asked == given) return true;
        const Label &wanted = labels_[asked], &known = labels_[given];
        return wanted.kind == known.kind && (wanted.space == ANY || wanted.space == known.space) &&
               (wanted.local == ANY || wanted.local == known.local);
    }

    // Call `use` with each label that accepts nodes of a given one; `*` only where that is given.
    template <class Use>
    void for_accepting(uint32_t given, Use use) const {
        const Label& known = labels_[given];
        use(given);
        for (const auto& [space, local] :
             {std::pair{ANY, known.local}, {known.space, ANY}, {ANY, ANY}}) {
            if (space == known.space && local == known.local) continue;
            if (space == ANY && local == ANY && known.kind == Kind::element) continue;
            const auto known_id = label_ids_.find(key_of(known.kind, space, local));
            if (known_id != label_ids_.end() && known_id->second != given) use(known_id->second);
        }
    }

    bool implies(uint32_t given, uint32_t asked) const {
        if (given == asked) return true;
        const Atom &known = atoms_[given], &wanted = atoms_[asked];
        if (known.is_position != wanted.is_position) return false;
        if (known.is_position) {
            if (known.test == wanted.test) return number_implies(known, wanted);
            // The third b is the third element at least.
            return wanted.comparison == Comparison::at_least && known.number >= wanted.number &&
                   (known.comparison == Comparison::equal ||
                    known.comparison == Comparison::at_least) &&
                   accepts(wanted.test, known.test);
        }
        return value_implies(known, wanted);
    }

private:
    static uint64_t key_of(Kind kind, uint32_t space, uint32_t local) {
        return static_cast<uint64_t>(kind) << 62 | uint64_t{space} << 31 | local;
    }

    std::vector<Label> labels_;
    std::vector<Atom> atoms_;
    std::vector<Denial> denials_;
    std::unordered_map<uint64_t, uint32_t> label_ids_;
};

}  // namespace twigcast::cover
