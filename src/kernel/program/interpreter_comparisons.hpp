// Comparisons: `=` and its like hold if one pair of values compares, `eq` compares one with one.
//
// By the rules of XPath 1.0
//
//     a boolean and anything    as booleans, or as numbers where the order is asked
//     = and !=                  as numbers where one is a number, else as texts
//     < <= > >=                 as numbers; a date is none, and no date is before another
//
// By those of version 2 an untyped value takes the type of the other, and values of types that do
// not compare are an error.
//
// Of many values the least and the greatest decide an order, and a table decides equality, so that
// two sets of nodes cost their sum and not their product.
#pragma once

#include "program/comparing.hpp"
#include "program/interpreter_paths.hpp"

namespace twigcast::program {

inline bool Interpreter::compares(Part one, const Focus& focus) {
    Operator operation = operator_of(one);
    uint32_t left = child(one, 0), right = child(one, 1);
    // Nodes that can be looked at one by one stand on the left.
    const auto is_walked = [this](uint32_t number) {
        return expressions_[number].result == Result::nodes && !expressions_[number].is_constant;
    };
    const bool is_kept = expressions_[left].is_constant && !expressions_[right].is_constant;
    if (is_kept || (!is_walked(left) && is_walked(right))) {
        std::swap(left, right);
        operation = mirrored(operation);
    }
    const Operand other = operand(right, focus);
    if (is_walked(left) && other->size() == 1) {
        return nodes_compare(operation, left, focus, (*other)[0]);
    }
    if (other.is_kept() && expressions_[right].is_constant && other->holds_set()) {
        if (operation == Operator::equal) return is_among(left, focus, right);
        if (is_order(operation) && !is_version_2_) {
            const auto [least, greatest] = extremes_of(right);
            const bool below = operation == Operator::less || operation == Operator::at_most;
            const Item bound = Item::of(below ? greatest : least);
            if (is_walked(left)) return nodes_compare(operation, left, focus, bound);
            if (expressions_[left].result != Result::boolean) {
                return any_compares(operation, *operand(left, focus), bound);
            }
        }
    }
    const Operand first = operand(left, focus);
    return any_compares(operation, *first, *other);
}

// Whether a value of the expression is that of a node among those of a constant.
inline bool Interpreter::is_among(uint32_t number, const Focus& focus, uint32_t constant) {
    const std::unordered_set<std::string_view>& known = texts_of(constant);
    const Expression& one = expressions_[number];
    if (one.result == Result::nodes && !one.is_constant) {
        auto visit = [&](uint32_t node) { return known.count(value_of(node)) != 0; };
        return visit_nodes(number, focus, visit);
    }
    const Operand value = operand(number, focus);
    for (size_t at = 0; at < value->size(); ++at) {
        const Item atom = atom_of((*value)[at]);
        if (!atom.is_text()) return any_compares(Operator::equal, *value, this->constant(constant));
        if (known.count(atom.view()) != 0) return true;
    }
    return false;
}

inline bool Interpreter::nodes_compare(Operator operation, uint32_t nodes, const Focus& focus,
                                       const Item& other) {
    if (!is_version_2_ && other.type == Type::boolean) {
        return values_compare(operation, exists(nodes, focus), other.boolean);
    }
    const Item atom = atom_of(other);
    const bool numeric =
        atom.type == Type::real || (!is_version_2_ && (is_order(operation) || atom.is_numeric()));
    if (numeric && !is_version_2_) {
        const double number = number_of(atom);
        auto visit = [&](uint32_t node) {
            return values_compare(operation, to_number(value_of(node)), number);
        };
        return visit_nodes(nodes, focus, visit);
    }
    if (atom.is_text()) {
        const std::string_view text = atom.view();
        auto visit = [&](uint32_t node) { return values_compare(operation, value_of(node), text); };
        return visit_nodes(nodes, focus, visit);
    }
    auto visit = [&](uint32_t node) {
        return pair_compares(operation, atom_of(Item::of_node(node)), atom);
    };
    return visit_nodes(nodes, focus, visit);
}

// The least and the greatest number of a constant that is a set of nodes; no numbers if it has
// none.
inline std::pair<double, double> Interpreter::extremes_of(uint32_t number) {
    constexpr double NO_NUMBER = std::numeric_limits<double>::quiet_NaN();
    const auto [entry, is_new] =
        constant_extremes_.try_emplace(number, std::make_pair(NO_NUMBER, NO_NUMBER));
    auto& [least, greatest] = entry->second;
    const Sequence& nodes = constant(number);
    for (size_t at = 0; is_new && at < nodes.size(); ++at) {
        const double value = to_number(value_of(nodes[at].node));
        if (!(least <= value)) least = std::isnan(value) ? least : value;
        if (!(greatest >= value)) greatest = std::isnan(value) ? greatest : value;
    }
    return entry->second;
}

// The texts of a constant that is a set of nodes.
inline const std::unordered_set<std::string_view>& Interpreter::texts_of(uint32_t number) {
    const auto [entry, is_new] = constant_texts_.try_emplace(number);
    if (is_new) {
        const Sequence& nodes = constant(number);
        for (size_t at = 0; at < nodes.size(); ++at) entry->second.insert(value_of(nodes[at].node));
    }
    return entry->second;
}

inline bool Interpreter::any_compares(Operator operation, const Sequence& one,
                                      const Sequence& two) {
    if (!is_version_2_) {
        const auto is_boolean = [](const Sequence& sequence) {
            return sequence.size() == 1 && sequence[0].type == Type::boolean;
        };
        if (is_boolean(one) || is_boolean(two)) {
            // Of two atomic values, the order is that of their numbers.
            const bool is_pair =
                one.size() == 1 && two.size() == 1 && !one.is_node_set() && !two.is_node_set();
            if (!is_pair || !is_order(operation)) {
                return values_compare(operation, is_true(one), is_true(two));
            }
        }
    }
    if (one.is_node_set() && two.is_node_set()) return sets_compare(operation, one, two);
    for (size_t left = 0; left < one.size(); ++left) {
        work_.spend(two.size());
        const Item atom = atom_of(one[left]);
        for (size_t right = 0; right < two.size(); ++right) {
            if (pair_compares(operation, atom, atom_of(two[right]))) return true;
        }
    }
    return false;
}

// Two sets of nodes: as texts, or as numbers where the order is asked by the rules of XPath 1.0.
inline bool Interpreter::sets_compare(Operator operation, const Sequence& one,
                                      const Sequence& two) {
    if (one.empty() || two.empty()) return false;
    work_.spend(one.size() + two.size());
    const auto text = [this](const Sequence& set, size_t at) { return value_of(set[at].node); };
    if (operation == Operator::equal) {
        const Sequence& few = one.size() < two.size() ? one : two;
        const Sequence& many = one.size() < two.size() ? two : one;
        std::unordered_set<std::string_view> known;
        for (size_t at = 0; at < few.size(); ++at) known.insert(text(few, at));
        for (size_t at = 0; at < many.size(); ++at) {
            if (known.count(text(many, at)) != 0) return true;
        }
        return false;
    }
    if (operation == Operator::unequal) {
        const std::string_view first = text(one, 0), second = text(two, 0);
        for (size_t at = 0; at < two.size(); ++at) {
            if (text(two, at) != first) return true;
        }
        for (size_t at = 0; at < one.size(); ++at) {
            if (text(one, at) != second) return true;
        }
        return false;
    }
    const bool is_less = operation == Operator::less || operation == Operator::at_most;
    const auto extreme = [&](const Sequence& set, bool least, const auto& value_at) {
        auto best = value_at(set, 0);
        for (size_t at = 1; at < set.size(); ++at) {
            const auto value = value_at(set, at);
            if (best != best || (least ? value < best : value > best)) best = value;
        }
        return best;
    };
    if (is_version_2_) {
        return values_compare(operation, extreme(one, is_less, text), extreme(two, !is_less, text));
    }
    const auto number = [&](const Sequence& set, size_t at) { return to_number(text(set, at)); };
    return values_compare(operation, extreme(one, is_less, number), extreme(two, !is_less, number));
}

inline bool Interpreter::pair_compares(Operator operation, const Item& one, const Item& two) {
    if (!is_version_2_) {
        if (is_order(operation) || one.is_numeric() || two.is_numeric()) {
            return values_compare(operation, number_of(one), number_of(two));
        }
        if (one.type == Type::text || two.type == Type::text) {
            return values_compare(operation, text_of(one), text_of(two));
        }
    }
    if (one.is_text() && two.is_text()) return values_compare(operation, one.view(), two.view());
    Item left = one, right = two;
    if (one.type == Type::untyped && !cast(one, type_beside(two.type), left, work_)) {
        fail("a text that is no value of the type it is compared with");
    }
    if (two.type == Type::untyped && !cast(two, type_beside(one.type), right, work_)) {
        fail("a text that is no value of the type it is compared with");
    }
    bool known = true;
    const bool result = atoms_compare(operation, left, right, known);
    if (!known) fail("values of types that do not compare");
    return result;
}

// `eq` and its like: nothing where one side is nothing.
inline Sequence Interpreter::compared_values(Part one, const Focus& focus) {
    Item atoms[2];
    for (uint32_t at = 0; at < 2; ++at) {
        const Operand value = operand(child(one, at), focus);
        if (value->empty()) return {};
        if (value->size() > 1) fail("values are compared one with one");
        atoms[at] = atom_of((*value)[0]);
        if (atoms[at].type == Type::untyped) atoms[at].type = Type::text;
    }
    bool known = true;
    const bool result = atoms_compare(operator_of(one), atoms[0], atoms[1], known);
    if (!known) fail("values of types that do not compare");
    return Item::of(result);
}

// `is`, `<<` and `>>`.
inline Sequence Interpreter::compared_nodes(Part one, const Focus& focus) {
    uint32_t nodes[2];
    for (uint32_t at = 0; at < 2; ++at) {
        const Operand value = operand(child(one, at), focus);
        if (value->empty()) return {};
        if (value->size() > 1 || !(*value)[0].is_node()) fail("nodes are compared one with one");
        nodes[at] = (*value)[0].node;
    }
    if (operator_of(one) == Operator::same_node) return Item::of(nodes[0] == nodes[1]);
    const bool is_before = axes_.is_before(nodes[0], nodes[1]);
    if (operator_of(one) == Operator::node_before) return Item::of(is_before);
    return Item::of(!is_before && nodes[0] != nodes[1]);
}

}  // namespace twigcast::program
