// What the nodes of twigs are called and what is asked of their values, as small numbers.
//
// A label is a node test: a kind, a namespace and a local name, where ANY stands for any.  An atom
// is a comparison of a node's value with a constant, or its position among its siblings.  The
// order among them is all that covering needs to know: `accepts` of labels, `implies` of atoms.
// Both are those of twigcast.language (NodeTest.covers, value_implies, position_implies), and a
// test compares them.
#pragma once

#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/common.hpp"
#include "base/comparison.hpp"
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

struct Atom {
    Comparison comparison = Comparison::equal;
    bool is_position = false;   // the number is compared with the index among siblings
    bool is_no_number = false;  // only texts that are no numbers pass
    double number = 0;          // what the text is as a number, where the operand is a text
    std::string text;           // the operand, where it is a text
    uint32_t test = 0;          // the label that siblings are counted by, for positions

    bool is_text() const { return !is_numeric(comparison); }
};

inline bool compare(double left, Comparison comparison, double right) {
    return compare_numbers(left, number_comparison(comparison), right);
}

// Whether a text, which is that of `value`, passes a comparison.
inline bool passes(const Atom& value, const Atom& test) {
    if (!test.is_text()) return compare(value.number, test.comparison, test.number);
    return compare_text(value.text, text_comparison(test.comparison), test.text);
}

inline bool number_implies(const Atom& given, const Atom& asked) {
    const double known = given.number, wanted = asked.number;
    if (given.comparison == Comparison::equal) return compare(known, asked.comparison, wanted);
    if (asked.comparison == Comparison::unequal) {
        if (given.comparison == Comparison::unequal) return known == wanted;
        return !compare(wanted, given.comparison, known);
    }
    const int side = bounds_of(given.comparison);
    if (side == 0 || side != bounds_of(asked.comparison)) return false;
    // The outermost number that passes.  Between a double and the next there is none: `.<5` is
    // `.<=` the one before 5.
    const double inwards = side * std::numeric_limits<double>::infinity();
    const bool is_included = compare(known, given.comparison, known);
    const double outermost = is_included ? known : std::nextafter(known, inwards);
    return compare(outermost, asked.comparison, wanted);
}

inline bool text_implies(const Atom& given, const Atom& asked) {
    if (asked.comparison == Comparison::unequal_text) {
        if (given.comparison == Comparison::unequal_text) return given.text == asked.text;
        return !passes(asked, given);
    }
    return may_imply(given.comparison, asked.comparison) && passes(given, asked);
}

// Whether a text can begin, or end, as both ask for.
inline bool ends_agree(const Atom& one, const Atom& other) {
    if (one.comparison != other.comparison) return true;
    if (one.comparison != Comparison::starts_with && one.comparison != Comparison::ends_with) {
        return true;
    }
    return one.text.size() > other.text.size() ? passes(one, other) : passes(other, one);
}

inline bool have_common_number(const Atom& one, const Atom& other) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double low = -infinity, high = infinity;
    for (const Atom* atom : {&one, &other}) {
        if (atom->comparison == Comparison::unequal) continue;
        const int side = bounds_of(atom->comparison);
        const bool is_included = compare(atom->number, atom->comparison, atom->number);
        const double outermost =
            is_included ? atom->number : std::nextafter(atom->number, side * infinity);
        if (side >= 0) low = std::max(low, outermost);
        if (side <= 0) high = std::min(high, outermost);
    }
    for (const Atom* atom : {&one, &other}) {
        if (atom->comparison != Comparison::unequal) continue;
        if (low == atom->number) low = std::nextafter(low, infinity);
        if (high == atom->number) high = std::nextafter(high, -infinity);
    }
    return low <= high;
}

// Whether no text passes both: with_consequences of two tests, in values.py.
inline bool exclude(const Atom& one, const Atom& other) {
    if (one.comparison == Comparison::equal_text) return !passes(one, other);
    if (other.comparison == Comparison::equal_text) return !passes(other, one);
    if (one.is_text() && other.is_text()) return !ends_agree(one, other);
    if (one.is_text()) return one.is_no_number && other.comparison != Comparison::unequal;
    if (other.is_text()) return other.is_no_number && one.comparison != Comparison::unequal;
    if (one.comparison == Comparison::unequal && other.comparison == Comparison::unequal) {
        return false;
    }
    return !have_common_number(one, other);
}

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
        if (known.comparison == Comparison::equal_text) return passes(known, wanted);
        if (known.is_text()) {
            if (wanted.is_text()) return text_implies(known, wanted);
            return known.is_no_number && wanted.comparison == Comparison::unequal;
        }
        if (wanted.is_text()) {
            return wanted.comparison == Comparison::unequal_text && !passes(wanted, known);
        }
        return number_implies(known, wanted);
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
