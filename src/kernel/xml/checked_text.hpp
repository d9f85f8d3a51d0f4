// What the checked reader reads before it has events, and within them: all that needs no sink.
//
// The document is read where it lies.  Its last byte but white space is a `>`, which ends every
// name, every space and every comparison letter by letter, so these need not look for the end; only
// sixteen bytes at once have to, and whoever has passed a `>`.
//
// Every function returns where it has come to, or null where it is not sure.
#pragma once

#include "base/utf_8.hpp"
#include "xml/events.hpp"
#include "xml/prologue.hpp"
#include "xml/scopes.hpp"

namespace twigcast::xml {

using namespace base;

// What is kept from document to document.
struct CheckedMemory {
    struct Open {
        const char* name;
        uint32_t length;
        uint32_t mark;  // of the scopes, before the element
    };
    // An attribute whose value is not as in the document.
    struct Change {
        uint32_t attribute;
        size_t begin;  // in `changed`
    };

    explicit CheckedMemory(const ExpatTable* expat) : names(expat) {}

    WrittenNames names;
    Scopes scopes;
    const void* sink_kind = nullptr;
    uint64_t numbering = 0, name_length = 0;
    uint32_t version = 0;  // of what the sink calls names
    uint32_t tag = 0;      // of start tags
    std::vector<Open> open;
    Attributes attributes;  // of the tag that is being read
    std::vector<Change> changes;
    std::string changed;    // values of the tag, or the comment, that are not as in the document
    std::string converted;  // the document, where it is not UTF-8
    std::string spelled;    // a name, expanded

    // A feed whose documents expat has to read anyway is tried less and less often.  What shows
    // before the root costs nothing and does not count.
    bool has_begun = false;
    bool is_due() { return waiting_ == 0 || --waiting_ == 0; }
    void succeed() { pause_ = 0; }
    void fail() { waiting_ = pause_ = std::min(pause_ * 2 + 1, LONGEST_PAUSE); }

private:
    static constexpr uint32_t LONGEST_PAUSE = 63;
    uint32_t pause_ = 0, waiting_ = 0;
};

class CheckedText {
    enum class Charset { utf_8, ascii, latin_1, other };

protected:
    explicit CheckedText(CheckedMemory& memory) : memory_(memory) {}

    static bool is_space(char byte) {
        return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
    }
    static bool is_high(char byte) { return static_cast<unsigned char>(byte) >= 0x80; }
    static bool is_quote(char byte) { return byte == '"' || byte == '\''; }
    static const char* skip_space(const char* at) {
        while (is_space(*at)) ++at;
        return at;
    }
    bool is_next(const char* at, std::string_view word) const {
        return static_cast<size_t>(end_ - at) > word.size() &&
               std::memcmp(at, word.data(), word.size()) == 0;
    }

    static std::string_view between(const char* begin, const char* end) {
        return {begin, static_cast<size_t>(end - begin)};
    }

    // Sixteen bytes, zeros behind the end.
    Sixteen look(const char* at) const {
        if (end_ - at >= 16) return Sixteen::load(at);
        char rest[16] = {};
        std::memcpy(rest, at, static_cast<size_t>(end_ - at));
        return Sixteen::load(rest);
    }

    // Check all characters; where the document begins behind its declaration, or null.
    const char* begin(const Input& input) {
        std::string_view data{input.data, input.size};
        while (!data.empty() && is_space(data.back())) data.remove_suffix(1);
        const bool has_mark = starts_with(data, 0, BYTE_ORDER_MARK);
        if (has_mark) data.remove_prefix(BYTE_ORDER_MARK.size());
        if (data.empty() || data.back() != '>') return nullptr;
        const char* at = data.data();
        end_ = at + data.size();
        Charset charset = Charset::utf_8;
        if (is_next(at, "<?xml") && is_space(at[5])) {
            at = read_declaration(at + 5, charset);
            if (at == nullptr) return nullptr;
        }
        if (input.encoding != nullptr) charset = charset_of(input.encoding);
        if (charset == Charset::other || (has_mark && charset != Charset::utf_8)) return nullptr;
        if (charset == Charset::utf_8) return are_xml_characters(data) ? at : nullptr;
        if (std::find_if(data.begin(), data.end(), is_high) == data.end()) {
            return are_xml_characters(data) ? at : nullptr;
        }
        if (charset == Charset::ascii) return nullptr;
        std::string& converted = memory_.converted;
        converted.clear();
        converted.reserve(data.size() + data.size() / 8);
        const size_t behind = static_cast<size_t>(at - data.data());
        for (const char byte : data) put_character(converted, static_cast<unsigned char>(byte));
        end_ = converted.data() + converted.size();
        return are_xml_characters(converted) ? converted.data() + behind : nullptr;
    }

    static Charset charset_of(std::string_view name) {
        std::string lower(name);
        for (char& byte : lower) byte |= byte >= 'A' && byte <= 'Z' ? 0x20 : 0;
        if (lower == "utf-8") return Charset::utf_8;
        if (lower == "us-ascii") return Charset::ascii;
        return lower == "iso-8859-1" ? Charset::latin_1 : Charset::other;
    }

