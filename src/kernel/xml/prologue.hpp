// Whether expat can take a document as it is, decided from its bytes without Python.
//
// `twigcast.documents` prepares documents for expat: it detects the encoding, and it refuses entity
// bombs and start tags of a size that expat cannot be stopped in.  Most documents need none of
// that, and the same check in Python takes a third of the time of parsing.  Where `is_plain` is not
// sure, the document goes to `twigcast.documents`, which alone decides.
#pragma once

#include <cstring>

#include "base/common.hpp"

namespace twigcast::xml {

inline size_t skip_space(std::string_view data, size_t at) {
    return std::min(data.find_first_not_of(" \t\r\n", at), data.size());
}

inline bool starts_with(std::string_view data, size_t at, std::string_view start) {
    return data.compare(at, start.size(), start) == 0;
}

// Whether an XML declaration, up to its `?>`, names no encoding or UTF-8.  In one that says
// `encoding` twice expat finds a fault, wherever it stands.
inline bool declares_utf_8(std::string_view declaration) {
    constexpr std::string_view WORD = "encoding";
    size_t at = declaration.find(WORD);
    if (at == std::string_view::npos) return true;
    at = skip_space(declaration, at + WORD.size());
    if (!starts_with(declaration, at, "=")) return false;
    at = skip_space(declaration, at + 1);
    const std::string_view name = declaration.substr(at, 7);
    if (name.size() < 7 || (name[0] != '"' && name[0] != '\'') || name[6] != name[0]) return false;
    return (name[1] | 0x20) == 'u' && (name[2] | 0x20) == 't' && (name[3] | 0x20) == 'f' &&
           name[4] == '-' && name[5] == '8';
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

// Whether expat can be given the document as it is: UTF-8, no document type declaration, no start
// tag of `window` bytes or more.  True only where that is certain.
inline bool is_plain(const char* bytes, size_t size, size_t window) {
    constexpr size_t LONGEST_DECLARATION = 200;
    const std::string_view data{bytes, size};
    if (size < 4 || data[0] != '<' || data[1] == '\0') return false;
    size_t at = 0;
    if (starts_with(data, 0, "<?xml")) {
        at = data.substr(0, LONGEST_DECLARATION).find("?>");
        if (at == std::string_view::npos || !declares_utf_8(data.substr(0, at))) return false;
        at += 2;
    }
    while (true) {
        at = skip_space(data, at);
        const bool comment = starts_with(data, at, "<!--");
        if (!comment && !starts_with(data, at, "<?")) break;
        at = data.find(comment ? "-->" : "?>", at + (comment ? 4 : 2));
        if (at == std::string_view::npos) return false;
        at += comment ? 3 : 2;
    }
    // Expat refuses anything but a start tag here, so only a declaration need be looked for.
    return at + 1 < size && data[at] == '<' && data[at + 1] != '!' && has_short_tags(data, window);
}

}  // namespace twigcast::xml
