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
//   contiguous range of it.  Attribute values stand in a buffer of their own for that reason.
// * A text node is a maximal run of character data; a comment or an instruction ends a run.
// * Names are expanded and interned for the document, so equal names have equal numbers.
//
// Cost: 24 bytes a node, the text once, each distinct name once.
#pragma once

#include "base/common.hpp"
#include "xml/names.hpp"

namespace twigcast::xml {

using namespace base;

// Kind and name in one word, so that the usual node test is one comparison.
inline uint32_t make_label(Kind kind, uint32_t name) {
    return name << 2 | static_cast<uint32_t>(kind);
}
inline Kind kind_of(uint32_t label) { return static_cast<Kind>(label & 3); }
inline uint32_t name_of(uint32_t label) { return label >> 2; }

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

    std::string_view value_of(uint32_t index) const {
        const Node& node = nodes[index];
        const std::string& buffer = kind_of(node.label) == Kind::attribute ? values : text;
        return {buffer.data() + node.text_begin, node.text_end - node.text_begin};
    }

    size_t byte_size() const {
        return nodes.capacity() * sizeof(Node) + text.capacity() + values.capacity() +
               names.byte_size();
    }
};

}  // namespace twigcast::xml
