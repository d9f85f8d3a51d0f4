// From bytes to events, for documents of the usual kind: a sixth of what expat takes.
//
//     bytes ──characters checked──► tags and text, sixteen bytes at a time ──► sink
//                                     │
//                                     └► not sure: expat starts again from the beginning
//
// Invariant: a document that is read to its end is one that expat takes, with the same events.  A
// reader that is not sure says so and leaves everything else to expat, the words of an error too:
// for whatever is malformed or beyond a limit, and for an internal subset, references to entities
// that XML does not know by itself, encodings beyond the three below, very many names and spaces.
//
// UTF-8 is read as it is, and so is US-ASCII; ISO-8859-1 that is not ASCII is converted.  (A name
// of its characters that expat takes in UTF-8 it takes in ISO-8859-1.)
#pragma once

#include <type_traits>
#include <utility>

#include "xml/checked_text.hpp"

namespace twigcast::xml {

using namespace base;

template <class Sink>
class CheckedReader : CheckedText {
public:
    CheckedReader(const Limits& limits, Sink& sink, CheckedMemory& memory)
        : CheckedText(memory), limits_(limits), sink_(sink) {}

    // False: not sure, and the sink has met the first events only.
    bool read(const Input& input) {
        memory_.has_begun = false;
        const char* at = begin(input);
        if (at == nullptr) return false;
        if (sink_.open_document(input.size) != Trouble::none) return false;
        wants_text_ = sink_.wants_text();
        start();
        at = read_around(at, true);
        if (at == nullptr) return false;
        memory_.has_begun = true;
        at = read_root(at);
        if (at == nullptr) return false;
        at = read_around(at, false);
        return at == end_;
    }

private:
    static constexpr char KIND = 0;  // its address stands for this kind of sink
    static constexpr size_t MOST_PREFIXED = 32;

    void start() {
        if (memory_.names.are_many() || memory_.scopes.are_many() || memory_.tag > NONE / 2 ||
            memory_.version > NONE / 2) {
            memory_.names.clear();
            memory_.scopes.forget();
            memory_.tag = memory_.version = 0;
            memory_.sink_kind = nullptr;
        }
        if (memory_.sink_kind != &KIND || memory_.numbering != sink_.numbering() ||
            memory_.name_length != limits_.name_length) {
            memory_.sink_kind = &KIND;
            memory_.numbering = sink_.numbering();
            memory_.name_length = limits_.name_length;
            ++memory_.version;
        }
        memory_.names.start();
        memory_.scopes.start();
        memory_.open.clear();
    }

    // --- around the root ----------------------------------------------------------------------

    // From behind the declaration to the root, or from behind the root to the end.
    const char* read_around(const char* at, bool may_have_type) {
        while (true) {
            while (at != end_ && is_space(*at)) ++at;
            if (at == end_ || *at != '<') return at == end_ ? at : nullptr;
            if (at[1] == '/') return nullptr;
            if (at[1] == '?') {
                at = read_instruction(at + 2);
            } else if (is_next(at, "<!--")) {
                at = read_comment(at + 4);
            } else if (at[1] == '!') {
                if (!may_have_type || !is_next(at, "<!DOCTYPE")) return nullptr;
                may_have_type = false;
                at = read_type(at + 9);
            } else {
                return at;
            }
            if (at == nullptr) return nullptr;
        }
    }

    const char* read_comment(const char* at) {
        const char* const begin = at;
        while (true) {
            at = static_cast<const char*>(std::memchr(at, '-', static_cast<size_t>(end_ - at)));
            if (at == nullptr) return nullptr;
            if (at[1] == '-') break;
            ++at;
        }
        if (at[2] != '>') return nullptr;
        if (wants_text_ && sink_.add_comment(with_line_ends(between(begin, at))) != Trouble::none) {
            return nullptr;
        }
        return at + 3;
    }

