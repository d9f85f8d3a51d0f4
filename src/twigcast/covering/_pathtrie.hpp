// The factorization tree: all paths of all twigs of a set, each shared beginning once.
//
//     /a/b   /a//c   /a[b][@x="1"]          (document)
//                                              │/
//                                              a
//                                         /  ╱ │// ╲ /
//                                           b   c   @x ─── ="1"
//
// A place stands for one beginning of a path, edges included; an atom hangs below the place of its
// node like a branch.  What only one twig has is not unfolded: its place is a *tail*, which names
// the node of the twig that goes on from there, until a second twig comes to the same place.
//
// At the place where a path ends stand the twigs that have it: all their paths in the list of what
// is *given*, one of them, the rarest, in that of what is *asked*.  `passing` counts the nodes of
// twigs at a place, `asking` the twigs that stand as asked at it or below.
//
// The places of each label are listed, with the names on the way to them folded into a word, so
// that most of those that a path does not lead to are passed over without a look at them; the nodes
// of tails, which have no place, in a list of their own.
//
// Unlike Chand and Felber's tree, two branches of one twig with the same beginning share it, too.
// So a path found here says which twigs may be meant, and a twig of several paths is then compared.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "_edgetable.hpp"
#include "_terms.hpp"
#include "_twig.hpp"

namespace twigcast {

enum EdgeKind : std::uint8_t { FAR, EXACT, ATOM };

// What searches look at of a place: one line of the processor's cache.
struct alignas(64) Place {
    std::uint64_t near_names = 0;  // of the children by child edges there are or were, folded
    std::uint64_t far_names = 0;   // of those by descendant edges
    std::uint64_t needed = 0;      // names that all twigs asking at it or below have asked for
    std::uint32_t asking = 0;
    std::uint32_t asked_here = 0;
    std::uint32_t asked_first = NONE;  // one of those, so that most places need no list
    std::uint32_t tail_twig = NONE;    // the only twig here, not unfolded
    std::uint32_t first_child = NONE;
    std::uint32_t first_atom = NONE;  // comparisons other than `=` with a text
    std::uint32_t first_equal = NONE;
    std::uint32_t next = NONE;
    std::uint32_t label = ANY_ELEMENT;  // of an atom, the atom
    std::uint8_t edge = EXACT;

    bool is_tail() const { return tail_twig != NONE; }
};

// What climbing needs to know of a place.
struct Link {
    std::uint32_t parent = NONE;
    std::uint32_t label = ANY_ELEMENT;
    std::uint32_t edge = EXACT;
};

// The rest.
struct Upkeep {
    std::uint64_t lineage = 0;  // the names of the place and those above it, folded
    std::uint32_t passing = 0;
    std::uint32_t tail_node = 0;  // where its twig goes on
    std::uint32_t previous = NONE;
    std::uint32_t posting = 0;  // where it stands among the places of its label
};

struct Posting {
    std::uint64_t lineage;
    std::uint32_t place;
};

struct HiddenPosting {
    std::uint64_t lineage;
    std::uint32_t twig;
    std::uint32_t node;
};

// A twig of the set.  Its key is the end of the path that it stands as asked for: a node, or one
// of that node's atoms; `key` is the place where that end is, or the tail that hides it.
struct StoredTwig {
    Twig twig;
    std::uint32_t key = NONE;
    std::uint32_t key_node = 0;
    std::uint32_t key_atom = NONE;
    std::uint32_t entry = NONE;  // the pattern that it is part of; NONE where the number is free
};

class PathTrie {
public:
    static constexpr std::uint32_t ROOT = 0;

    PathTrie(const Terms& terms, std::vector<StoredTwig>& twigs) : terms_(terms), twigs_(twigs) {
        grow();
    }

    void add(std::uint32_t id) {
        const std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        for (std::uint32_t node = 1; node < nodes.size(); ++node) {
            if (nodes[node].parent == 0) put(id, node, ROOT);
        }
        choose_key(id);
    }

    void remove(std::uint32_t id) {
        StoredTwig& stored = twigs_[id];
        for (std::uint32_t place = stored.key;; place = links_[place].parent) {
            --places_[place].asking;
            if (place == ROOT) break;
        }
        if (!places_[stored.key].is_tail()) {
            std::vector<std::uint32_t>& same = asked_[stored.key];
            take_out(same, id);
            --places_[stored.key].asked_here;
            places_[stored.key].asked_first = same.empty() ? NONE : same.front();
        }
        for (std::uint32_t node = 1; node < stored.twig.nodes.size(); ++node) {
            if (stored.twig.nodes[node].parent == 0) take(id, node, ROOT);
        }
    }

