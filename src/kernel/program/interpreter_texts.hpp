// The functions of XPath 2.0 on texts, and where all functions of XPath 2.0 are found.
#pragma once

#include "base/letter_cases.hpp"
#include "program/interpreter_regular.hpp"
#include "program/normal_form.hpp"

namespace twigcast::program {

// All letters in one case, by the table that the build makes of Python's.
template <size_t Count>
std::string_view change_case(std::string_view text, const LetterCase (&table)[Count], Work& work) {
    std::string changed;
    changed.reserve(text.size());
    work.spend(text.size() / 4);
    for (size_t at = 0; at < text.size();) {
        const size_t begin = at;
        const uint32_t character = take_character(text, at);
        const LetterCase* const found = std::lower_bound(
            std::begin(table), std::end(table), character,
            [](const LetterCase& entry, uint32_t wanted) { return entry.letter < wanted; });
        if (found == std::end(table) || found->letter != character) {
            changed.append(text.substr(begin, at - begin));
            continue;
        }
        for (const uint32_t letter : found->becomes) {
            if (letter != 0) put_character(changed, letter);
        }
    }
    return work.keep(changed);
}

inline std::string_view encode_for_uri(std::string_view text, Work& work) {
    constexpr char HEXADECIMAL[] = "0123456789ABCDEF";
    char* const begin = work.make(text.size() * 3);
    char* end = begin;
    for (const char byte : text) {
        const bool letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
        if (letter || is_digit(byte) || byte == '-' || byte == '_' || byte == '.' || byte == '~') {
            *end++ = byte;
            continue;
        }
        *end++ = '%';
        *end++ = HEXADECIMAL[static_cast<unsigned char>(byte) >> 4];
        *end++ = HEXADECIMAL[static_cast<unsigned char>(byte) & 15];
    }
    work.shorten(end);
    return {begin, static_cast<size_t>(end - begin)};
}

inline Sequence Interpreter::joined_texts(Part one, const Focus& focus) {
    const Operand items = operand(child(one, 0), focus);
    const std::string_view between = count(one) == 2 ? text_at(child(one, 1), focus) : "";
    std::string text;
    for (size_t at = 0; at < items->size(); ++at) {
        if (at > 0) text += between;
        text += text_of(atom_of((*items)[at]));
        work_.spend(1);
        if (text.size() > Work::MOST_BYTES) throw BudgetExceeded{};
    }
    return Item::of_text(work_.keep(text));
}

inline Sequence Interpreter::text_of_characters(Part one, const Focus& focus) {
    const Operand items = operand(child(one, 0), focus);
    std::string text;
    for (size_t at = 0; at < items->size(); ++at) {
        Item item = atom_of((*items)[at]);
        if (!cast(item, Function::xs_integer, item, work_)) fail("a character that is no number");
        const Wide code = item.wide;
        const bool is_control = code < 32 && code != 9 && code != 10 && code != 13;
        if (is_control || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000) || code == 0xFFFE ||
            code == 0xFFFF) {
            fail("a number that is no character of XML");
        }
        put_character(text, static_cast<uint32_t>(code));
    }
    return Item::of_text(work_.keep(text));
}

// The words between white space.
inline Sequence Interpreter::words(std::string_view text) {
    Sequence all;
    while (!(text = trimmed(text)).empty()) {
        size_t end = 0;
        while (end < text.size() && !is_space(text[end])) ++end;
        all.add(Item::of_text(text.substr(0, end)));
        Work::bound_items(all.size());
        text.remove_prefix(end);
    }
    return all;
}

inline bool Interpreter::contains_token(Part one, const Focus& focus) {
    const Operand items = operand(child(one, 0), focus);
    const std::string_view token = trimmed(text_at(child(one, 1), focus));
    for (size_t at = 0; at < items->size(); ++at) {
        const Sequence all = words(text_of(atom_of((*items)[at])));
        for (size_t word = 0; word < all.size(); ++word) {
            if (all[word].view() == token) return true;
        }
    }
    return false;
}