    const char* read_instruction(const char* at) {
        const char* const begin = at;
        while (*at != '?' && *at != '>' && !is_space(*at)) ++at;
        const std::string_view target = between(begin, at);
        const bool is_xml = target.size() == 3 && (target[0] | 0x20) == 'x' &&
                            (target[1] | 0x20) == 'm' && (target[2] | 0x20) == 'l';
        if (is_xml || target.find(':') != std::string_view::npos ||
            memory_.names.of(target) == NONE) {
            return nullptr;
        }
        if (*at == '>' || (*at == '?' && at[1] != '>')) return nullptr;
        const char* const text = skip_space(at);
        for (at = text;; ++at) {
            at = static_cast<const char*>(std::memchr(at, '?', static_cast<size_t>(end_ - at)));
            if (at == nullptr) return nullptr;
            while (at[1] == '?') ++at;
            if (at[1] == '>') break;
        }
        if (wants_text_ &&
            sink_.add_instruction(target, with_line_ends(between(text, at))) != Trouble::none) {
            return nullptr;
        }
        return at + 2;
    }

    // --- content ------------------------------------------------------------------------------

    const char* read_root(const char* at) {
        if (at == end_) return nullptr;
        while (true) {  // at a `<`
            const char next = at[1];
            if (next == '/') {
                at = read_end_tag(at + 2);
            } else if (next == '!') {
                at = read_marked(at);
            } else if (next == '?') {
                at = read_instruction(at + 2);
            } else {
                at = read_start_tag(at + 1);
            }
            if (at == nullptr || memory_.open.empty()) return at;
            if (at == end_) return nullptr;
            if (*at != '<') {
                at = read_text(at);
                if (at == nullptr) return nullptr;
            }
        }
    }

    const char* read_end_tag(const char* at) {
        const CheckedMemory::Open open = memory_.open.back();
        const size_t left = static_cast<size_t>(end_ - at);
        if (left <= open.length) return nullptr;
        const bool is_same = left >= 16 ? are_equal(at, open.name, open.length)
                                        : std::memcmp(at, open.name, open.length) == 0;
        if (!is_same) return nullptr;
        at += open.length;
        if (*at != '>') at = skip_space(at);
        if (*at != '>') return nullptr;
        memory_.open.pop_back();
        if (memory_.scopes.mark() != open.mark) memory_.scopes.leave(open.mark);
        return sink_.close_element() == Trouble::none ? at + 1 : nullptr;
    }

    // A comment or a CDATA section.
    const char* read_marked(const char* at) {
        if (is_next(at, "<!--")) return read_comment(at + 4);
        if (!is_next(at, "<![CDATA[")) return nullptr;
        at += 9;
        const char* begin = at;
        while (true) {
            const Sixteen some = look(at);
            const uint64_t marks = (some.equal(']') | some.equal('\r')).marks();
            if (marks == 0) {
                if (end_ - at <= 16) return nullptr;
                at += 16;
                continue;
            }
            at += first_of(marks);
            if (*at == '\r') {
                if (!pass_on(begin, at) || !pass_on("\n")) return nullptr;
                at += at[1] == '\n' ? 2 : 1;
                begin = at;
            } else if (const char* const first = std::exchange(at, skip_brackets(at));
                       *at == '>' && at - first >= 2) {
                return pass_on(begin, at - 2) ? at + 1 : nullptr;
            }
        }
    }

    static const char* skip_brackets(const char* at) {
        while (*at == ']') ++at;
        return at;
    }

    // Up to the next `<`, which must come.
    const char* read_text(const char* at) {
        const char* begin = at;
        while (true) {
            const Sixteen some = look(at);
            const uint64_t marks =
                (some.equal('<') | some.equal('&') | some.equal(']') | some.equal('\r')).marks();
            if (marks == 0) {
                if (end_ - at <= 16) return nullptr;
                at += 16;
                continue;
            }
            at += first_of(marks);
            if (*at == '<') return pass_on(begin, at) ? at : nullptr;
            if (*at == ']') {
                const char* const first = std::exchange(at, skip_brackets(at));
                if (*at == '>' && at - first >= 2) return nullptr;
                continue;
            }
            if (!pass_on(begin, at)) return nullptr;
            if (*at == '\r') {
                if (!pass_on("\n")) return nullptr;
                at += at[1] == '\n' ? 2 : 1;
            } else {
                memory_.changed.clear();
                at = read_reference(at + 1, memory_.changed);
                if (at == nullptr || !pass_on(memory_.changed)) return nullptr;
            }
            begin = at;
        }
    }

