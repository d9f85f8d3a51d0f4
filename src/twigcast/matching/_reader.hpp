// From bytes to a Document, through expat.
//
//     bytes ──expat──► on_start, on_end, on_text, on_break ──► Document
//                                    │
//                                    └► Failure: what went wrong first, and where
//
// No handler calls Python, so a whole document is read without the interpreter lock.  CPython's
// table of expat has no function that stops a parser: once something has failed the handlers do
// nothing, and the next piece is not parsed.  Pieces are large, since expat reads a token that
// spans several of them again from its start (before version 2.6, which defers that).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <string_view>

#include "_document.hpp"
#include "_expat.hpp"

namespace twigcast {

struct Limits {
    std::uint64_t depth;
    std::uint64_t attributes;
    std::uint64_t name_length;
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

class Reader {
public:
    Reader(const ExpatTable* expat, const Limits& limits, Document& document)
        : expat_(expat), limits_(limits), document_(document) {}

    // `encoding` is null where the document itself says it; `has_type` tells that a document type
    // declaration may be there, whose entities have been found harmless.
    Failure read(const char* data, std::size_t size, const char* encoding, bool has_type) noexcept {
        const char separator[] = {NAMESPACE_SEPARATOR, '\0'};
        parser_ = expat_->create(encoding, nullptr, separator);
        if (parser_ == nullptr) {
            failure_.trouble = Trouble::memory;
            return failure_;
        }
        expat_->set_hash_salt(parser_, static_cast<unsigned long>(hash_secret.start));
        expat_->set_user_data(parser_, this);
        expat_->set_element_handler(parser_, on_start, on_end);
        expat_->set_character_handler(parser_, on_text);
        expat_->set_comment_handler(parser_, on_comment);
        expat_->set_instruction_handler(parser_, on_instruction);
        if (has_type) expat_->set_default_handler(parser_, on_other);
        guard(this, [size](Reader& reader) { reader.open_document(size); });
        feed(data, size);
        guard(this, [](Reader& reader) { reader.close(0); });
        expat_->free(parser_);
        return failure_;
    }

private:
    static constexpr std::size_t PIECE = std::size_t{1} << 20;
    static constexpr std::size_t MOST = 0x3FFFFFFF;  // of nodes and names: labels have 30 bits

    void feed(const char* data, std::size_t size) noexcept {
        bool last = false;
        while (!last && failure_.trouble == Trouble::none) {
            const std::size_t length = std::min(size, PIECE);
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
            body(reader);
        } catch (const std::exception&) {
            reader.fail(Trouble::memory);
        }
    }

    static void on_start(void* user, const char* name, const char** attributes) {
        guard(user, [&](Reader& reader) { reader.open_element(name, attributes); });
    }
    static void on_end(void* user, const char*) {
        guard(user, [](Reader& reader) { reader.close_element(); });
    }
    static void on_text(void* user, const char* text, int length) {
        guard(user, [&](Reader& reader) { reader.add_text({text, static_cast<std::size_t>(length)}); });
    }
    static void on_comment(void* user, const char*) {
        static_cast<Reader*>(user)->in_text_ = false;
    }
    static void on_instruction(void* user, const char*, const char*) {
        static_cast<Reader*>(user)->in_text_ = false;
    }
    // Of all that no other handler takes, only a reference that was not expanded starts like this.
    static void on_other(void* user, const char* markup, int length) {
        guard(user, [&](Reader& reader) {
            if (length > 0 && *markup == '&') reader.fail(Trouble::entity);
        });
    }

    void open_document(std::size_t size) {
        const std::size_t expected = std::min(size, PIECE);
        document_.nodes.reserve(expected / 20 + 8);
        document_.text.reserve(expected / 4);
        document_.values.reserve(expected / 8);
        document_.nodes.push_back({make_label(Kind::document, 0), NONE, 1, 0, 0, 0});
    }

    void open_element(const char* name, const char** attributes) {
        in_text_ = false;
        if (depth_ == limits_.depth) return fail(Trouble::depth);
        ++depth_;
        std::uint64_t count = 0;
        while (attributes[2 * count] != nullptr) ++count;
        if (count > limits_.attributes) return fail(Trouble::attributes);
        const std::uint32_t element = add_node(Kind::element, name, document_.text.size());
        if (element == NONE) return;
        for (; *attributes != nullptr; attributes += 2) {
            const std::uint32_t index = add_node(Kind::attribute, attributes[0], document_.values.size());
            if (index == NONE) return;
            document_.nodes[index].parent = element;
            document_.nodes[index].depth = depth_ + 1;
            document_.values.append(attributes[1]);
            document_.nodes[index].text_end = offset(document_.values.size());
        }
        current_ = element;
    }

    void close_element() {
        in_text_ = false;
        const std::uint32_t closed = current_;
        current_ = document_.nodes[closed].parent;
        --depth_;
        close(closed);
    }

    void close(std::uint32_t index) {
        Node& node = document_.nodes[index];
        node.end = static_cast<std::uint32_t>(document_.nodes.size());
        node.text_end = offset(document_.text.size());
    }

    void add_text(std::string_view piece) {
        if (!in_text_) {
            if (document_.nodes.size() >= MOST) return fail(Trouble::capacity);
            const std::uint32_t index = static_cast<std::uint32_t>(document_.nodes.size());
            const std::uint32_t begin = offset(document_.text.size());
            document_.nodes.push_back(
                {make_label(Kind::text, 0), current_, index + 1, begin, begin, depth_ + 1});
            in_text_ = true;
        }
        document_.text.append(piece);
        document_.nodes.back().text_end = offset(document_.text.size());
    }

    // A named node below the current one; NONE where a limit is met.
    std::uint32_t add_node(Kind kind, std::string_view name, std::size_t text_begin) {
        const std::uint32_t known = document_.names.size();
        const std::uint32_t number = document_.names.intern(name);
        if (number >= known && name.size() > limits_.name_length && is_too_long(name)) {
            fail(Trouble::name_length);
            return NONE;
        }
        if (document_.nodes.size() >= MOST || number >= MOST) {
            fail(Trouble::capacity);
            return NONE;
        }
        const std::uint32_t index = static_cast<std::uint32_t>(document_.nodes.size());
        const std::uint32_t begin = offset(text_begin);
        document_.nodes.push_back({make_label(kind, number), current_, index + 1, begin, begin, depth_});
        return index;
    }

    // Characters of UTF-8 are counted by the bytes that do not continue one.
    bool is_too_long(std::string_view name) const {
        const auto starts = [](char byte) {
            return (static_cast<unsigned char>(byte) & 0xC0) != 0x80 && byte != NAMESPACE_SEPARATOR;
        };
        return static_cast<std::uint64_t>(std::count_if(name.begin(), name.end(), starts)) >
               limits_.name_length;
    }

    std::uint32_t offset(std::size_t size) {
        if (size >= NONE) fail(Trouble::capacity);
        return static_cast<std::uint32_t>(size);
    }

    const ExpatTable* expat_;
    const Limits limits_;
    Document& document_;
    ExpatParser* parser_ = nullptr;
    Failure failure_;
    std::uint32_t current_ = 0;
    std::uint32_t depth_ = 0;
    bool in_text_ = false;
};

}  // namespace twigcast
