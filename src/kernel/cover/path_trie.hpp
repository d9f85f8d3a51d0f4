// The factorization tree: all paths of all twigs of a set, each shared beginning once.
//
//     /a/b   /a//c   /a[b][@x="1"]          (document)
//                                              │/
//                                              a
//                                         /  ╱ │// ╲ /
//                                           b   c   @x ─── ="1"
//
// A trie node stands for one beginning of a path, edges included; an atom hangs below the trie node
// of its step like a branch.  What only one twig has is not unfolded: its trie node is a *tail*,
// which names the node of the twig that goes on from there, until a second twig comes to the same
// trie node.
//
// At the trie node where a path ends stand the twigs that have it: all their paths in the list of
// what is *given*, one of them, the rarest, in that of what is *asked*.  `passing` counts the nodes
// of twigs at a trie node, `asking` the twigs that stand as asked at it or below.
//
// The trie nodes of each label are listed, with the names above them folded into a word, so
// that most of those that a path does not lead to are passed over without a look at them; the nodes
// of tails, which have no trie node, in a list of their own.
//
// Unlike Chand and Felber's tree, two branches of one twig with the same beginning share it, too.
// So a path in the trie says which twigs are candidates; a twig of several paths is then compared.
#pragma once

#include "base/number_table.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

enum EdgeKind : uint8_t { FAR, EXACT, ATOM };

// What searches look at of a trie node: one line of the processor's cache.
struct alignas(64) TrieNode {
    uint64_t near_names = 0;  // of the children by child edges there are or were, folded
    uint64_t far_names = 0;   // of those by descendant edges
    uint64_t needed = 0;      // names that all twigs asking at it or below have asked for
    uint32_t asking = 0;
    uint32_t asked_here = 0;
    uint32_t asked_first = NONE;  // one of those, so that most trie nodes need no list
    uint32_t tail_twig = NONE;    // the only twig here, not unfolded
    uint32_t first_child = NONE;
    uint32_t first_atom = NONE;  // comparisons other than `=` with a text
    uint32_t first_equal = NONE;
    uint32_t next = NONE;
    uint32_t label = ANY_ELEMENT;  // of an atom, the atom
    uint8_t edge = EXACT;

    bool is_tail() const { return tail_twig != NONE; }
};

// What climbing needs to know of a trie node.
struct EdgeAbove {
    uint32_t parent = NONE;
    uint32_t label = ANY_ELEMENT;
    uint32_t edge = EXACT;
};

// The rest.
struct Upkeep {
    uint64_t lineage = 0;  // the names of the trie node and those above it, folded
    uint32_t passing = 0;
    uint32_t tail_node = 0;  // where its twig goes on
    uint32_t previous = NONE;
    uint32_t posting = 0;  // where it stands among the trie nodes of its label
};

struct Posting {
    uint64_t lineage;
    uint32_t trie_node;
};

struct HiddenPosting {
    uint64_t lineage;
    uint32_t twig;
    uint32_t node;
};

// A twig of the set.  Its key is the end of the path that it stands as asked for: a node, or one
// of that node's atoms; `key` is the trie node where that end is, or the tail that hides it.
struct StoredTwig {
    Twig twig;
    uint32_t key = NONE;
    uint32_t key_node = 0;
    uint32_t key_atom = NONE;
    uint32_t key_other = NONE;  // where it is kept by a condition of Implications, and not here
    uint32_t entry = NONE;      // the pattern that it is part of; NONE where the number is free
};

inline void take_out(std::vector<uint32_t>& ids, uint32_t id) {
    for (size_t at = 0; at < ids.size(); ++at) {
        if (ids[at] == id) {
            ids[at] = ids.back();
            ids.pop_back();
            return;
        }
    }
}

class PathTrie {
public:
    static constexpr uint32_t ROOT = 0;