    bool pass_on(const char* begin, const char* end) {
        return begin == end || pass_on(between(begin, end));
    }
    bool pass_on(std::string_view piece) {
        return !wants_text_ || sink_.add_text(piece) == Trouble::none;
    }

    // --- start tags ---------------------------------------------------------------------------

    // The number of the name of an element or attribute, which `at` moves behind; or NONE.
    uint32_t read_name(const char*& at) {
        WrittenNames& names = memory_.names;
        const uint32_t expected = names.expect(at, static_cast<size_t>(end_ - at));
        if (expected != NONE) {
            at += names[expected].length;
            return expected;
        }
        const char* const begin = at;
        at = end_of_name(at);
        return names.next(between(begin, at), static_cast<size_t>(end_ - begin));
    }

    const char* read_start_tag(const char* at) {
        const char* const begin = at;
        const uint32_t name = read_name(at);
        const uint32_t length = static_cast<uint32_t>(at - begin);
        if (name == NONE || memory_.open.size() >= limits_.depth) return nullptr;
        const size_t mark = memory_.scopes.mark();
        memory_.attributes.clear();
        uint32_t prefixed = 0;
        if (*at != '>') {
            at = read_attributes(at, prefixed);
            if (at == nullptr) return nullptr;
        }
        const bool is_empty = *at == '/';
        if (is_empty && *++at != '>') return nullptr;
        if (!expand_attributes(prefixed)) return nullptr;
        WrittenName& written = memory_.names[name];
        if (written.role != WrittenName::plain && written.role != WrittenName::prefixed)
            return nullptr;
        const uint32_t number = expand(written, Kind::element);
        if (number == NONE) return nullptr;
        const uint32_t depth = count_of(memory_.open) + 1;
        if (sink_.open_element(number, memory_.attributes, depth) != Trouble::none) return nullptr;
        if (!is_empty) {
            memory_.open.push_back({begin, length, static_cast<uint32_t>(mark)});
        } else {
            if (memory_.scopes.mark() != mark) memory_.scopes.leave(mark);
            if (sink_.close_element() != Trouble::none) return nullptr;
        }
        return at + 1;
    }

    // From behind the name to the `>` or `/`; declarations are bound at once, since what they
    // stand for may come before them.
    const char* read_attributes(const char* at, uint32_t& prefixed) {
        ++memory_.tag;
        memory_.changed.clear();
        memory_.changes.clear();
        while (true) {
            const char* const before = at;
            at = skip_space(at);
            if (*at == '>' || *at == '/') return at;
            if (at == before) return nullptr;
            const uint32_t name = read_name(at);
            if (name == NONE) return nullptr;
            if (*at != '=') at = skip_space(at);
            if (*at != '=') return nullptr;
            ++at;
            if (!is_quote(*at)) at = skip_space(at);
            if (!is_quote(*at)) return nullptr;
            Attribute& attribute = memory_.attributes.emplace_back();
            attribute.name = name;
            at = read_value(at, attribute.value);
            if (at == nullptr) return nullptr;
            WrittenName& written = memory_.names[name];
            if (written.tag == memory_.tag) return nullptr;  // twice
            written.tag = memory_.tag;
            if (written.role == WrittenName::plain) continue;
            if (written.role == WrittenName::prefixed) {
                ++prefixed;
                continue;
            }
            if (attribute.value.data() == nullptr) take_change(attribute);
            if (!declare(written, attribute.value)) return nullptr;
            memory_.attributes.pop_back();
        }
    }

    bool declare(WrittenName& written, std::string_view space) {
        const bool is_default = written.role == WrittenName::declares_default;
        const uint32_t prefix = is_default ? NONE : written.prefix;
        if (!memory_.scopes.bind(prefix, space, written.attribute.space)) return false;
        if constexpr (std::is_base_of_v<WithDeclarations, Sink>) {
            sink_.declare(is_default ? std::string_view{} : memory_.names.local_of(written), space);
        }
        return true;
    }

