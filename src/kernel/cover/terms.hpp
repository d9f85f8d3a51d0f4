// What the nodes of twigs are called and what is asked of their values, as small numbers.
//
// A label is a node test: a kind, a namespace and a local name, where ANY stands for any.  An atom
// is a comparison of a node's value with a constant, or its position among its siblings.  The
// order among them is all that covering needs to know: `accepts` of labels, `implies` of atoms.
// Both are those of twigcast.language (NodeTest.covers, value_implies, position_implies), and a
// test compares them.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/common.hpp"

namespace twigcast::cover {

using namespace base;

constexpr std::uint32_t ANY = 0;
constexpr std::uint32_t ANY_ELEMENT = 0;  // the label of `*`

enum Operator : std::uint8_t {
    EQUAL,
    UNEQUAL,
    LESS,
    AT_MOST,
    GREATER,
    AT_LEAST,
    CONTAINS,
    STARTS_WITH,
    POSITION_IS,
    POSITION_IS_NOT,
    POSITION_AT_MOST,
    POSITION_AT_LEAST,
};

struct Label {
    Kind kind = Kind::element;
    std::uint32_t space = ANY;
    std::uint32_t local = ANY;
};

struct Atom {
    std::uint8_t operation = EQUAL;
    bool is_text = false;
    bool is_no_number = false;  // only texts that are no numbers pass
    double number = 0;          // what the text is as a number, where the operand is a text
    std::string text;           // the operand, where it is a text
    std::uint32_t test = 0;     // the label that siblings are counted by, for positions
};

inline bool compare(double left, std::uint8_t operation, double right) {
    switch (operation) {
        case EQUAL: return left == right;
        case UNEQUAL: return left != right;
        case LESS: return left < right;
        case AT_MOST: return left <= right;
        case GREATER: return left > right;
        default: return left >= right;
    }
}

inline bool holds(const std::string& whole, const std::string& part) {
    return whole.find(part) != std::string::npos;
}

inline bool starts(const std::string& whole, const std::string& part) {
    return whole.compare(0, part.size(), part) == 0;
}

// Whether a text, which is that of `value`, passes a comparison.
inline bool passes(const Atom& value, const Atom& test) {
    if (!test.is_text) return compare(value.number, test.operation, test.number);
    switch (test.operation) {
        case EQUAL: return value.text == test.text;
        case UNEQUAL: return value.text != test.text;
        case CONTAINS: return holds(value.text, test.text);
        default: return starts(value.text, test.text);
    }
}

inline bool number_implies(const Atom& given, const Atom& asked) {
    const double known = given.number, wanted = asked.number;
    if (given.operation == EQUAL) return compare(known, asked.operation, wanted);
    if (given.operation == UNEQUAL) return asked.operation == UNEQUAL && known == wanted;
    if (asked.operation == UNEQUAL) return !compare(wanted, given.operation, known);
    if (asked.operation == EQUAL) return false;
    const bool below = given.operation == LESS || given.operation == AT_MOST;
    if (below != (asked.operation == LESS || asked.operation == AT_MOST)) return false;
    if (below ? known < wanted : known > wanted) return true;
    if (given.operation == asked.operation) return known == wanted;
    // Between a double and the next there is none: `.<5` is `.<=` the one before 5.
    return (given.operation == LESS || given.operation == GREATER) &&
           std::nextafter(known, wanted) == wanted;
}

inline bool text_implies(const Atom& given, const Atom& asked) {
    if (given.operation == STARTS_WITH) {
        if (asked.operation == UNEQUAL) return !starts(asked.text, given.text);
        if (asked.operation == CONTAINS) return holds(given.text, asked.text);
        return asked.operation == STARTS_WITH && starts(given.text, asked.text);
    }
    if (given.operation == CONTAINS) {
        if (asked.operation == UNEQUAL) return !holds(asked.text, given.text);
        return asked.operation == CONTAINS && holds(given.text, asked.text);
    }
    return given.operation == asked.operation && given.text == asked.text;
}

inline bool position_implies(const Atom& given, const Atom& asked) {
    const double known = given.number, wanted = asked.number;
    switch (given.operation) {
        case POSITION_IS:
            if (asked.operation == POSITION_IS) return known == wanted;
            if (asked.operation == POSITION_IS_NOT) return known != wanted;
            return asked.operation == POSITION_AT_MOST ? known <= wanted : known >= wanted;
        case POSITION_AT_MOST:
            return (asked.operation == POSITION_AT_MOST && known <= wanted) ||
                   (asked.operation == POSITION_IS_NOT && known < wanted);
        case POSITION_AT_LEAST:
            return (asked.operation == POSITION_AT_LEAST && known >= wanted) ||
                   (asked.operation == POSITION_IS_NOT && known > wanted);
        default: return asked.operation == POSITION_IS_NOT && known == wanted;
    }
}

class Terms {
public:
    Terms() { label(Kind::element, ANY, ANY); }