inline Sequence Interpreter::normalized(Part one, const Focus& focus) {
    const std::string_view text = text_at(child(one, 0), focus);
    std::string_view form = "NFC";
    if (count(one) == 2) {
        form = change_case(trimmed(text_at(child(one, 1), focus)), UPPER_CASE, work_);
    }
    if (form.empty()) return Item::of_text(text);
    if (form != "NFC" && form != "NFD" && form != "NFKC" && form != "NFKD") {
        fail("a normal form of Unicode that is not known");
    }
    return Item::of_text(NormalForm(form[2] == 'K', form.back() == 'C').apply(text, work_));
}

inline Sequence Interpreter::call_on_texts(Part one, const Focus& focus) {
    const Function function = function_of(one);
    if (function == Function::lower_case) {
        return Item::of_text(change_case(text_at(child(one, 0), focus), LOWER_CASE, work_));
    }
    if (function == Function::upper_case) {
        return Item::of_text(change_case(text_at(child(one, 0), focus), UPPER_CASE, work_));
    }
    if (function == Function::encode_for_uri) {
        return Item::of_text(encode_for_uri(text_at(child(one, 0), focus), work_));
    }
    if (function == Function::string_join) return joined_texts(one, focus);
    if (function == Function::codepoints_to_string) return text_of_characters(one, focus);
    if (function == Function::contains_token) return Item::of(contains_token(one, focus));
    if (function == Function::string_to_codepoints) {
        const std::string_view text = text_at(child(one, 0), focus);
        std::vector<Item> items;
        for (size_t at = 0; at < text.size();) {
            items.push_back(Item::of_integer(take_character(text, at)));
            Work::bound_items(items.size());
        }
        return Sequence(std::move(items));
    }
    if (function == Function::compare || function == Function::codepoint_equal) {
        Item left = Item::of_text({}), right = left;
        const bool has_left = take_atom(child(one, 0), focus, left);
        const bool has_right = take_atom(child(one, 1), focus, right);
        if (is_version_2_ && !(has_left && has_right)) return {};
        if (is_version_2_ && !(left.is_text() && right.is_text())) fail("a value that is no text");
        const int order = text_of(left).compare(text_of(right));
        if (function == Function::codepoint_equal) return Item::of(order == 0);
        return Item::of_integer(order < 0 ? -1 : order > 0);
    }
    if (function == Function::matches) return Item::of(matches(one, focus));
    if (function == Function::replace) return replaced(one, focus);
    if (function == Function::normalize_unicode) return normalized(one, focus);
    return count(one) == 1 ? words(text_at(child(one, 0), focus)) : tokens(one, focus);
}

inline Sequence Interpreter::call_of_version_2(Part one, const Focus& focus) {
    const Function function = function_of(one);
    if (function >= Function::xs_string) return constructed(function, child(one, 0), focus);
    if (function >= Function::current_date) return call_on_moments(one, focus);
    if (function == Function::root) {
        const uint32_t node = own_node(one, focus);
        return node == NONE ? Sequence() : Sequence(Item::of_node(0));
    }
    if (function == Function::has_children) {
        const uint32_t node = own_node(one, focus);
        auto any = [](uint32_t) { return true; };
        return Item::of(node != NONE && axes_.walk(Axis::child, node, any));
    }
    if (function == Function::data) {
        if (count(one) == 0) return atom_of(focus.item);
        const Operand items = operand(child(one, 0), focus);
        Sequence atoms;
        for (size_t at = 0; at < items->size(); ++at) atoms.add(atom_of((*items)[at]));
        return atoms;
    }
    const bool on_texts = (function >= Function::lower_case && function <= Function::replace) ||
                          function == Function::compare || function == Function::codepoint_equal ||
                          function == Function::contains_token ||
                          function == Function::string_to_codepoints ||
                          function == Function::tokenize || function == Function::matches;
    return on_texts ? call_on_texts(one, focus) : call_on_sequence(one, focus);
}

}  // namespace twigcast::program