    const Place& at(std::uint32_t place) const { return places_[place]; }
    void prefetch(std::uint32_t place) const { __builtin_prefetch(&places_[place]); }
    std::uint32_t passing(std::uint32_t place) const { return upkeep_[place].passing; }
    const Link& link_at(std::uint32_t place) const { return links_[place]; }
    std::size_t size() const { return places_.size() - free_.size() - 1; }
    std::size_t capacity() const { return places_.size(); }

    std::uint32_t child(std::uint32_t parent, std::uint32_t label, std::uint8_t edge) const {
        return edges_.find(key_of(parent, label, edge));
    }

    // The same in two steps, so that others can be taken in between.
    std::uint64_t start_to_child(std::uint32_t parent, std::uint32_t label, std::uint8_t edge) const {
        const std::uint64_t key = key_of(parent, label, edge);
        edges_.prefetch(key);
        return key;
    }
    std::uint32_t child(std::uint64_t key) const { return edges_.find(key); }

    // The twigs with a path that ends at the place, or goes on from there in a tail.
    template <class Found>
    void for_given(std::uint32_t place, Found& found) const {
        if (places_[place].is_tail()) {
            found(places_[place].tail_twig);
        } else {
            for (const std::uint32_t twig : given_[place]) found(twig);
        }
    }

    // Call `found(twig, is_end)` for those that stand there as asked.
    template <class Found>
    void for_asked(std::uint32_t place, Found& found) const {
        const Place& here = places_[place];
        if (here.asked_here == 1) {
            found(here.asked_first, true);
        } else if (here.asked_here != 0) {
            for (const std::uint32_t twig : asked_[place]) found(twig, true);
        } else if (here.is_tail() && here.asking != 0) {
            found(here.tail_twig, false);
        }
    }

    const std::vector<Posting>& places_of(std::uint32_t label) const {
        static const std::vector<Posting> none;
        return label < postings_.size() ? postings_[label] : none;
    }

    const std::vector<HiddenPosting>& hidden_of(std::uint32_t label) const {
        static const std::vector<HiddenPosting> none;
        return label < hidden_.size() ? hidden_[label] : none;
    }

private:
    static std::uint64_t key_of(std::uint32_t parent, std::uint32_t label, std::uint8_t edge) {
        return (std::uint64_t{parent} << 32 | label) * 3 + edge;
    }
    static std::uint8_t edge_of(const GivenNode& node) { return node.exact ? EXACT : FAR; }

    static bool is_leaf(const std::vector<GivenNode>& nodes, std::uint32_t node) {
        return nodes[node].atom_count == 0 &&
               (node + 1 == nodes.size() || nodes[node + 1].parent != node);
    }

    // Call `use` with each child of a node; nodes come parents first, a branch at a time.
    template <class Use>
    static void for_children(const std::vector<GivenNode>& nodes, std::uint32_t node, Use use) {
        for (std::uint32_t below = node + 1; below < nodes.size() && nodes[below].parent >= node;
             ++below) {
            if (nodes[below].parent == node) use(below);
        }
    }

    void put(std::uint32_t id, std::uint32_t node, std::uint32_t parent) {
        const std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        std::uint32_t place = child(parent, nodes[node].label, edge_of(nodes[node]));
        if (place == NONE) {
            hang(id, node, link(parent, nodes[node].label, edge_of(nodes[node])));
            return;
        }
        if (places_[place].is_tail()) unfold(place);
        ++upkeep_[place].passing;
        put_below(id, node, place);
    }

    void put_below(std::uint32_t id, std::uint32_t node, std::uint32_t place) {
        const Twig& twig = twigs_[id].twig;
        if (is_leaf(twig.nodes, node)) given_[place].push_back(id);
        for_children(twig.nodes, node, [&](std::uint32_t below) { put(id, below, place); });
        for (std::uint32_t atom = 0; atom < twig.nodes[node].atom_count; ++atom) {
            const std::uint32_t label = twig.atoms[twig.nodes[node].atoms + atom];
            std::uint32_t below = child(place, label, ATOM);
            if (below == NONE) below = link(place, label, ATOM);
            ++upkeep_[below].passing;
            given_[below].push_back(id);
        }
    }

    void take(std::uint32_t id, std::uint32_t node, std::uint32_t parent) {
        const Twig& twig = twigs_[id].twig;
        const GivenNode& one = twig.nodes[node];
        const std::uint32_t place = child(parent, one.label, edge_of(one));
        if (places_[place].is_tail()) {
            for_children(twig.nodes, node, [&](std::uint32_t below) { unhide(id, below); });
            unlink(place);
            return;
        }
        if (is_leaf(twig.nodes, node)) take_out(given_[place], id);
        for_children(twig.nodes, node, [&](std::uint32_t below) { take(id, below, place); });
        for (std::uint32_t atom = 0; atom < one.atom_count; ++atom) {
            const std::uint32_t below = child(place, twig.atoms[one.atoms + atom], ATOM);
            take_out(given_[below], id);
            if (--upkeep_[below].passing == 0) unlink(below);
        }
        if (--upkeep_[place].passing == 0) unlink(place);
    }

