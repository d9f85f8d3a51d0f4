// A document as flat arrays, in the data model of XPath 1.0.
//
//     <a x="1">p<b>q</b>r</a>
//
//     index  kind       name  parent  end  text             text buffer:   p q r
//       0    document          -      7    pqr   [0,3)      values buffer: 1
//       1    element     a     0      7    pqr   [0,3)
//       2    attribute   x     1      3    1     [0,1) of the values
//       3    text              1      4    p     [0,1)
//       4    element     b     1      6    q     [1,2)
//       5    text              4      6    q     [1,2)
//       6    text              1      7    r     [2,3)
//
// Invariants:
// * Nodes stand in document order, so an index is an order; attributes come right behind their
//   element, before its children.  The subtree of n is [n, end of n), its children are reached
//   by n + 1 and then from each to its own end.
// * All text is appended to one buffer in document order, so the string-value of an element is a
//   contiguous range of it.  The values of attributes, comments and processing instructions stand
//   in a buffer of their own for that reason.
// * A text node is a maximal run of character data; a comment or an instruction ends a run.
// * Names are expanded and interned for the document, so equal names have equal numbers.  The name
//   of a processing instruction is its target.
// * The prefixes of names, which qualifiers has, are found only where a program asks for them.
//
// Cost: 24 bytes a node, the text once, each distinct name once.
#pragma once

#include "base/common.hpp"
#include "xml/names.hpp"
#include "xml/qualifiers.hpp"

namespace twigcast::xml {

using namespace base;

// Kind and name in one word, so that the usual node test is one comparison.
inline uint32_t make_label(Kind kind, uint32_t name) {
    return name << 3 | static_cast<uint32_t>(kind);
}
inline Kind kind_of(uint32_t label) { return static_cast<Kind>(label & 7); }
inline uint32_t name_of(uint32_t label) { return label >> 3; }

// Whether the value of such a node is part of the text of the elements around it.
inline bool has_shared_text(Kind kind) {
    return kind == Kind::text || kind == Kind::element || kind == Kind::document;
}

struct Node {
    uint32_t label;
    uint32_t parent;
    uint32_t end;         // one past the last node of the subtree
    uint32_t text_begin;  // the string-value, in the buffer of the node's kind
    uint32_t text_end;
    uint32_t depth;  // 0 for the document node
};

struct Document {
    std::vector<Node> nodes;
    std::string text;
    std::string values;
    Names names;
    Qualifiers qualifiers;

    std::string_view value_of(uint32_t index) const {
        const Node& node = nodes[index];
        const std::string& buffer = has_shared_text(kind_of(node.label)) ? text : values;
        return {buffer.data() + node.text_begin, node.text_end - node.text_begin};
    }

    // Be ready for another document.  Names keep their numbers, unless there are very many.
    void clear() {
        if (byte_size() > MOST_KEPT) {
            const uint64_t before = renewals_;
            *this = {};
            renewals_ = before + 1;
            return;
        }
        nodes.clear();
        text.clear();
        values.clear();
        qualifiers.clear();
        if (names.size() > MOST_NAMES) {
            names = {};
            ++renewals_;
        }
    }

    // As long as this is the same, names keep their numbers.
    uint64_t numbering() const { return renewals_; }
    // The same, and there are no other names.
    uint64_t names_version() const { return renewals_ << 32 | names.size(); }

    size_t byte_size() const {
        return nodes.capacity() * sizeof(Node) + text.capacity() + values.capacity() +
               names.byte_size() + qualifiers.byte_size();
    }

private:
    static constexpr size_t MOST_KEPT = size_t{1} << 24;
    static constexpr uint32_t MOST_NAMES = 4096;

    uint64_t renewals_ = 0;
};

}  // namespace twigcast::xml
