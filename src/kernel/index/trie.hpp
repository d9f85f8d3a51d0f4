// All steps of all subscriptions as one tree: equal beginnings of paths are stored once.
//
//     /a/b      /a//c     //c            (root) ─/a──► 1 ─/b──► 2
//                                           │          └─//c─► 3
//                                           └─//c────► 4
//
// A node is where a path may end; what hangs on it says what that means: `pattern` is the
// pattern that is this path, `extra` points to what larger patterns want to know of it.  An edge is
// looked up by the hash of (node, axis, test).  Parents have smaller numbers than their children.
#pragma once

#include "base/flat_array.hpp"
#include "base/hash.hpp"
#include "base/slots.hpp"
#include "index/node_tests.hpp"

namespace twigcast::index {

using namespace base;

// What leads away from a node, so that looking for edges that are not there is rare.
enum Edges : uint32_t {
    CHILD_NAMED = 1,
    CHILD_ANY = 2,
    CHILD_ATTRIBUTE = 4,
    CHILD_TEXT = 8,
    BELOW_NAMED = 16,  // by `//`
    BELOW_ANY = 32,
    BELOW_ATTRIBUTE = 64,
    BELOW_TEXT = 128,
    CHILD_EDGES = CHILD_NAMED | CHILD_ANY | CHILD_ATTRIBUTE | CHILD_TEXT,
    BELOW_EDGES = BELOW_NAMED | BELOW_ANY | BELOW_ATTRIBUTE | BELOW_TEXT,
    DESCENDANT = 256,        // this node is reached by `//`
    FIRST_TESTED = 0x10000,  // from here on: a bit for some of the tests that edges lead to
};

// The bits of tests among those of edges.
inline uint16_t tested(uint32_t edges) { return static_cast<uint16_t>(edges / FIRST_TESTED); }

struct TrieNode {
    uint32_t parent;
    uint32_t test;
    uint32_t edges;
    uint32_t pattern;  // in Index's patterns, or NONE
    uint32_t extra;    // in Index's extras, or NONE
};

class Trie {
public:
    Trie() { nodes_.add({NONE, NONE, 0, NONE, NONE}); }

    const TrieNode& operator[](uint32_t node) const { return nodes_[node]; }
    TrieNode& edit(uint32_t node) { return nodes_.edit(node); }
    uint32_t count() const { return nodes_.count(); }
    bool is_descendant(uint32_t node) const { return (nodes_[node].edges & DESCENDANT) != 0; }

    // The bits of an edge to a node of that test: where one is missing, there is no such edge.
    static uint32_t edge_to(const Tests& tests, uint32_t number, bool descendant) {
        constexpr uint32_t FACTOR = 0x9E3779B1;
        const Test& test = tests[number];
        const uint32_t child = test.kind == Kind::text        ? CHILD_TEXT
                               : test.kind == Kind::attribute ? CHILD_ATTRIBUTE
                               : test.form == Form::any       ? CHILD_ANY
                                                              : CHILD_NAMED;
        const uint32_t kind = descendant ? child * (BELOW_NAMED / CHILD_NAMED) : child;
        return kind | FIRST_TESTED << ((number * 2 + descendant) * FACTOR >> 28);
    }

    uint32_t find(uint32_t parent, bool descendant, uint32_t test, const HashSecret& secret) const {
        return find({parent, test, descendant, NONE, edge_hash(parent, descendant, test, secret)});
    }

    // An edge that is looked up in three steps, between which others are, so that memory is there
    // when it is asked: `seek` asks for its slot, `approach` for its node.
    struct Sought {
        uint32_t parent, test;
        bool descendant;
        uint32_t guess;
        uint64_t hash;
    };
    void seek(uint32_t parent, bool descendant, uint32_t test, const HashSecret& secret,
              Sought& sought) const {
        sought.parent = parent;
        sought.test = test;
        sought.descendant = descendant;
        sought.hash = edge_hash(parent, descendant, test, secret);
        slots_.prefetch(sought.hash);
    }
    uint32_t find(const Sought& sought) const {
        return slots_.find(sought.hash, [&](uint32_t node) { return is_it(sought, node); });
    }
    void approach(Sought& sought) const {
        sought.guess = slots_.guess(sought.hash);
        if (sought.guess != NONE) __builtin_prefetch(&nodes_[sought.guess]);
    }
    uint32_t reach(const Sought& sought) const {
        return sought.guess == NONE || is_it(sought, sought.guess) ? sought.guess : find(sought);
    }

    uint32_t add(uint32_t parent, bool descendant, uint32_t test, const Tests& tests,
                 const HashSecret& secret) {
        const uint32_t edges = descendant ? uint32_t{DESCENDANT} : 0;
        const uint32_t node = nodes_.add({parent, test, edges, NONE, NONE});
        slots_.add(edge_hash(parent, descendant, test, secret), node, [&](uint32_t other) {
            const TrieNode& known = nodes_[other];
            return edge_hash(known.parent, (known.edges & DESCENDANT) != 0, known.test, secret);
        });
        nodes_.edit(parent).edges |= edge_to(tests, test, descendant);
        return node;
    }

    // The canonical text of the path that ends at the node.
    std::string spelling(uint32_t node, const Tests& tests) const {
        std::string text;
        for (; node != 0; node = nodes_[node].parent) {
            text = (is_descendant(node) ? "//" : "/") + tests.spelling(nodes_[node].test) + text;
        }
        return text;
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(nodes_);
        slots_.each_array(visit);
    }

    bool is_sound(uint32_t tests, size_t patterns, size_t extras) {
        if (nodes_.empty()) return false;
        for (uint32_t at = 0; at < nodes_.count(); ++at) {
            const TrieNode& node = nodes_[at];
            if (at != 0 && (node.parent >= at || node.test >= tests)) return false;
            if (node.pattern != NONE && node.pattern >= patterns) return false;
            if (node.extra != NONE && node.extra >= extras) return false;
        }
        return slots_.is_sound(nodes_.size());
    }

private:
    static uint64_t edge_hash(uint32_t parent, bool descendant, uint32_t test,
                              const HashSecret& secret) {
        return hash_of(uint64_t{parent} << 1 | descendant, test, secret);
    }

    bool is_it(const Sought& sought, uint32_t number) const {
        const TrieNode& node = nodes_[number];
        return node.parent == sought.parent && node.test == sought.test &&
               ((node.edges & DESCENDANT) != 0) == sought.descendant;
    }

    FlatArray<TrieNode> nodes_;
    Slots slots_;
};

}  // namespace twigcast::index