    // Make a new place the tail of a twig from a node on.
    void hang(std::uint32_t id, std::uint32_t node, std::uint32_t place) {
        std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        upkeep_[place].passing = 1;
        places_[place].tail_twig = id;
        upkeep_[place].tail_node = node;
        nodes[node].place = place;
        const std::uint64_t lineage = upkeep_[place].lineage;
        for_children(nodes, node, [&](std::uint32_t below) { hide(id, below, lineage); });
    }

    // Give the node of a tail its place for itself; what is below it hangs there anew.
    void unfold(std::uint32_t place) {
        const std::uint32_t id = places_[place].tail_twig, node = upkeep_[place].tail_node;
        StoredTwig& stored = twigs_[id];
        places_[place].tail_twig = NONE;
        stored.twig.nodes[node].place = NONE;
        for_children(stored.twig.nodes, node, [&](std::uint32_t below) { unhide(id, below); });
        put_below(id, node, place);
        if (stored.key != place) return;
        stored.key = end_of(stored);
        for (std::uint32_t at = stored.key; at != place; at = links_[at].parent) ask(at, stored.twig);
        stand_as_asked(id);
    }

    void hide(std::uint32_t id, std::uint32_t node, std::uint64_t lineage) {
        std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        const std::uint32_t label = nodes[node].label;
        lineage |= Twig::bit_of(label);
        if (label >= hidden_.size()) hidden_.resize(label + 1);
        nodes[node].posting = static_cast<std::uint32_t>(hidden_[label].size());
        hidden_[label].push_back({lineage, id, node});
        for_children(nodes, node, [&](std::uint32_t below) { hide(id, below, lineage); });
    }

    void unhide(std::uint32_t id, std::uint32_t node) {
        std::vector<GivenNode>& nodes = twigs_[id].twig.nodes;
        std::vector<HiddenPosting>& same = hidden_[nodes[node].label];
        const std::uint32_t at = nodes[node].posting;
        same[at] = same.back();
        twigs_[same[at].twig].twig.nodes[same[at].node].posting = at;
        same.pop_back();
        for_children(nodes, node, [&](std::uint32_t below) { unhide(id, below); });
    }

    // Let the twig stand as asked at the end of its rarest path and, of several, of the longest.
    void choose_key(std::uint32_t id) {
        StoredTwig& stored = twigs_[id];
        const std::vector<GivenNode>& nodes = stored.twig.nodes;
        inner_.assign(nodes.size(), 0);
        std::uint64_t best = ~std::uint64_t{0};
        StoredTwig chosen;
        for (std::uint32_t node = static_cast<std::uint32_t>(nodes.size() - 1); node > 0; --node) {
            if (nodes[node].only_given) continue;
            inner_[nodes[node].parent] = 1;
            const std::uint32_t atoms = nodes[node].asked_atom_count;
            if (inner_[node] && atoms == 0) continue;
            for (std::uint32_t atom = 0; atom < std::max(atoms, 1u); ++atom) {
                stored.key_node = node;
                stored.key_atom = atoms == 0 ? NONE : atom;
                const std::uint32_t place = end_of(stored);
                const std::uint64_t cost = std::uint64_t{upkeep_[place].passing} << 16 |
                                           (0xFFFF - std::min<std::uint32_t>(depth_of(nodes, node), 0xFFFF));
                if (cost < best) {
                    best = cost;
                    chosen.key = place;
                    chosen.key_node = stored.key_node;
                    chosen.key_atom = stored.key_atom;
                }
            }
        }
        stored.key = chosen.key;
        stored.key_node = chosen.key_node;
        stored.key_atom = chosen.key_atom;
        stand_as_asked(id);
        for (std::uint32_t place = stored.key;; place = links_[place].parent) {
            ask(place, stored.twig);
            if (place == ROOT) break;
        }
    }

    // What is needed only shrinks while anybody asks, so it may say too little, never too much.
    void ask(std::uint32_t place, const Twig& twig) {
        Place& here = places_[place];
        here.needed = here.asking++ == 0 ? twig.asked_names : here.needed & twig.asked_names;
    }