    PathTrie(const Terms& terms, std::vector<StoredTwig>& twigs) : terms_(terms), twigs_(twigs) {
        grow();
    }

    void add(uint32_t id) {
        const std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        for (uint32_t node = 1; node < nodes.size(); ++node) {
            if (nodes[node].parent == 0) put(id, node, ROOT);
        }
        if (twigs_[id].key_other == NONE) choose_key(id);
    }

    void remove(uint32_t id) {
        StoredTwig& stored = twigs_[id];
        if (stored.key_other == NONE) stop_asking(id);
        for (uint32_t node = 1; node < stored.twig.nodes.size(); ++node) {
            if (stored.twig.nodes[node].parent == 0) take(id, node, ROOT);
        }
    }

    const TrieNode& at(uint32_t trie_node) const { return trie_nodes_[trie_node]; }
    void prefetch(uint32_t trie_node) const { __builtin_prefetch(&trie_nodes_[trie_node]); }
    uint32_t passing(uint32_t trie_node) const { return upkeep_[trie_node].passing; }
    const EdgeAbove& edge_above(uint32_t trie_node) const { return above_[trie_node]; }
    size_t size() const { return trie_nodes_.size() - free_.size() - 1; }
    size_t capacity() const { return trie_nodes_.size(); }

    uint32_t child(uint32_t parent, uint32_t label, uint8_t edge) const {
        return edges_.find(key_of(parent, label, edge));
    }

    // The same in two steps, so that others can be taken in between.
    uint64_t start_to_child(uint32_t parent, uint32_t label, uint8_t edge) const {
        const uint64_t key = key_of(parent, label, edge);
        edges_.prefetch(key);
        return key;
    }
    uint32_t child(uint64_t key) const { return edges_.find(key); }

    // The twigs with a path that ends at the trie node, or goes on from there in a tail.
    template <class Report>
    void for_given(uint32_t trie_node, Report& report) const {
        if (trie_nodes_[trie_node].is_tail()) {
            report(trie_nodes_[trie_node].tail_twig);
        } else {
            for (const uint32_t twig : given_[trie_node]) report(twig);
        }
    }

    // Call `report(twig, is_end)` for those that stand there as asked.
    template <class Report>
    void for_asked(uint32_t trie_node, Report& report) const {
        const TrieNode& here = trie_nodes_[trie_node];
        if (here.asked_here == 1) {
            report(here.asked_first, true);
        } else if (here.asked_here != 0) {
            for (const uint32_t twig : asked_[trie_node]) report(twig, true);
        } else if (here.is_tail() && here.asking != 0) {
            report(here.tail_twig, false);
        }
    }

    const std::vector<Posting>& nodes_of(uint32_t label) const {
        static const std::vector<Posting> none;
        return label < postings_.size() ? postings_[label] : none;
    }

    const std::vector<HiddenPosting>& hidden_of(uint32_t label) const {
        static const std::vector<HiddenPosting> none;
        return label < hidden_.size() ? hidden_[label] : none;
    }

private:
    static uint64_t key_of(uint32_t parent, uint32_t label, uint8_t edge) {
        return (uint64_t{parent} << 32 | label) * 3 + edge;
    }
    static uint8_t edge_of(const GivenNode& node) { return node.exact ? EXACT : FAR; }

    static bool is_leaf(const std::vector<GivenNode>& nodes, uint32_t node) {
        return nodes[node].atom_count == 0 &&
               (node + 1 == nodes.size() || nodes[node + 1].parent != node);
    }

    // Call `use` with each child of a node; nodes come parents first, a branch at a time.
    template <class Use>
    static void for_children(const std::vector<GivenNode>& nodes, uint32_t node, Use use) {
        for (uint32_t below = node + 1; below < nodes.size() && nodes[below].parent >= node;
             ++below) {
            if (nodes[below].parent == node) use(below);
        }
    }

