// UTF-8, written and checked.
#pragma once

#include "base/sixteen.hpp"

namespace twigcast::base {

inline void put_character(std::string& text, uint32_t character) {
    if (character < 0x80) {
        text.push_back(static_cast<char>(character));
    } else if (character < 0x800) {
        text.push_back(static_cast<char>(0xC0 | character >> 6));
        text.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    } else if (character < 0x10000) {
        text.push_back(static_cast<char>(0xE0 | character >> 12));
        text.push_back(static_cast<char>(0x80 | (character >> 6 & 0x3F)));
        text.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    } else {
        text.push_back(static_cast<char>(0xF0 | character >> 18));
        text.push_back(static_cast<char>(0x80 | (character >> 12 & 0x3F)));
        text.push_back(static_cast<char>(0x80 | (character >> 6 & 0x3F)));
        text.push_back(static_cast<char>(0x80 | (character & 0x3F)));
    }
}

// Whether a document of XML may hold the character.
inline bool is_xml_character(uint32_t character) {
    if (character < 0x20) return character == '\t' || character == '\n' || character == '\r';
    const bool is_surrogate = character >= 0xD800 && character < 0xE000;
    return character < 0x110000 && !is_surrogate && character != 0xFFFE && character != 0xFFFF;
}

// The length of the character of XML, longer than a byte, at the start of the bytes; 0 if none is.
inline size_t long_character(const unsigned char* at, size_t left) {
    const unsigned char lead = at[0];
    const auto continues = [&](size_t behind) { return (at[behind] & 0xC0) == 0x80; };
    if (lead < 0xC2 || left < 2 || !continues(1)) return 0;
    if (lead < 0xE0) return 2;
    if (left < 3 || !continues(2)) return 0;
    if (lead < 0xF0) {
        const uint32_t character = (lead & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
        return character >= 0x800 && is_xml_character(character) ? 3 : 0;
    }
    if (left < 4 || !continues(3) || lead > 0xF4) return 0;
    const uint32_t upper = (lead & 0x07u) << 6 | (at[1] & 0x3Fu);  // of planes 1 to 16
    return upper >= 0x10 && upper <= 0x10F ? 4 : 0;
}

// Whether the bytes are UTF-8 and all its characters are characters of XML.
inline bool are_xml_characters(std::string_view bytes) {
    const unsigned char* const start = reinterpret_cast<const unsigned char*>(bytes.data());
    size_t at = 0;
    while (at < bytes.size()) {
        for (; at + 16 <= bytes.size(); at += 16) {
            const Sixteen some = Sixteen::load(bytes.data() + at);
            const Sixteen spaces = some.equal('\n') | some.equal('\t') | some.equal('\r');
            if ((some.at_most(0x1F).without(spaces)).marks() != 0) return false;
            if (some.has_high_bit()) break;
        }
        const size_t stop = std::min(at + 16, bytes.size());
        while (at < stop) {
            const size_t length = start[at] < 0x80 ? is_xml_character(start[at])
                                                   : long_character(start + at, bytes.size() - at);
            if (length == 0) return false;
            at += length;
        }
    }
    return true;
}

}  // namespace twigcast::base