    // From behind `<?xml` to behind `?>`, or null.
    const char* read_declaration(const char* at, Charset& charset) {
        std::string_view value;
        at = read_pseudo_attribute(at, "version", value);
        if (at == nullptr || (value != "1.0" && value != "1.1")) return nullptr;
        if (const char* next = read_pseudo_attribute(at, "encoding", value); next != nullptr) {
            if (value.empty() || static_cast<unsigned char>((value[0] | 0x20) - 'a') >= 26) {
                return nullptr;
            }
            charset = charset_of(value);
            at = next;
        }
        if (const char* next = read_pseudo_attribute(at, "standalone", value); next != nullptr) {
            if (value != "yes" && value != "no") return nullptr;
            at = next;
        }
        at = skip_space(at);
        return is_next(at, "?>") ? at + 2 : nullptr;
    }

    const char* read_pseudo_attribute(const char* at, std::string_view name,
                                      std::string_view& value) const {
        if (!is_space(*at)) return nullptr;
        at = skip_space(at);
        if (!is_next(at, name)) return nullptr;
        at = skip_space(at + name.size());
        if (*at != '=') return nullptr;
        at = skip_space(at + 1);
        const char quote = *at;
        if (!is_quote(quote)) return nullptr;
        const char* const begin = ++at;
        const auto is_part = [](char byte) {
            return static_cast<unsigned char>((byte | 0x20) - 'a') < 26 ||
                   static_cast<unsigned char>(byte - '0') < 10 || byte == '.' || byte == '-' ||
                   byte == '_';
        };
        while (is_part(*at)) ++at;
        if (*at != quote) return nullptr;
        value = between(begin, at);
        return at + 1;
    }

    // A document type declaration without an internal subset.  What the DTD outside declares nobody
    // knows; all that could show is a reference, of which no reader here is sure.
    const char* read_type(const char* at) {
        if (!is_space(*at)) return nullptr;
        at = skip_space(at);
        const char* const name = at;
        at = end_of_name(at);
        if (memory_.names.of(between(name, at)) == NONE) return nullptr;
        const bool is_apart = is_space(*at);
        at = skip_space(at);
        if (*at == '>') return at + 1;
        const bool is_public = is_next(at, "PUBLIC");
        if (!is_apart || (!is_public && !is_next(at, "SYSTEM"))) return nullptr;
        at += 6;
        for (int literal = is_public ? 0 : 1; literal < 2; ++literal) {
            if (!is_space(*at)) return nullptr;
            at = skip_space(at);
            const char quote = *at;
            if (!is_quote(quote)) return nullptr;
            const char* const begin = ++at;
            at = static_cast<const char*>(std::memchr(at, quote, static_cast<size_t>(end_ - at)));
            if (at == nullptr) return nullptr;
            if (literal == 0 && !std::all_of(begin, at, is_public_character)) return nullptr;
            ++at;
        }
        at = skip_space(at);
        return *at == '>' ? at + 1 : nullptr;
    }

    static bool is_public_character(char byte) {
        constexpr std::string_view OTHERS = " \n-()+,./:=?;!*#@$_%";
        return static_cast<unsigned char>((byte | 0x20) - 'a') < 26 ||
               static_cast<unsigned char>(byte - '0') < 10 ||
               OTHERS.find(byte) != std::string_view::npos;
    }

    // From behind `&` to behind `;`; what it stands for is added to a text.
    const char* read_reference(const char* at, std::string& text) const {
        if (*at == '#') return read_number(at + 1, text);
        constexpr std::pair<std::string_view, char> KNOWN[] = {
            {"amp;", '&'}, {"lt;", '<'}, {"gt;", '>'}, {"quot;", '"'}, {"apos;", '\''}};
        for (const auto& [name, character] : KNOWN) {
            if (!is_next(at, name)) continue;
            text.push_back(character);
            return at + name.size();
        }
        return nullptr;
    }

    const char* read_number(const char* at, std::string& text) const {
        const bool is_hexadecimal = *at == 'x';
        if (is_hexadecimal) ++at;
        const char* const begin = at;
        uint32_t character = 0;
        for (; *at != ';'; ++at) {
            const unsigned char decimal = static_cast<unsigned char>(*at - '0');
            const unsigned char letter = static_cast<unsigned char>((*at | 0x20) - 'a');
            if (decimal >= 10 && (!is_hexadecimal || letter >= 6)) return nullptr;
            character =
                character * (is_hexadecimal ? 16u : 10u) + (decimal < 10 ? decimal : letter + 10u);
            if (character > 0x10FFFF) return nullptr;
        }
        if (at == begin || !is_xml_character(character)) return nullptr;
        put_character(text, character);
        return at + 1;
    }

    const char* end_of_name(const char* at) const {
        while (true) {
            const Sixteen some = look(at);
            const uint64_t marks =
                (some.at_most(' ') | some.equal('>') | some.equal('/') | some.equal('=')).marks();
            if (marks != 0) return at + first_of(marks);
            at += 16;
        }
    }

    // The text with a newline for each end of a line.
    std::string_view with_line_ends(std::string_view text) {
        if (text.find('\r') == std::string_view::npos) return text;
        std::string& changed = memory_.changed;
        changed.clear();
        for (size_t at = 0; at < text.size(); ++at) {
            if (text[at] != '\r') {
                changed.push_back(text[at]);
            } else if (at + 1 == text.size() || text[at + 1] != '\n') {
                changed.push_back('\n');
            }
        }
        return changed;
    }

    CheckedMemory& memory_;
    const char* end_ = nullptr;
};

}  // namespace twigcast::xml