    void put(uint32_t id, uint32_t node, uint32_t parent) {
        const std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        uint32_t trie_node = child(parent, nodes[node].label, edge_of(nodes[node]));
        if (trie_node == NONE) {
            hang(id, node, attach(parent, nodes[node].label, edge_of(nodes[node])));
            return;
        }
        if (trie_nodes_[trie_node].is_tail()) unfold(trie_node);
        ++upkeep_[trie_node].passing;
        put_below(id, node, trie_node);
    }

    void put_below(uint32_t id, uint32_t node, uint32_t trie_node) {
        const Twig& twig = twigs_[id].twig;
        if (is_leaf(twig.nodes, node)) given_[trie_node].push_back(id);
        for_children(twig.nodes, node, [&](uint32_t below) { put(id, below, trie_node); });
        for (uint32_t atom = 0; atom < twig.nodes[node].atom_count; ++atom) {
            const uint32_t label = twig.atoms[twig.nodes[node].atoms + atom];
            uint32_t below = child(trie_node, label, ATOM);
            if (below == NONE) below = attach(trie_node, label, ATOM);
            ++upkeep_[below].passing;
            given_[below].push_back(id);
        }
    }

    void take(uint32_t id, uint32_t node, uint32_t parent) {
        const Twig& twig = twigs_[id].twig;
        const GivenNode& one = twig.nodes[node];
        const uint32_t trie_node = child(parent, one.label, edge_of(one));
        if (trie_nodes_[trie_node].is_tail()) {
            for_children(twig.nodes, node, [&](uint32_t below) { unhide(id, below); });
            detach(trie_node);
            return;
        }
        if (is_leaf(twig.nodes, node)) take_out(given_[trie_node], id);
        for_children(twig.nodes, node, [&](uint32_t below) { take(id, below, trie_node); });
        for (uint32_t atom = 0; atom < one.atom_count; ++atom) {
            const uint32_t below = child(trie_node, twig.atoms[one.atoms + atom], ATOM);
            take_out(given_[below], id);
            if (--upkeep_[below].passing == 0) detach(below);
        }
        if (--upkeep_[trie_node].passing == 0) detach(trie_node);
    }

    // Make a new trie node the tail of a twig from a node on.
    void hang(uint32_t id, uint32_t node, uint32_t trie_node) {
        std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        upkeep_[trie_node].passing = 1;
        trie_nodes_[trie_node].tail_twig = id;
        upkeep_[trie_node].tail_node = node;
        nodes[node].trie_node = trie_node;
        const uint64_t lineage = upkeep_[trie_node].lineage;
        for_children(nodes, node, [&](uint32_t below) { hide(id, below, lineage); });
    }

    // Give the node of a tail its trie node for itself; what is below it hangs there anew.
    void unfold(uint32_t trie_node) {
        const uint32_t id = trie_nodes_[trie_node].tail_twig, node = upkeep_[trie_node].tail_node;
        StoredTwig& stored = twigs_[id];
        trie_nodes_[trie_node].tail_twig = NONE;
        stored.twig.nodes[node].trie_node = NONE;
        for_children(stored.twig.nodes, node, [&](uint32_t below) { unhide(id, below); });
        put_below(id, node, trie_node);
        if (stored.key != trie_node) return;
        stored.key = end_of(stored);
        for (uint32_t at = stored.key; at != trie_node; at = above_[at].parent)
            ask(at, stored.twig);
        stand_as_asked(id);
    }

    void hide(uint32_t id, uint32_t node, uint64_t lineage) {
        std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        const uint32_t label = nodes[node].label;
        lineage |= Twig::bit_of(label);
        if (label >= hidden_.size()) hidden_.resize(label + 1);
        nodes[node].posting = static_cast<uint32_t>(hidden_[label].size());
        hidden_[label].push_back({lineage, id, node});
        for_children(nodes, node, [&](uint32_t below) { hide(id, below, lineage); });
    }