    // From the quote to behind the other.  References and white space other than blanks change the
    // value; it is then null, and its bytes are in `changed`.
    const char* read_value(const char* at, std::string_view& value) {
        const char quote = *at++;
        const char* begin = at;  // of what is not yet in `changed`
        std::string& changed = memory_.changed;
        bool is_changed = false;
        while (true) {
            const Sixteen some = look(at);
            const uint64_t marks =
                (some.equal(quote) | some.equal('<') | some.equal('&') | some.at_most(0x1F))
                    .marks();
            if (marks == 0) {
                at += 16;
                continue;
            }
            at += first_of(marks);
            if (at >= end_ || *at == '<') return nullptr;
            if (*at == quote && !is_changed) {
                value = between(begin, at);
                return at + 1;
            }
            if (!is_changed) {
                is_changed = true;
                memory_.changes.push_back({count_of(memory_.attributes) - 1, changed.size()});
            }
            changed.append(begin, at);
            if (*at == quote) {
                value = {nullptr, changed.size() - memory_.changes.back().begin};
                return at + 1;
            }
            if (*at == '&') {
                at = read_reference(at + 1, changed);
                if (at == nullptr) return nullptr;
            } else {
                changed.push_back(' ');
                at += *at == '\r' && at[1] == '\n' ? 2 : 1;
            }
            begin = at;
        }
    }

    // Give the attribute its changed value, the last one.
    void take_change(Attribute& attribute) {
        attribute.value = {memory_.changed.data() + memory_.changes.back().begin,
                           attribute.value.size()};
        memory_.changes.pop_back();
    }

    bool expand_attributes(uint32_t prefixed) {
        if (memory_.attributes.size() > limits_.attributes) return false;
        if (prefixed > 1 && (prefixed > MOST_PREFIXED || !are_distinct())) return false;
        while (!memory_.changes.empty()) {
            take_change(memory_.attributes[memory_.changes.back().attribute]);
        }
        for (Attribute& attribute : memory_.attributes) {
            attribute.name = expand(memory_.names[attribute.name], Kind::attribute);
            if (attribute.name == NONE) return false;
        }
        return true;
    }

    // What the sink calls a name here; NONE if it has a prefix without a namespace, or is too long.
    uint32_t expand(WrittenName& name, Kind kind) {
        const bool is_element = kind == Kind::element;
        uint32_t space = is_element ? memory_.scopes.default_space() : Scopes::NO_SPACE;
        if (name.role == WrittenName::prefixed) {
            space = memory_.scopes.space_of(name.prefix);
            if (space == NONE) return NONE;
        }
        WrittenName::Known& known = is_element ? name.element : name.attribute;
        if (known.version == memory_.version && known.space == space) return known.number;
        const std::string_view local = memory_.names.local_of(name);
        const std::string_view text = memory_.scopes.text_of(space);
        if (text.size() + local.size() > limits_.name_length) return NONE;
        memory_.spelled.assign(text);
        if (space != Scopes::NO_SPACE) memory_.spelled.push_back(NAMESPACE_SEPARATOR);
        memory_.spelled.append(local);
        known = {memory_.version, space, sink_.number_of(kind, memory_.spelled)};
        return known.number;
    }

    // Whether no two attributes with prefixes have the same expanded name.
    bool are_distinct() const {
        const Attributes& all = memory_.attributes;
        for (auto one = all.begin(); one != all.end(); ++one) {
            const WrittenName& name = memory_.names[one->name];
            if (name.role != WrittenName::prefixed) continue;
            for (auto other = all.begin(); other != one; ++other) {
                const WrittenName& before = memory_.names[other->name];
                if (before.role == WrittenName::prefixed &&
                    memory_.scopes.space_of(name.prefix) ==
                        memory_.scopes.space_of(before.prefix) &&
                    memory_.names.local_of(name) == memory_.names.local_of(before)) {
                    return false;
                }
            }
        }
        return true;
    }

    const Limits limits_;
    Sink& sink_;
    bool wants_text_ = true;
};

}  // namespace twigcast::xml
