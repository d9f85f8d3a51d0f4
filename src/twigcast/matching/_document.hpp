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

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "_hash.hpp"

namespace twigcast {

enum class Kind : std::uint32_t { document, element, attribute, text };

constexpr std::uint32_t NONE = 0xFFFFFFFF;
constexpr char NAMESPACE_SEPARATOR = '\x01';  // no character of XML, not even by reference

// Kind and name in one word, so that the usual node test is one comparison.
inline std::uint32_t make_label(Kind kind, std::uint32_t name) {
    return name << 2 | static_cast<std::uint32_t>(kind);
}
inline Kind kind_of(std::uint32_t label) { return static_cast<Kind>(label & 3); }
inline std::uint32_t name_of(std::uint32_t label) { return label >> 2; }

struct Node {
    std::uint32_t label;
    std::uint32_t parent;
    std::uint32_t end;         // one past the last node of the subtree
    std::uint32_t text_begin;  // the string-value, in the buffer of the node's kind
    std::uint32_t text_end;
    std::uint32_t depth;  // 0 for the document node
};

// The secret of this process's documents.  Set once, on import.
inline HashSecret hash_secret;

// Expanded names, numbered from 0 in order of appearance, spelled `local` or namespace, separator,
// local.  A namespace's bytes are kept once, as an entry of their own that ends in the separator
// and that no node uses: a megabyte of short tags below a long namespace name stays a megabyte.
class Names {
public:
    Names() : slots_(128, NONE) {
        bytes_.reserve(512);
        entries_.reserve(64);
    }

    std::uint32_t size() const { return static_cast<std::uint32_t>(entries_.size()); }

    std::string_view namespace_of(std::uint32_t name) const {
        std::string_view prefix = prefix_of(entries_[name]);
        if (!prefix.empty()) prefix.remove_suffix(1);
        return prefix;
    }
    std::string_view local_of(std::uint32_t name) const {
        const Entry& entry = entries_[name];
        return {bytes_.data() + entry.begin, entry.length};
    }

    // The number of the name, or NONE.
    std::uint32_t find(std::string_view name) const { return slots_[slot_of(name, hash_of(name, hash_secret))]; }

    // The number of the name; a new one is added with the number size().
    std::uint32_t intern(std::string_view name) {
        const std::uint64_t hash = hash_of(name, hash_secret);
        const std::uint32_t known = slots_[slot_of(name, hash)];
        return known != NONE ? known : add(name, hash);
    }

    std::size_t byte_size() const {
        return bytes_.capacity() + entries_.capacity() * sizeof(Entry) +
               slots_.capacity() * sizeof(std::uint32_t);
    }

private:
    struct Entry {
        std::uint64_t hash;
        std::uint32_t begin, length;  // of the local part
        std::uint32_t space;          // the entry of the namespace, or NONE
    };

    std::string_view prefix_of(const Entry& entry) const {
        return entry.space == NONE ? std::string_view{} : local_of(entry.space);
    }

    bool spells(const Entry& entry, std::string_view name) const {
        const std::string_view prefix = prefix_of(entry);
        const std::string_view local{bytes_.data() + entry.begin, entry.length};
        return prefix.size() + local.size() == name.size() &&
               name.substr(prefix.size()) == local && name.substr(0, prefix.size()) == prefix;
    }

    // The slot that holds the name, or the free one where it belongs.
    std::size_t slot_of(std::string_view name, std::uint64_t hash) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t slot = hash & mask;
        while (slots_[slot] != NONE) {
            const Entry& entry = entries_[slots_[slot]];
            if (entry.hash == hash && spells(entry, name)) break;
            slot = (slot + 1) & mask;
        }
        return slot;
    }

    std::uint32_t add(std::string_view name, std::uint64_t hash) {
        std::uint32_t space = NONE;
        const std::size_t separator = name.find(NAMESPACE_SEPARATOR);
        if (separator < name.size() - 1) {
            space = intern(name.substr(0, separator + 1));
            name.remove_prefix(separator + 1);
        }
        if (entries_.size() * 2 >= slots_.size()) grow();
        const std::uint32_t number = size();
        entries_.push_back({hash, static_cast<std::uint32_t>(bytes_.size()),
                            static_cast<std::uint32_t>(name.size()), space});
        bytes_.append(name);
        place(slots_, number);
        return number;
    }

    void grow() {
        std::vector<std::uint32_t> wider(slots_.size() * 4, NONE);
        for (std::uint32_t number = 0; number < size(); ++number) place(wider, number);
        slots_.swap(wider);
    }

    // Put an entry that is not there into its slot.
    void place(std::vector<std::uint32_t>& slots, std::uint32_t number) const {
        const std::size_t mask = slots.size() - 1;
        std::size_t slot = entries_[number].hash & mask;
        while (slots[slot] != NONE) slot = (slot + 1) & mask;
        slots[slot] = number;
    }

    std::string bytes_;
    std::vector<Entry> entries_;
    std::vector<std::uint32_t> slots_;  // a power of two of them, at most half full
};

struct Document {
    std::vector<Node> nodes;
    std::string text;
    std::string values;
    Names names;

    std::string_view value_of(std::uint32_t index) const {
        const Node& node = nodes[index];
        const std::string& buffer = kind_of(node.label) == Kind::attribute ? values : text;
        return {buffer.data() + node.text_begin, node.text_end - node.text_begin};
    }

    std::size_t byte_size() const {
        return nodes.capacity() * sizeof(Node) + text.capacity() + values.capacity() +
               names.byte_size();
    }
};

}  // namespace twigcast