    void unhide(uint32_t id, uint32_t node) {
        std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        std::vector<HiddenPosting>& same = hidden_[nodes[node].label];
        const uint32_t at = nodes[node].posting;
        same[at] = same.back();
        twigs_[same[at].twig].twig.nodes[same[at].node].posting = at;
        same.pop_back();
        for_children(nodes, node, [&](uint32_t below) { unhide(id, below); });
    }

    void stop_asking(uint32_t id) {
        const uint32_t key = twigs_[id].key;
        for (uint32_t trie_node = key;; trie_node = above_[trie_node].parent) {
            --trie_nodes_[trie_node].asking;
            if (trie_node == ROOT) break;
        }
        if (trie_nodes_[key].is_tail()) return;
        std::vector<uint32_t>& same = asked_[key];
        take_out(same, id);
        --trie_nodes_[key].asked_here;
        trie_nodes_[key].asked_first = same.empty() ? NONE : same.front();
    }

    // Let the twig stand as asked at the end of its rarest path and, of several, of the longest; at
    // the root where it has none.
    void choose_key(uint32_t id) {
        StoredTwig& stored = twigs_[id];
        const std::vector<GivenNode>& nodes = stored.twig.nodes;
        inner_.assign(nodes.size(), 0);
        uint64_t best = ~uint64_t{0};
        StoredTwig chosen;
        chosen.key = ROOT;
        for (uint32_t node = count_of(nodes) - 1; node > 0; --node) {
            if (nodes[node].only_given) continue;
            inner_[nodes[node].parent] = 1;
            const uint32_t atoms = nodes[node].asked_atom_count;
            if (inner_[node] && atoms == 0) continue;
            for (uint32_t atom = 0; atom < std::max(atoms, 1u); ++atom) {
                stored.key_node = node;
                stored.key_atom = atoms == 0 ? NONE : atom;
                const uint32_t trie_node = end_of(stored);
                const uint64_t cost = uint64_t{upkeep_[trie_node].passing} << 16 |
                                      (0xFFFF - std::min<uint32_t>(depth_of(nodes, node), 0xFFFF));
                if (cost < best) {
                    best = cost;
                    chosen.key = trie_node;
                    chosen.key_node = stored.key_node;
                    chosen.key_atom = stored.key_atom;
                }
            }
        }
        stored.key = chosen.key;
        stored.key_node = chosen.key_node;
        stored.key_atom = chosen.key_atom;
        stand_as_asked(id);
        for (uint32_t trie_node = stored.key;; trie_node = above_[trie_node].parent) {
            ask(trie_node, stored.twig);
            if (trie_node == ROOT) break;
        }
    }

    // What is needed only shrinks while anybody asks, so it may say too little, never too much.
    void ask(uint32_t trie_node, const Twig& twig) {
        TrieNode& here = trie_nodes_[trie_node];
        here.needed = here.asking++ == 0 ? twig.asked_names : here.needed & twig.asked_names;
    }

    void stand_as_asked(uint32_t id) {
        TrieNode& key = trie_nodes_[twigs_[id].key];
        if (key.is_tail()) return;
        asked_[twigs_[id].key].push_back(id);
        if (++key.asked_here == 1) key.asked_first = id;
    }

    static uint32_t depth_of(const std::vector<GivenNode>& nodes, uint32_t node) {
        uint32_t depth = 0;
        for (; node != 0; node = nodes[node].parent) ++depth;
        return depth;
    }

    // The trie node of the node, or atom, where the key path of a twig ends; or the tail that hides
    // it.
    uint32_t end_of(const StoredTwig& stored) const {
        const uint32_t trie_node = trie_node_of(stored.twig.nodes, stored.key_node);
        if (trie_nodes_[trie_node].is_tail() || stored.key_atom == NONE) return trie_node;
        const GivenNode& node = stored.twig.nodes[stored.key_node];
        return child(trie_node, stored.twig.atoms[node.atoms + stored.key_atom], ATOM);
    }

