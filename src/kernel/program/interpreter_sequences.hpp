// The functions of XPath 2.0 on sequences: sums and extremes, parts, equality of everything.
#pragma once

#include "program/interpreter_functions.hpp"

namespace twigcast::program {

// The values of a sequence that are to be added or ordered: untyped ones are numbers.
inline std::vector<Item> Interpreter::addends(const Sequence& items) {
    std::vector<Item> atoms;
    atoms.reserve(items.size());
    work_.spend(items.size());
    for (size_t at = 0; at < items.size(); ++at) {
        Item atom = atom_of(items[at]);
        if (atom.type == Type::untyped) {
            double number = 0;
            if (!to_double(atom, number)) fail("a text that is no number");
            atom = Item::of(number);
        }
        atoms.push_back(atom);
    }
    return atoms;
}

inline Sequence Interpreter::sum_of_items(const Sequence& items) {
    const std::vector<Item> atoms = addends(items);
    Item total = atoms[0];
    if (!total.is_numeric() && total.type != Type::day_time && total.type != Type::year_month) {
        fail("values that cannot be added");
    }
    total.subtype = 0;
    for (size_t at = 1; at < atoms.size(); ++at) {
        total = calculate(Operator::plus, total, atoms[at]);
    }
    return total;
}

inline Sequence Interpreter::average(const Sequence& items) {
    if (items.empty()) return {};
    const Item total = sum_of_items(items)[0];
    return calculate(Operator::divide, total, Item::of_integer(static_cast<Wide>(items.size())));
}

inline Sequence Interpreter::extreme(const Sequence& items, bool greatest) {
    if (items.empty()) return {};
    const std::vector<Item> atoms = addends(items);
    const Operator better = greatest ? Operator::value_greater : Operator::value_less;
    Item best = atoms[0];
    bool any_real = false, any_float = false;
    for (const Item& atom : atoms) {
        any_real |= atom.type == Type::real;
        any_float |= atom.type == Type::real_32;
        const bool is_number = atom.type == Type::real || atom.type == Type::real_32;
        bool known = true;
        const bool is_better = atoms_compare(better, atom, best, known);
        if (!known || atom.type == Type::duration) fail("values that have no order");
        const bool no_number = is_number && std::isnan(atom.number);
        if (is_better || no_number) best = atom;
        if (no_number) break;
    }
    best.subtype = 0;
    if (best.is_numeric() && (any_real || any_float)) {
        double number = 0;
        to_double(best, number);
        best = Item::of(number);
        if (!any_real) best.type = Type::real_32;
    }
    return best;
}

// Whether two values are equal, and comparable at all; no number is equal to no number.
inline bool Interpreter::are_same(Item one, Item two) {
    if (one.type == Type::untyped) one.type = Type::text;
    if (two.type == Type::untyped) two.type = Type::text;
    const auto is_nan = [](const Item& item) {
        return (item.type == Type::real || item.type == Type::real_32) && std::isnan(item.number);
    };
    if (is_nan(one) && is_nan(two)) return true;
    bool known = true;
    return atoms_compare(Operator::value_equal, one, two, known) && known;
}

inline Sequence Interpreter::distinct(const Sequence& items) {
    Sequence result;
    std::unordered_set<std::string_view> texts;
    std::vector<Item> others;
    for (size_t at = 0; at < items.size(); ++at) {
        const Item atom = atom_of(items[at]);
        if (atom.is_text()) {
            if (texts.insert(atom.view()).second) result.add(atom);
            continue;
        }
        work_.spend(1 + others.size());
        const auto same = [&](const Item& other) { return are_same(atom, other); };
        if (std::any_of(others.begin(), others.end(), same)) continue;
        others.push_back(atom);
        result.add(atom);
    }
    return result;
}

// Whether two elements have the same attributes, in any order.
inline bool Interpreter::have_same_attributes(uint32_t one, uint32_t two) {
    const uint32_t first = axes_.first_child(one), second = axes_.first_child(two);
    if (first - one != second - two) return false;
    work_.spend(uint64_t{first - one} * (first - one));
    for (uint32_t left = one + 1; left < first; ++left) {
        bool found = false;
        for (uint32_t right = two + 1; right < second && !found; ++right) {
            found = document_.nodes[left].label == document_.nodes[right].label &&
                    value_of(left) == value_of(right);
        }
        if (!found) return false;
    }
    return true;
}

// Two subtrees side by side, in document order; comments and instructions within do not count.
inline bool Interpreter::are_same_trees(uint32_t one, uint32_t two) {
    if (axes_.kind(one) != axes_.kind(two)) return false;
    const Kind top = axes_.kind(one);
    if (top != Kind::element && top != Kind::document) {
        return local_name(one) == local_name(two) && namespace_uri(one) == namespace_uri(two) &&
               value_of(one) == value_of(two);
    }
    const Node* const nodes = document_.nodes.data();
    const uint32_t depth_one = nodes[one].depth, depth_two = nodes[two].depth;
    const uint32_t end_one = nodes[one].end, end_two = nodes[two].end;
    const auto skip = [&](uint32_t& at, uint32_t end) {
        while (at < end && !has_shared_text(kind_of(nodes[at].label))) ++at;
    };
    while (true) {
        skip(one, end_one);
        skip(two, end_two);
        if (one == end_one || two == end_two) return one == end_one && two == end_two;
        work_.spend(1);
        if (nodes[one].label != nodes[two].label ||
            nodes[one].depth - depth_one != nodes[two].depth - depth_two) {
            return false;
        }
        const Kind kind = kind_of(nodes[one].label);
        if (kind == Kind::text && value_of(one) != value_of(two)) return false;
        if (kind == Kind::element && !have_same_attributes(one, two)) return false;
        ++one;
        ++two;
    }
}

inline bool Interpreter::are_same_sequences(const Sequence& one, const Sequence& two) {
    if (one.size() != two.size()) return false;
    for (size_t at = 0; at < one.size(); ++at) {
        const Item left = one[at], right = two[at];
        if (left.is_node() != right.is_node()) return false;
        const bool same =
            left.is_node() ? are_same_trees(left.node, right.node) : are_same(left, right);
        if (!same) return false;
    }
    return true;
}

// The items whose positions are at least `begin` and less than `end`.
inline Sequence Interpreter::part_of(const Sequence& items, double begin, double end) {
    Sequence part;
    for (size_t at = 0; at < items.size(); ++at) {
        const double position = static_cast<double>(at + 1);
        if (position >= begin && position < end) part.add(items[at]);
    }
    return part;
}

inline Sequence Interpreter::index_of(Part one, const Operand& items, const Focus& focus) {
    Item wanted;
    if (!take_atom(child(one, 1), focus, wanted)) fail("index-of() wants one value");
    Sequence found;
    for (size_t at = 0; at < items->size(); ++at) {
        if (are_same(atom_of((*items)[at]), wanted)) {
            found.add(Item::of_integer(static_cast<Wide>(at + 1)));
        }
    }
    return found;
}

inline Sequence Interpreter::inserted(Part one, const Operand& items, const Focus& focus) {
    const bool removes = function_of(one) == Function::remove;
    Item where;
    if (!number_item_at(child(one, 1), focus, where)) fail("a position is wanted");
    double position = 0;
    to_double(where, position);
    Sequence result;
    const double last = static_cast<double>(items->size());
    const double place = removes ? position : std::min(std::max(position, 1.0), last + 1);
    for (size_t at = 0; at <= items->size(); ++at) {
        const bool here = static_cast<double>(at + 1) == place;
        if (here && !removes) result.add(evaluate(child(one, 2), focus));
        if (at < items->size() && !(here && removes)) result.add((*items)[at]);
    }
    return result;
}

// The functions whose first argument is a sequence.
inline Sequence Interpreter::call_on_sequence(Part one, const Focus& focus) {
    const Function function = function_of(one);
    const Operand items = operand(child(one, 0), focus);
    work_.spend(items->size());
    if (function == Function::avg) return average(*items);
    if (function == Function::max) return extreme(*items, true);
    if (function == Function::min) return extreme(*items, false);
    if (function == Function::distinct_values) return distinct(*items);
    if (function == Function::head) return part_of(*items, 1, 2);
    if (function == Function::tail) return part_of(*items, 2, HUGE_VAL);
    if (function == Function::index_of) return index_of(one, items, focus);
    if (function == Function::remove || function == Function::insert_before) {
        return inserted(one, items, focus);
    }
    if (function == Function::reverse) {
        Sequence reversed;
        for (size_t at = items->size(); at-- > 0;) reversed.add((*items)[at]);
        return reversed;
    }
    if (function == Function::subsequence) {
        const double begin = round_half_up(number_at(child(one, 1), focus));
        const double length = count(one) == 3 ? number_at(child(one, 2), focus) : HUGE_VAL;
        return part_of(*items, begin, count(one) == 3 ? begin + round_half_up(length) : HUGE_VAL);
    }
    if (function == Function::deep_equal) {
        const Operand other = operand(child(one, 1), focus);
        return Item::of(are_same_sequences(*items, *other));
    }
    const bool is_one = function == Function::exactly_one;
    if ((function == Function::zero_or_one || is_one) && items->size() > 1) {
        fail("several values where one is wanted");
    }
    if ((function == Function::one_or_more || is_one) && items->empty()) {
        fail("no value where one is wanted");
    }
    return *items;  // those three, and unordered()
}

}  // namespace twigcast::program