    std::uint32_t label(Kind kind, std::uint32_t space, std::uint32_t local) {
        const std::uint64_t key = key_of(kind, space, local);
        const auto known_id = label_ids_.find(key);
        if (known_id != label_ids_.end()) return known_id->second;
        const auto id = static_cast<std::uint32_t>(labels_.size());
        label_ids_.emplace(key, id);
        labels_.push_back({kind, space, local});
        return id;
    }

    std::uint32_t atom(Atom atom) {
        atoms_.push_back(std::move(atom));
        return static_cast<std::uint32_t>(atoms_.size() - 1);
    }

    const Atom& atom(std::uint32_t id) const { return atoms_[id]; }
    Kind kind(std::uint32_t label) const { return labels_[label].kind; }
    std::size_t label_count() const { return labels_.size(); }
    std::size_t size() const { return labels_.size() + atoms_.size(); }

    // Whether only nodes of one name pass the test.
    bool is_name(std::uint32_t label) const {
        const Label& one = labels_[label];
        return one.kind == Kind::text || (one.space != ANY && one.local != ANY);
    }

    bool accepts(std::uint32_t asked, std::uint32_t given) const {
        if (asked == given) return true;
        const Label &wanted = labels_[asked], &known = labels_[given];
        return wanted.kind == known.kind && (wanted.space == ANY || wanted.space == known.space) &&
               (wanted.local == ANY || wanted.local == known.local);
    }

    // Call `use` with each label that accepts nodes of a given one; `*` only where that is given.
    template <class Use>
    void for_accepting(std::uint32_t given, Use use) const {
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

    bool implies(std::uint32_t given, std::uint32_t asked) const {
        if (given == asked) return true;
        const Atom &known = atoms_[given], &wanted = atoms_[asked];
        if (known.operation >= POSITION_IS || wanted.operation >= POSITION_IS) {
            if (known.operation < POSITION_IS || wanted.operation < POSITION_IS) return false;
            if (known.test == wanted.test) return position_implies(known, wanted);
            // The third b is the third element at least.
            return wanted.operation == POSITION_AT_LEAST && known.number >= wanted.number &&
                   (known.operation == POSITION_IS || known.operation == POSITION_AT_LEAST) &&
                   accepts(wanted.test, known.test);
        }
        if (known.operation == EQUAL && known.is_text) return passes(known, wanted);
        if (known.is_text) {
            if (wanted.is_text) return text_implies(known, wanted);
            return known.is_no_number && wanted.operation == UNEQUAL;
        }
        if (wanted.is_text) return wanted.operation == UNEQUAL && !passes(wanted, known);
        return number_implies(known, wanted);
    }

private:
    static std::uint64_t key_of(Kind kind, std::uint32_t space, std::uint32_t local) {
        return static_cast<std::uint64_t>(kind) << 62 | std::uint64_t{space} << 31 | local;
    }

    std::vector<Label> labels_;
    std::vector<Atom> atoms_;
    std::unordered_map<std::uint64_t, std::uint32_t> label_ids_;
};

}  // namespace twigcast::cover
