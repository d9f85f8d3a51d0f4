// Whether a reader can take a document as it is, decided from its bytes without Python.
//
// `twigcast.documents` prepares documents for expat: it detects the encoding, and it refuses entity
// bombs and start tags of a size that expat cannot be stopped in.  Most documents need none of
// that, and the same check in Python takes a third of the time of parsing.  Where `prologue_of` is
// not sure, the document goes to `twigcast.documents`, which alone decides.
#pragma once

#include <cstring>

#include "base/common.hpp"

namespace twigcast::xml {

constexpr std::string_view BYTE_ORDER_MARK = "\xEF\xBB\xBF";

inline size_t skip_space(std::string_view data, size_t at) {
    return std::min(data.find_first_not_of(" \t\r\n", at), data.size());
}

inline bool starts_with(std::string_view data, size_t at, std::string_view start) {
    return data.compare(at, start.size(), start) == 0;
}

// Whether an XML declaration, up to its `?>`, names no encoding, or one that expat knows by that
// name; if `only_utf_8`, not the others.  In one that says `encoding` twice expat finds a fault,
// wherever it stands.
inline bool declares_known(std::string_view declaration, bool only_utf_8) {
    constexpr std::string_view WORD = "encoding";
    size_t at = declaration.find(WORD);
    if (at == std::string_view::npos) return true;
    at = skip_space(declaration, at + WORD.size());
    if (!starts_with(declaration, at, "=")) return false;
    at = skip_space(declaration, at + 1);
    const std::string_view rest = declaration.substr(at);
    if (rest.empty() || (rest[0] != '"' && rest[0] != '\'')) return false;
    const auto is_alike = [](char lower, char given) {
        return given == lower || ('A' <= given && given <= 'Z' && (given | 0x20) == lower);
    };
    const auto names = [&](std::string_view name) {
        return rest.size() > name.size() + 1 && rest[name.size() + 1] == rest[0] &&
               std::equal(name.begin(), name.end(), rest.begin() + 1, is_alike);
    };
    return names("utf-8") || (!only_utf_8 && (names("iso-8859-1") || names("us-ascii")));
}

// Whether every stretch without `<`, which a start tag might fill, is shorter than `window`.
inline bool has_short_tags(std::string_view data, size_t window) {
    if (window < 2) return false;
    size_t at = 0;  // of a `<`
    while (at + window < data.size()) {
        const void* last = memrchr(data.data() + at + 1, '<', window - 1);
        if (last == nullptr) return false;
        at = static_cast<size_t>(static_cast<const char*>(last) - data.data());
    }
    return true;
}

// Where a document type declaration ends, given where it begins; npos where it has an internal
// subset, or no end.
inline size_t end_of_type(std::string_view data, size_t at) {
    for (at = data.find_first_of("[>\"'", at); at != std::string_view::npos;
         at = data.find_first_of("[>\"'", at + 1)) {
        if (data[at] == '>') return at + 1;
        if (data[at] == '[') break;
        at = data.find(data[at], at + 1);
        if (at == std::string_view::npos) break;
    }
    return std::string_view::npos;
}

// Whether all references are to characters, or to the entities that every document knows.
inline bool has_known_references(std::string_view data) {
    for (size_t at = data.find('&'); at != std::string_view::npos; at = data.find('&', at + 1)) {
        bool is_known = at + 1 < data.size() && data[at + 1] == '#';
        for (const std::string_view name : {"lt;", "gt;", "amp;", "quot;", "apos;"}) {
            is_known = is_known || starts_with(data, at + 1, name);
        }
        if (!is_known) return false;
    }
    return true;
}

// What a document begins with: nothing that needs preparing; a document type declaration that needs
// none either, since it declares nothing itself and nothing is referred to; or something else.
enum class Prologue : int { plain, typed, other };

// Whether a reader can be given the document as it is: UTF-8, or what it declares if it is no text;
// nothing declared within it; no start tag of `window` bytes or more.  Anything but `other` is
// certain.
inline Prologue prologue_of(const char* bytes, size_t size, size_t window, bool is_text) {
    constexpr size_t LONGEST_DECLARATION = 200;
    std::string_view data{bytes, size};
    const bool is_marked = starts_with(data, 0, BYTE_ORDER_MARK);
    if (is_marked) data.remove_prefix(BYTE_ORDER_MARK.size());
    if (data.size() < 4 || data[0] != '<' || data[1] == '\0') return Prologue::other;
    size_t at = 0;
    if (starts_with(data, 0, "<?xml")) {
        at = data.substr(0, LONGEST_DECLARATION).find("?>");
        if (at == std::string_view::npos ||
            !declares_known(data.substr(0, at), is_text || is_marked)) {
            return Prologue::other;
        }
        at += 2;
    }
    Prologue prologue = Prologue::plain;
    while (true) {
        at = skip_space(data, at);
        if (starts_with(data, at, "<!DOCTYPE")) {
            if (prologue == Prologue::typed) return Prologue::other;
            prologue = Prologue::typed;
            at = end_of_type(data, at);
        } else if (starts_with(data, at, "<!--")) {
            at = data.find("-->", at + 4);
            if (at != std::string_view::npos) at += 3;
        } else if (starts_with(data, at, "<?")) {
            at = data.find("?>", at + 2);
            if (at != std::string_view::npos) at += 2;
        } else {
            break;
        }
        if (at == std::string_view::npos) return Prologue::other;
    }
    // Expat refuses anything but a start tag here, so only a declaration need be looked for.
    if (at + 1 >= data.size() || data[at] != '<' || data[at + 1] == '!') return Prologue::other;
    if (prologue == Prologue::typed && !has_known_references(data)) return Prologue::other;
    return has_short_tags(data, window) ? prologue : Prologue::other;
}

}  // namespace twigcast::xml
