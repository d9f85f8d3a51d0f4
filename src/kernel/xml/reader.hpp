// From bytes to events, through expat, with the limits enforced.
//
//     bytes ──expat──► Reader ──open_element, close_element, add_text, …──► sink
//                        │
//                        └► Failure: what went wrong first, and where
//
// A sink takes the events of one document.  It has
//
//     bool wants_text() const                                 false: add_text need not be called
//     Trouble open_document(size_t size)
//     Trouble open_element(std::string_view name, const char** attributes, uint32_t depth)
//     Trouble close_element()
//     Trouble add_text(std::string_view piece)                a run of text comes in pieces
//     Trouble add_comment(std::string_view text)              ends a run, as an instruction does
//     Trouble add_instruction(std::string_view target, std::string_view text)
//
//     void declare(std::string_view prefix, std::string_view space)     for the next element
//
// where names are expanded as expat does it: `local`, or namespace, separator, local.  Only a sink
// that derives from WithDeclarations has the last.  A sink may have names and attributes as they
// are written, declarations of namespaces among them: it derives from AsWritten.
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
#include "xml/document.hpp"
#include "xml/expat.hpp"

namespace twigcast::xml {

using namespace base;

struct Limits {
    uint64_t depth;
    uint64_t attributes;
    uint64_t name_length;
};

enum class Trouble : int {
    none,
    malformed,
    depth,
    attributes,
    name_length,
    entity,    // a reference whose text is not in the document
    capacity,  // more nodes or text than numbers of 32 bits count
    memory,
};

struct Failure {
    Trouble trouble = Trouble::none;
    int code = 0;  // expat's, for a document that is not well-formed
    unsigned long line = 0;
    unsigned long column = 0;  // as expat counts: from 0
};

// A document as expat is to be given it.
struct Input {
    const char* data;
    size_t size;
    const char* encoding;  // null where the document itself says it
    bool has_type;         // perhaps a document type declaration, whose entities are harmless
    bool has_short_names;  // none can exceed the limit, so none need be measured
    // The attributes that its document type declares as IDs: names of an element and an attribute
    // in turn, as written, each with a zero byte behind it.
    std::string_view ids;
    int64_t now;  // when it is matched: nanoseconds since 1970
};

// A sink that gets names as they are written.
struct AsWritten {};
// A sink that is told which prefixes are declared.
struct WithDeclarations {};

template <class Sink>
class Reader {
public:
    // With an arena, the parser's memory comes from there.
    Reader(const ExpatTable* expat, const Limits& limits, Sink& sink, Arena* arena = nullptr)
        : expat_(expat), limits_(limits), sink_(sink), arena_(arena) {}

    Failure read(const Input& input) noexcept {
        if (arena_ == nullptr) return read(input, nullptr);
        const Arena::Use use(*arena_);
        return read(input, Arena::functions());
    }

private:
    Failure read(const Input& input, const Arena::Functions* memory) noexcept {
        const char separator[] = {NAMESPACE_SEPARATOR, '\0'};
        const bool as_written = std::is_base_of_v<AsWritten, Sink>;
        parser_ = expat_->create(input.encoding, memory, as_written ? nullptr : separator);
        if (parser_ == nullptr) {
            failure_.trouble = Trouble::memory;
            return failure_;
        }
        expat_->set_hash_salt(parser_, static_cast<unsigned long>(hash_secret.start));
        expat_->set_user_data(parser_, this);
        expat_->set_element_handler(parser_, on_start, on_end);
        // Where there is a default handler, it would get the references that stand for text.
        if (sink_.wants_text() || input.has_type) expat_->set_character_handler(parser_, on_text);
        if (sink_.wants_text()) {
            expat_->set_comment_handler(parser_, on_comment);
            expat_->set_instruction_handler(parser_, on_instruction);
            if (input.has_type) expat_->set_type_handler(parser_, on_type_start, on_type_end);
        }
        if (input.has_type) expat_->set_default_handler(parser_, on_other);
        if constexpr (std::is_base_of_v<WithDeclarations, Sink>) {
            expat_->set_declaration_handler(parser_, on_declaration, nullptr);
        }
        measures_names_ = !input.has_short_names;
        guard(this, [&](Reader& reader) { return reader.sink_.open_document(input.size); });
        feed(input.data, input.size);
        expat_->free(parser_);
        return failure_;
    }

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
        Reader& reader = *static_cast<Reader*>(user);
        if (reader.failure_.trouble != Trouble::none) return;
        try {
            const Trouble trouble = body(reader);
            if (trouble != Trouble::none) reader.fail(trouble);
        } catch (const std::exception&) {
            reader.fail(Trouble::memory);
        }
    }

    static void on_start(void* user, const char* name, const char** attributes) {
        guard(user, [&](Reader& reader) { return reader.open_element(name, attributes); });
    }
    static void on_end(void* user, const char*) {
        guard(user, [](Reader& reader) {
            --reader.depth_;
            return reader.sink_.close_element();
        });
    }
    static void on_text(void* user, const char* text, int length) {
        guard(user, [&](Reader& reader) {
            return reader.sink_.add_text({text, static_cast<size_t>(length)});
        });
    }
    static void on_comment(void* user, const char* text) {
        guard(user, [&](Reader& reader) {
            return reader.in_type_ ? Trouble::none : reader.sink_.add_comment(text);
        });
    }
    static void on_instruction(void* user, const char* target, const char* text) {
        guard(user, [&](Reader& reader) {
            return reader.in_type_ ? Trouble::none : reader.sink_.add_instruction(target, text);
        });
    }
    static void on_declaration(void* user, const char* prefix, const char* space) {
        guard(user, [&](Reader& reader) {
            reader.sink_.declare(prefix != nullptr ? prefix : "", space != nullptr ? space : "");
            return Trouble::none;
        });
    }
    // What a document type declaration holds is no part of the document.
    static void on_type_start(void* user, const char*, const char*, const char*, int) {
        static_cast<Reader*>(user)->in_type_ = true;
    }
    static void on_type_end(void* user) { static_cast<Reader*>(user)->in_type_ = false; }
    // Of all that no other handler takes, only a reference that was not expanded starts like this.
    static void on_other(void* user, const char* markup, int length) {
        guard(user, [&](Reader&) {
            return length > 0 && *markup == '&' ? Trouble::entity : Trouble::none;
        });
    }

    Trouble open_element(const char* name, const char** attributes) {
        if (depth_ == limits_.depth) return Trouble::depth;
        ++depth_;
        uint64_t count = 0;
        while (attributes[2 * count] != nullptr) ++count;
        if (count > limits_.attributes) return Trouble::attributes;
        const std::string_view element(name);
        if (measures_names_) {
            bool too_long = is_too_long(element);
            for (uint64_t at = 0; at < count; ++at) too_long |= is_too_long(attributes[2 * at]);
            if (too_long) return Trouble::name_length;
        }
        return sink_.open_element(element, attributes, depth_);
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
    Arena* const arena_;
    ExpatParser* parser_ = nullptr;
    Failure failure_;
    uint32_t depth_ = 0;
    bool measures_names_ = true;
    bool in_type_ = false;
};

}  // namespace twigcast::xml
