// The functions of XPath 1.0, and where those of XPath 2.0 are found.
#pragma once

#include "program/interpreter_arithmetic.hpp"

namespace twigcast::program {

// The node that a function is about: its argument, or the context item; NONE where there is none.
inline uint32_t Interpreter::own_node(Part one, const Focus& focus) {
    if (count(one) == 0) return node_of(focus);
    const uint32_t number = child(one, 0);
    if (!is_version_2_ && expressions_[number].result == Result::nodes) {
        return first_node(number, focus);
    }
    const Operand value = operand(number, focus);
    if (value->empty()) return NONE;
    if (value->size() > 1 && is_version_2_) fail("several nodes where one is wanted");
    if (!(*value)[0].is_node()) fail("a value that is no node");
    return (*value)[0].node;
}

// The text that a function is about: its argument, or that of the context item.
inline std::string_view Interpreter::own_text(Part one, const Focus& focus) {
    if (count(one) == 0) return text_of(atom_of(focus.item));
    return text_at(child(one, 0), focus, function_of(one) == Function::string);
}

inline std::string_view Interpreter::local_name(uint32_t node) const {
    const Kind kind = axes_.kind(node);
    if (kind == Kind::space) return axes_.spaces.prefix_of(node);
    const bool named =
        kind == Kind::element || kind == Kind::attribute || kind == Kind::instruction;
    return named ? document_.names.local_of(name_of(document_.nodes[node].label))
                 : std::string_view();
}

inline std::string_view Interpreter::namespace_uri(uint32_t node) const {
    const Kind kind = axes_.kind(node);
    if (kind != Kind::element && kind != Kind::attribute) return {};
    return document_.names.namespace_of(name_of(document_.nodes[node].label));
}

inline std::string_view Interpreter::qualified_name(uint32_t node) {
    const std::string_view local = local_name(node);
    if (axes_.spaces.has(node)) return local;
    const std::string_view prefix = document_.qualifiers.prefix_of(node);
    if (prefix.empty()) return local;
    char* const begin = work_.make(prefix.size() + local.size() + 1);
    char* const middle = std::copy(prefix.begin(), prefix.end(), begin);
    *middle = ':';
    std::copy(local.begin(), local.end(), middle + 1);
    return {begin, prefix.size() + local.size() + 1};
}

inline bool Interpreter::has_language(Part one, const Focus& focus) {
    const std::string_view wanted = text_at(child(one, 0), focus);
    uint32_t node = NONE;
    if (count(one) == 2) {
        const Operand value = operand(child(one, 1), focus);
        const bool is_one = value->size() == 1 || (value->size() > 1 && !is_version_2_);
        if (!is_one || !(*value)[0].is_node()) fail("lang() wants one node");
        node = (*value)[0].node;
    } else {
        node = node_of(focus);
    }
    const uint32_t label = document_.names.find_xml("lang");
    if (label == NONE) return false;
    const uint32_t sought = make_label(Kind::attribute, label);
    std::string_view found;
    bool is_found = false;
    for (; node != NONE && !is_found; node = axes_.parent(node)) {
        axes_.walk(Axis::attribute, node, [&](uint32_t attribute) {
            is_found = document_.nodes[attribute].label == sought;
            if (is_found) found = document_.value_of(attribute);
            return is_found;
        });
    }
    if (!is_found || found.size() < wanted.size()) return false;
    const auto lower = [](char byte) {
        return byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte;
    };
    for (size_t at = 0; at < wanted.size(); ++at) {
        if (lower(wanted[at]) != lower(found[at])) return false;
    }
    return found.size() == wanted.size() || found[wanted.size()] == '-';
}

// The elements with one of the IDs that the texts list, between white space.
inline NodeSet Interpreter::identified(Part one, const Focus& focus) {
    if (!knows_ids_) {
        knows_ids_ = true;
        for (const uint32_t attribute : document_.qualifiers.ids) {
            elements_by_id_.emplace(document_.value_of(attribute),
                                    document_.nodes[attribute].parent);
        }
    }
    const Operand value = operand(child(one, 0), focus);
    NodeSet found = lend();
    for (size_t at = 0; at < value->size(); ++at) {
        std::string_view text = text_of(atom_of((*value)[at]));
        work_.spend(1 + text.size() / 16);
        while (!(text = trimmed(text)).empty()) {
            size_t end = 0;
            while (end < text.size() && !is_space(text[end])) ++end;
            const auto known = elements_by_id_.find(text.substr(0, end));
            if (known != elements_by_id_.end()) found.push_back(known->second);
            text.remove_prefix(end);
        }
    }
    axes_.sort(found);
    return found;
}

inline Sequence Interpreter::joined(Part one, const Focus& focus) {
    size_t size = 0;
    std::vector<std::string_view> texts;
    for (uint32_t at = 0; at < count(one); ++at) {
        texts.push_back(text_at(child(one, at), focus, true));
        size += texts.back().size();
    }
    char* const begin = work_.make(size);
    char* end = begin;
    for (const std::string_view text : texts) end = std::copy(text.begin(), text.end(), end);
    return Item::of_text({begin, size});
}

inline Sequence Interpreter::sum(Part one, const Focus& focus) {
    const Operand value = operand(child(one, 0), focus);
    if (!is_version_2_) {
        double total = 0;
        for (size_t at = 0; at < value->size(); ++at) {
            if (!(*value)[at].is_node()) return sum_of_items(*value);
            total += to_number(value_of((*value)[at].node));
        }
        work_.spend(value->size());
        return Item::of(total);
    }
    if (value->empty()) return Item::of_integer(0);
    return sum_of_items(*value);
}

// Functions whose value is true or false.
inline bool Interpreter::call_test(Part one, const Focus& focus) {
    const Function function = function_of(one);
    if (function == Function::not_) return !is_true(child(one, 0), focus);
    if (function == Function::boolean) return is_true(child(one, 0), focus);
    if (function == Function::exists) return exists(child(one, 0), focus);
    if (function == Function::empty) return !exists(child(one, 0), focus);
    if (function == Function::true_) return true;
    if (function == Function::false_) return false;
    if (function == Function::lang) return has_language(one, focus);
    const bool starts = function == Function::starts_with;
    if (starts || function == Function::contains || function == Function::ends_with) {
        const std::string_view text = text_at(child(one, 0), focus);
        const std::string_view part = text_at(child(one, 1), focus);
        work_.spend(text.size() / 64);
        if (part.empty()) return true;
        return compare_text(text,
                            starts                           ? TextComparison::starts_with
                            : function == Function::contains ? TextComparison::contains
                                                             : TextComparison::ends_with,
                            part);
    }
    return is_true(call_of_version_2(one, focus));
}

inline Sequence Interpreter::call(Part one, const Focus& focus) {
    if (one.result == Result::boolean && function_of(one) != Function::codepoint_equal) {
        return Item::of(call_test(one, focus));
    }
    const auto count_item = [](size_t number) {
        return Item::of_integer(static_cast<Wide>(number));
    };
    const Function function = function_of(one);
    if (function == Function::position) return count_item(focus.position);
    if (function == Function::last) return count_item(focus.size);
    if (function == Function::count) return count_item(operand(child(one, 0), focus)->size());
    if (function == Function::sum) return sum(one, focus);
    if (function == Function::floor || function == Function::ceiling ||
        function == Function::round || function == Function::abs ||
        function == Function::round_half_to_even) {
        return rounded(one, focus);
    }
    if (function == Function::number) {
        Item atom = atom_of(focus.item);
        if (count(one) == 1 && !take_atom(child(one, 0), focus, atom)) {
            return Item::of(std::numeric_limits<double>::quiet_NaN());
        }
        return Item::of(number_of(atom));
    }
    if (function == Function::string_length)
        return count_item(count_characters(own_text(one, focus)));
    if (function == Function::string) return Item::of_text(own_text(one, focus));
    if (function == Function::normalize_space) {
        return Item::of_text(normalize_space(own_text(one, focus), work_));
    }
    if (function == Function::id) return Sequence(identified(one, focus));
    if (function == Function::local_name || function == Function::name ||
        function == Function::namespace_uri) {
        const uint32_t node = own_node(one, focus);
        if (node == NONE) return Item::of_text({});
        if (function == Function::local_name) return Item::of_text(local_name(node));
        if (function == Function::name) return Item::of_text(qualified_name(node));
        return Item::of_text(namespace_uri(node));
    }
    if (function == Function::concat) return joined(one, focus);
    if (function == Function::substring_before || function == Function::substring_after) {
        const std::string_view text = text_at(child(one, 0), focus);
        const std::string_view part = text_at(child(one, 1), focus);
        const void* const hit = memmem(text.data(), text.size(), part.data(), part.size());
        if (hit == nullptr) return Item::of_text({});
        const size_t at = static_cast<size_t>(static_cast<const char*>(hit) - text.data());
        if (function == Function::substring_before) return Item::of_text(text.substr(0, at));
        return Item::of_text(text.substr(at + part.size()));
    }
    if (function == Function::substring) {
        const std::string_view text = text_at(child(one, 0), focus);
        const double first = number_at(child(one, 1), focus);
        work_.spend(text.size() / 16);
        if (count(one) == 2) return Item::of_text(substring(text, round_half_up(first), HUGE_VAL));
        const double begin = round_half_up(first);
        const double end = begin + round_half_up(number_at(child(one, 2), focus));
        return Item::of_text(substring(text, begin, end));
    }
    if (function == Function::translate) {
        const std::string_view text = text_at(child(one, 0), focus);
        const std::string_view from = text_at(child(one, 1), focus);
        const std::string_view to = text_at(child(one, 2), focus);
        work_.spend(from.size());
        return Item::of_text(Translation(from, to).apply(text, work_));
    }
    return call_of_version_2(one, focus);
}

}  // namespace twigcast::program
