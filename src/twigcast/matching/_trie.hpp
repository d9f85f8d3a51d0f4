// All steps of all subscriptions as one tree: equal beginnings of paths are stored once.
//
//     /a/b      /a//c     //c            (root) ─/a──► 1 ─/b──► 2
//                                           │          └─//c─► 3
//                                           └─//c────► 4
//
// A node is where a path may end; what hangs on it tells what that means: `accept` lists the
// patterns that are this path, `extra` points to what larger patterns want to know of it.  An edge
// is found by hashing (node, axis, test).  Parents have smaller numbers than their children.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "_tests.hpp"

namespace twigcast {

// What leads away from a node, so that looking for edges that are not there is rare.
enum Ways : std::uint32_t {
    CHILD_NAMED = 1,
    CHILD_ANY = 2,
    CHILD_ATTRIBUTE = 4,
    CHILD_TEXT = 8,
    BELOW_NAMED = 16,  // by `//`
    BELOW_ANY = 32,
    BELOW_ATTRIBUTE = 64,
    BELOW_TEXT = 128,
    CHILD_WAYS = CHILD_NAMED | CHILD_ANY | CHILD_ATTRIBUTE | CHILD_TEXT,
    BELOW_WAYS = BELOW_NAMED | BELOW_ANY | BELOW_ATTRIBUTE | BELOW_TEXT,
    DESCENDANT = 256,  // this node is reached by `//`
};

struct TrieNode {
    std::uint32_t parent;
    std::uint32_t test;
    std::uint32_t ways;
    std::uint32_t accept;  // a list of patterns in Index's links, or NONE
    std::uint32_t extra;   // in Index's extras, or NONE
};

class Trie {
public:
    Trie() { nodes_.add({NONE, NONE, 0, NONE, NONE}); }

    const TrieNode& operator[](std::uint32_t node) const { return nodes_[node]; }
    TrieNode& edit(std::uint32_t node) { return nodes_.edit(node); }
    std::uint32_t count() const { return nodes_.count(); }
    bool is_descendant(std::uint32_t node) const { return (nodes_[node].ways & DESCENDANT) != 0; }

    // The ways by which an edge to a node of that test leads.
    static std::uint32_t way(const Test& test, bool descendant) {
        const std::uint32_t child = test.kind == Kind::text        ? CHILD_TEXT
                                    : test.kind == Kind::attribute ? CHILD_ATTRIBUTE
                                    : test.form == Form::any       ? CHILD_ANY
                                                                   : CHILD_NAMED;
        return descendant ? child * (BELOW_NAMED / CHILD_NAMED) : child;
    }

    std::uint32_t find(std::uint32_t parent, bool descendant, std::uint32_t test,
                       const HashSecret& secret) const {
        return find({parent, test, descendant, edge_hash(parent, descendant, test, secret)});
    }

    // An edge to be found a little later: its memory is on the way meanwhile.
    struct Sought {
        std::uint32_t parent, test;
        bool descendant;
        std::uint64_t hash;
    };
    void seek(std::uint32_t parent, bool descendant, std::uint32_t test, const HashSecret& secret,
              Sought& sought) const {
        sought.parent = parent;
        sought.test = test;
        sought.descendant = descendant;
        sought.hash = edge_hash(parent, descendant, test, secret);
        slots_.prefetch(sought.hash);
    }
    std::uint32_t find(const Sought& sought) const {
        return slots_.find(sought.hash, [&](std::uint32_t node) {
            const TrieNode& found = nodes_[node];
            return found.parent == sought.parent && found.test == sought.test &&
                   ((found.ways & DESCENDANT) != 0) == sought.descendant;
        });
    }
    void prefetch(std::uint32_t node) const { __builtin_prefetch(&nodes_[node]); }

    std::uint32_t add(std::uint32_t parent, bool descendant, std::uint32_t test, const Tests& tests,
                      const HashSecret& secret) {
        const std::uint32_t ways = descendant ? DESCENDANT : 0;
        const std::uint32_t node = nodes_.add({parent, test, ways, NONE, NONE});
        slots_.add(edge_hash(parent, descendant, test, secret), node, [&](std::uint32_t other) {
            const TrieNode& known = nodes_[other];
            return edge_hash(known.parent, (known.ways & DESCENDANT) != 0, known.test, secret);
        });
        nodes_.edit(parent).ways |= way(tests[test], descendant);
        return node;
    }

    // The canonical text of the path that ends at the node.
    std::string spelling(std::uint32_t node, const Tests& tests) const {
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

    bool is_sound(std::uint32_t tests, std::size_t links, std::size_t extras) {
        if (nodes_.empty()) return false;
        for (std::uint32_t at = 0; at < nodes_.count(); ++at) {
            const TrieNode& node = nodes_[at];
            if (at != 0 && (node.parent >= at || node.test >= tests)) return false;
            if (node.accept != NONE && node.accept >= links) return false;
            if (node.extra != NONE && node.extra >= extras) return false;
        }
        return slots_.is_sound(nodes_.size());
    }

private:
    static std::uint64_t edge_hash(std::uint32_t parent, bool descendant, std::uint32_t test,
                                   const HashSecret& secret) {
        return hash_of(std::uint64_t{parent} << 1 | descendant, test, secret);
    }

    FlatArray<TrieNode> nodes_;
    Slots slots_;
};

// Reads the canonical text of a path, step by step: `/a//Q{urn:p}b/@*`.
class PathText {
public:
    explicit PathText(std::string_view text) : rest_(text) {}

    // Go on to the next step; false at the end, or where the text is no path.
    bool next() {
        if (rest_.empty() || rest_[0] != '/') return false;
        rest_.remove_prefix(1);
        descendant = take('/');
        kind = take('@') ? Kind::attribute : Kind::element;
        if (rest_ == "text()") {
            rest_ = {};
            kind = Kind::text;
            form = Form::any;
            return true;
        }
        if (rest_.substr(0, 2) == "Q{") {
            const std::size_t end = rest_.find('}');
            if (end == std::string_view::npos) return false;
            word = rest_.substr(2, end - 2);
            rest_.remove_prefix(end + 1);
            const std::string_view local = take_name();
            form = local == "*" ? Form::space : Form::name;
            if (form == Form::name && !word.empty()) word += NAMESPACE_SEPARATOR;
            if (form == Form::name) word += local;
            return !local.empty();
        }
        const std::string_view name = take_name();
        form = name == "*" ? Form::any : name.substr(0, 2) == "*:" ? Form::local : Form::name;
        word = form == Form::local ? name.substr(2) : name;
        return !name.empty();
    }

    bool at_end() const { return rest_.empty(); }

    bool descendant = false;
    Kind kind = Kind::element;
    Form form = Form::any;
    std::string word;

private:
    bool take(char wanted) {
        if (rest_.empty() || rest_[0] != wanted) return false;
        rest_.remove_prefix(1);
        return true;
    }

    std::string_view take_name() {
        const std::string_view name = rest_.substr(0, rest_.find('/'));
        rest_.remove_prefix(name.size());
        return name;
    }

    std::string_view rest_;
};

}  // namespace twigcast
