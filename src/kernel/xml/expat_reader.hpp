// From bytes to events, through expat, with the limits enforced.
//
//     bytes ──expat──► ExpatReader ──► sink
//                        │
//                        └► Failure: what went wrong first, and where
//
// No handler calls Python, so a whole document is read without the interpreter lock.  CPython's
// table of expat has no function that stops a parser: once something has failed the handlers do
// nothing, and the next piece is not parsed.  Pieces are large, since expat reads a token that
// spans several of them again from its start (before version 2.6, which defers that).
#pragma once

#include <cstring>
#include <exception>
#include <type_traits>

#include "xml/arena.hpp"
#include "xml/events.hpp"
#include "xml/expat.hpp"
#include "xml/names.hpp"

namespace twigcast::xml {

using namespace base;

template <class Sink>
class ExpatReader {
public:
    // The parser's memory comes from the arena.
    ExpatReader(const ExpatTable* expat, const Limits& limits, Sink& sink, Arena& arena)
        : expat_(expat), limits_(limits), sink_(sink), arena_(arena) {}

    Failure read(const Input& input) noexcept {
        const Arena::Use use(arena_);
        const char separator[] = {NAMESPACE_SEPARATOR, '\0'};
        const bool as_written = std::is_base_of_v<AsWritten, Sink>;
        parser_ =
            expat_->create(input.encoding, arena_.functions(), as_written ? nullptr : separator);
        if (parser_ == nullptr) {
            failure_.trouble = Trouble::memory;
            return failure_;
        }
        expat_->set_hash_salt(parser_, static_cast<unsigned long>(hash_secret.start));
        expat_->set_user_data(parser_, this);
        expat_->set_element_handler(parser_, on_start, on_end);
        guard(this, [&](ExpatReader& reader) { return reader.sink_.open_document(input.size); });
        // Where there is a default handler, it would get the references that stand for text.
        if (sink_.wants_text() || input.has_type) expat_->set_character_handler(parser_, on_text);
        if (sink_.wants_text()) {
            expat_->set_comment_handler(parser_, on_comment);
            expat_->set_instruction_handler(parser_, on_instruction);
            if (input.has_type) expat_->set_type_handler(parser_, on_type);
        }
        if (input.has_type) expat_->set_default_handler(parser_, on_other);
        if constexpr (std::is_base_of_v<WithDeclarations, Sink>) {
            expat_->set_declaration_handler(parser_, on_declaration, nullptr);
        }
        feed(input.data, input.size);
        expat_->free(parser_);
        return failure_;
    }

private:
    static constexpr size_t PIECE = size_t{1} << 20;

    void feed(const char* data, size_t size) noexcept {
        bool last = false;
        while (!last && failure_.trouble == Trouble::none) {
            const size_t length = std::min(size, PIECE);
            last = length == size;
            if (!expat_->parse(parser_, data, static_cast<int>(length), last)) {
                failure_.code = expat_->error_code(parser_);
                fail(Trouble::malformed);
            }
            data += length;
            size -= length;
        }
    }

    // Only the first failure counts: what expat meets behind it does not matter.
    void fail(Trouble trouble) {
        if (failure_.trouble != Trouble::none) return;
        failure_.trouble = trouble;
        failure_.line = expat_->line(parser_);
        failure_.column = expat_->column(parser_);
    }

    // No exception may pass through expat's frames.
    template <class Body>
    static void guard(void* user, Body body) noexcept {
        ExpatReader& reader = *static_cast<ExpatReader*>(user);
        if (reader.failure_.trouble != Trouble::none) return;
        try {
            const Trouble trouble = body(reader);
            if (trouble != Trouble::none) reader.fail(trouble);
        } catch (const std::exception&) {
            reader.fail(Trouble::memory);
        }
    }

    static void on_start(void* user, const char* name, const char** attributes) {
        guard(user, [&](ExpatReader& reader) { return reader.open_element(name, attributes); });
    }
    static void on_end(void* user, const char*) {
        guard(user, [](ExpatReader& reader) {
            --reader.depth_;
            return reader.sink_.close_element();
        });
    }
    static void on_text(void* user, const char* text, int length) {
        guard(user, [&](ExpatReader& reader) {
            return reader.sink_.add_text({text, static_cast<size_t>(length)});
        });
    }
    static void on_comment(void* user, const char* text) {
        guard(user, [&](ExpatReader& reader) {
            return reader.in_type_ ? Trouble::none : reader.sink_.add_comment(text);
        });
    }
    static void on_instruction(void* user, const char* target, const char* text) {
        guard(user, [&](ExpatReader& reader) {
            return reader.in_type_ ? Trouble::none : reader.sink_.add_instruction(target, text);
        });
    }
    static void on_declaration(void* user, const char* prefix, const char* space) {
        guard(user, [&](ExpatReader& reader) {
            reader.sink_.declare(prefix != nullptr ? prefix : "", space != nullptr ? space : "");
            return Trouble::none;
        });
    }
    // What an internal subset holds is no part of the document.  No handler of the table is told
    // where it ends; but nothing else in it is a bracket alone.
    static void on_type(void* user, const char*, const char*, const char*, int has_subset) {
        static_cast<ExpatReader*>(user)->in_type_ = has_subset != 0;
    }
    // Of all that no other handler takes, only a reference that was not expanded starts with `&`.
    static void on_other(void* user, const char* markup, int length) {
        guard(user, [&](ExpatReader& reader) {
            if (length == 1 && *markup == ']') reader.in_type_ = false;
            return length > 0 && *markup == '&' ? Trouble::entity : Trouble::none;
        });
    }

    Trouble open_element(const char* name, const char** attributes) {
        if (depth_ == limits_.depth) return Trouble::depth;
        ++depth_;
        uint64_t count = 0;
        while (attributes[2 * count] != nullptr) ++count;
        if (count > limits_.attributes) return Trouble::attributes;
        if (is_too_long(name)) return Trouble::name_length;
        attributes_.clear();
        for (; *attributes != nullptr; attributes += 2) {
            if (is_too_long(attributes[0])) return Trouble::name_length;
            attributes_.push_back({sink_.number_of(Kind::attribute, attributes[0]), attributes[1]});
        }
        return sink_.open_element(sink_.number_of(Kind::element, name), attributes_, depth_);
    }

    // Characters of UTF-8 are counted by the bytes that do not continue one.
    bool is_too_long(std::string_view name) const {
        if (name.size() <= limits_.name_length) return false;
        const auto starts = [](char byte) {
            return (static_cast<unsigned char>(byte) & 0xC0) != 0x80 && byte != NAMESPACE_SEPARATOR;
        };
        return static_cast<uint64_t>(std::count_if(name.begin(), name.end(), starts)) >
               limits_.name_length;
    }

    const ExpatTable* expat_;
    const Limits limits_;
    Sink& sink_;
    Arena& arena_;
    ExpatParser* parser_ = nullptr;
    Failure failure_;
    uint32_t depth_ = 0;
    Attributes attributes_;
    bool in_type_ = false;
};

}  // namespace twigcast::xml