    uint32_t trie_node_of(const std::vector<GivenNode>& nodes, uint32_t node) const {
        if (node == 0) return ROOT;
        const uint32_t above = trie_node_of(nodes, nodes[node].parent);
        if (trie_nodes_[above].is_tail()) return above;
        return child(above, nodes[node].label, edge_of(nodes[node]));
    }

    void grow() {
        trie_nodes_.emplace_back();
        above_.emplace_back();
        upkeep_.emplace_back();
        given_.emplace_back();
        asked_.emplace_back();
    }

    uint32_t& head(uint32_t parent, uint32_t label, uint8_t edge) {
        if (edge != ATOM) return trie_nodes_[parent].first_child;
        const Atom& atom = terms_.atom(label);
        return atom.comparison == Comparison::equal_text ? trie_nodes_[parent].first_equal
                                                         : trie_nodes_[parent].first_atom;
    }

    uint32_t attach(uint32_t parent, uint32_t label, uint8_t edge) {
        uint32_t trie_node;
        if (free_.empty()) {
            trie_node = count_of(trie_nodes_);
            grow();
        } else {
            trie_node = free_.back();
            free_.pop_back();
        }
        uint32_t& first = head(parent, label, edge);
        TrieNode& one = trie_nodes_[trie_node];
        one = TrieNode{};
        one.label = label;
        one.edge = edge;
        above_[trie_node] = {parent, label, edge};
        upkeep_[trie_node] = Upkeep{};
        one.next = first;
        if (first != NONE) upkeep_[first].previous = trie_node;
        first = trie_node;
        if (edge != ATOM) {
            (edge == EXACT ? trie_nodes_[parent].near_names : trie_nodes_[parent].far_names) |=
                Twig::bit_of(label);
            upkeep_[trie_node].lineage = upkeep_[parent].lineage | Twig::bit_of(label);
            if (label >= postings_.size()) postings_.resize(label + 1);
            upkeep_[trie_node].posting = static_cast<uint32_t>(postings_[label].size());
            postings_[label].push_back({upkeep_[trie_node].lineage, trie_node});
        }
        edges_.add(key_of(parent, label, edge), trie_node);
        return trie_node;
    }

    void detach(uint32_t trie_node) {
        const TrieNode one = trie_nodes_[trie_node];
        const uint32_t parent = above_[trie_node].parent;
        const uint32_t previous = upkeep_[trie_node].previous, posting = upkeep_[trie_node].posting;
        if (one.next != NONE) upkeep_[one.next].previous = previous;
        if (previous != NONE) {
            trie_nodes_[previous].next = one.next;
        } else {
            head(parent, one.label, one.edge) = one.next;
        }
        if (trie_nodes_[parent].first_child == NONE) {
            trie_nodes_[parent].near_names = trie_nodes_[parent].far_names = 0;
        }
        if (one.edge != ATOM) {
            std::vector<Posting>& same = postings_[one.label];
            same[posting] = same.back();
            upkeep_[same[posting].trie_node].posting = posting;
            same.pop_back();
        }
        edges_.remove(key_of(parent, one.label, one.edge));
        trie_nodes_[trie_node].tail_twig = NONE;
        given_[trie_node] = {};
        asked_[trie_node] = {};
        free_.push_back(trie_node);
    }

    const Terms& terms_;
    std::vector<StoredTwig>& twigs_;
    std::vector<TrieNode> trie_nodes_;
    std::vector<EdgeAbove> above_;
    std::vector<Upkeep> upkeep_;
    std::vector<std::vector<uint32_t>> given_, asked_;
    std::vector<uint32_t> free_;
    std::vector<std::vector<Posting>> postings_;
    std::vector<std::vector<HiddenPosting>> hidden_;
    NumberTable edges_;
    std::vector<uint8_t> inner_;
};

}  // namespace twigcast::cover