    void stand_as_asked(std::uint32_t id) {
        Place& key = places_[twigs_[id].key];
        if (key.is_tail()) return;
        asked_[twigs_[id].key].push_back(id);
        if (++key.asked_here == 1) key.asked_first = id;
    }

    static std::uint32_t depth_of(const std::vector<GivenNode>& nodes, std::uint32_t node) {
        std::uint32_t depth = 0;
        for (; node != 0; node = nodes[node].parent) ++depth;
        return depth;
    }

    // The place of the node, or atom, where the key path of a twig ends; or the tail that hides it.
    std::uint32_t end_of(const StoredTwig& stored) const {
        const std::uint32_t place = place_of(stored.twig.nodes, stored.key_node);
        if (places_[place].is_tail() || stored.key_atom == NONE) return place;
        const GivenNode& node = stored.twig.nodes[stored.key_node];
        return child(place, stored.twig.atoms[node.atoms + stored.key_atom], ATOM);
    }

    std::uint32_t place_of(const std::vector<GivenNode>& nodes, std::uint32_t node) const {
        if (node == 0) return ROOT;
        const std::uint32_t above = place_of(nodes, nodes[node].parent);
        if (places_[above].is_tail()) return above;
        return child(above, nodes[node].label, edge_of(nodes[node]));
    }

    void grow() {
        places_.emplace_back();
        links_.emplace_back();
        upkeep_.emplace_back();
        given_.emplace_back();
        asked_.emplace_back();
    }

    std::uint32_t& head(std::uint32_t parent, std::uint32_t label, std::uint8_t edge) {
        if (edge != ATOM) return places_[parent].first_child;
        const Atom& atom = terms_.atom(label);
        return atom.is_text && atom.operation == EQUAL ? places_[parent].first_equal
                                                       : places_[parent].first_atom;
    }

    std::uint32_t link(std::uint32_t parent, std::uint32_t label, std::uint8_t edge) {
        std::uint32_t place;
        if (free_.empty()) {
            place = static_cast<std::uint32_t>(places_.size());
            grow();
        } else {
            place = free_.back();
            free_.pop_back();
        }
        std::uint32_t& first = head(parent, label, edge);
        Place& one = places_[place];
        one = Place{};
        one.label = label;
        one.edge = edge;
        links_[place] = {parent, label, edge};
        upkeep_[place] = Upkeep{};
        one.next = first;
        if (first != NONE) upkeep_[first].previous = place;
        first = place;
        if (edge != ATOM) {
            (edge == EXACT ? places_[parent].near_names : places_[parent].far_names) |=
                Twig::bit_of(label);
            upkeep_[place].lineage = upkeep_[parent].lineage | Twig::bit_of(label);
            if (label >= postings_.size()) postings_.resize(label + 1);
            upkeep_[place].posting = static_cast<std::uint32_t>(postings_[label].size());
            postings_[label].push_back({upkeep_[place].lineage, place});
        }
        edges_.add(key_of(parent, label, edge), place);
        return place;
    }

    void unlink(std::uint32_t place) {
        const Place one = places_[place];
        const std::uint32_t parent = links_[place].parent;
        const std::uint32_t previous = upkeep_[place].previous, posting = upkeep_[place].posting;
        if (one.next != NONE) upkeep_[one.next].previous = previous;
        if (previous != NONE) {
            places_[previous].next = one.next;
        } else {
            head(parent, one.label, one.edge) = one.next;
        }
        if (places_[parent].first_child == NONE) {
            places_[parent].near_names = places_[parent].far_names = 0;
        }
        if (one.edge != ATOM) {
            std::vector<Posting>& same = postings_[one.label];
            same[posting] = same.back();
            upkeep_[same[posting].place].posting = posting;
            same.pop_back();
        }
        edges_.remove(key_of(parent, one.label, one.edge));
        places_[place].tail_twig = NONE;
        given_[place] = {};
        asked_[place] = {};
        free_.push_back(place);
    }

    static void take_out(std::vector<std::uint32_t>& ids, std::uint32_t id) {
        for (std::size_t at = 0; at < ids.size(); ++at) {
            if (ids[at] == id) {
                ids[at] = ids.back();
                ids.pop_back();
                return;
            }
        }
    }

    const Terms& terms_;
    std::vector<StoredTwig>& twigs_;
    std::vector<Place> places_;
    std::vector<Link> links_;
    std::vector<Upkeep> upkeep_;
    std::vector<std::vector<std::uint32_t>> given_, asked_;
    std::vector<std::uint32_t> free_;
    std::vector<std::vector<Posting>> postings_;
    std::vector<std::vector<HiddenPosting>> hidden_;
    EdgeTable edges_;
    std::vector<std::uint8_t> inner_;
};

}  // namespace twigcast
