// A sink of the Reader that builds a Document.
#pragma once

#include "xml/document.hpp"
#include "xml/reader.hpp"

namespace twigcast::xml {

using namespace base;

class DocumentBuilder : public WithDeclarations {
public:
    // The document is cleared when reading begins.
    explicit DocumentBuilder(Document& document) : document_(document) {}

    bool wants_text() const { return true; }
    uint32_t number_of(Kind, std::string_view name) { return document_.names.intern(name); }
    uint64_t numbering() const { return document_.numbering(); }

    Trouble open_document(size_t size) {
        document_.clear();
        current_ = depth_ = 0;
        in_text_ = false;
        const size_t expected = std::min(size, MOST_EXPECTED);
        document_.nodes.reserve(expected / 20 + 8);
        document_.text.reserve(expected / 4);
        document_.values.reserve(expected / 8);
        document_.nodes.push_back({make_label(Kind::document, 0), NONE, 1, 0, 0, 0});
        return Trouble::none;
    }

    void declare(std::string_view prefix, std::string_view space) {
        document_.qualifiers.declare(count_of(document_.nodes), prefix, space);
    }

    Trouble open_element(uint32_t name, const Attributes& attributes, uint32_t depth) {
        in_text_ = false;
        depth_ = depth;
        const uint32_t element = add_node(Kind::element, name, document_.text.size());
        if (element == NONE) return Trouble::capacity;
        for (const Attribute& attribute : attributes) {
            const uint32_t index =
                add_node(Kind::attribute, attribute.name, document_.values.size());
            if (index == NONE) return Trouble::capacity;
            Node& node = document_.nodes[index];
            node.parent = element;
            node.depth = depth_ + 1;
            document_.values.append(attribute.value);
            node.text_end = count_of(document_.values);
        }
        current_ = element;
        const bool fit =
            fits(document_.values.size()) && fits(document_.qualifiers.declared_bytes());
        return fit ? Trouble::none : Trouble::capacity;
    }

    Trouble close_element() {
        in_text_ = false;
        const uint32_t closed = current_;
        current_ = document_.nodes[closed].parent;
        --depth_;
        close(closed);
        if (current_ == 0) close(0);
        return Trouble::none;
    }

    Trouble add_text(std::string_view piece) {
        if (!in_text_) {
            if (document_.nodes.size() >= MOST) return Trouble::capacity;
            const uint32_t index = count_of(document_.nodes);
            const uint32_t begin = count_of(document_.text);
            document_.nodes.push_back(
                {make_label(Kind::text, 0), current_, index + 1, begin, begin, depth_ + 1});
            in_text_ = true;
        }
        document_.text.append(piece);
        document_.nodes.back().text_end = count_of(document_.text);
        return fits(document_.text.size()) ? Trouble::none : Trouble::capacity;
    }

    Trouble add_comment(std::string_view text) { return add_leaf(Kind::comment, 0, text); }

    Trouble add_instruction(std::string_view target, std::string_view text) {
        return add_leaf(Kind::instruction, document_.names.intern(target), text);
    }

private:
    static constexpr size_t MOST = 0x1FFFFFFF;  // of nodes and names: labels have 29 bits
    static constexpr size_t MOST_EXPECTED = size_t{1} << 20;

    static bool fits(size_t size) { return size < NONE; }

    void close(uint32_t index) {
        Node& node = document_.nodes[index];
        node.end = count_of(document_.nodes);
        node.text_end = count_of(document_.text);
    }

    // A named node below the current one; NONE where there are too many.
    uint32_t add_node(Kind kind, uint32_t name, size_t text_begin) {
        if (document_.nodes.size() >= MOST || name >= MOST) return NONE;
        const uint32_t index = count_of(document_.nodes);
        const uint32_t begin = static_cast<uint32_t>(text_begin);
        document_.nodes.push_back(
            {make_label(kind, name), current_, index + 1, begin, begin, depth_});
        return index;
    }

    // A comment or a processing instruction.
    Trouble add_leaf(Kind kind, uint32_t name, std::string_view text) {
        in_text_ = false;
        if (document_.nodes.size() >= MOST || name >= MOST) return Trouble::capacity;
        const uint32_t begin = count_of(document_.values), end = count_of(document_.nodes) + 1;
        document_.values.append(text);
        if (!fits(document_.values.size())) return Trouble::capacity;
        document_.nodes.push_back(
            {make_label(kind, name), current_, end, begin, count_of(document_.values), depth_ + 1});
        if (current_ == 0) document_.nodes[0].end = end;
        return Trouble::none;
    }

    Document& document_;
    uint32_t current_ = 0;
    uint32_t depth_ = 0;
    bool in_text_ = false;
};

using DocumentReader = Reader<DocumentBuilder>;

}  // namespace twigcast::xml
