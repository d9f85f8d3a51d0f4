// Which twigs of a set cover a given one: a walk through the factorization tree.
//
// At each trie node the walk holds the set of given nodes that the trie node's path can lead to, as
// bits.  A trie node of `*` holds the set it set out from and how far it has come: only the next
// name, or an atom, says which nodes are meant, and a `*` at the end asks for depth alone.  So a
// run of `*` with a `//` anywhere in it is one edge "at least so long", which makes the walk exact
// on paths.
//
// Cost: the trie nodes whose path covers a path of the given twig, times its names.
#pragma once

#include "cover/path_trie.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

// Sets of nodes are one word; a twig with more nodes is compared with each twig of the set instead.
constexpr size_t MOST_NODES = 64;

class CoverWalk {
public:
    using Set = uint64_t;

    CoverWalk(const Terms& terms, const PathTrie& trie, const Twig& given)
        : terms_(terms), trie_(trie), given_(given), missing_(~given.given_names) {
        const size_t count = given.nodes.size();
        children_.assign(count, 0);
        below_.assign(count, 0);
        height_.assign(count, 0);
        depth_.assign(count, 0);
        elements_ = 1;
        for (uint32_t at = 1; at < count; ++at) {
            const GivenNode& node = given.nodes[at];
            depth_[at] = depth_[node.parent] + 1;
            if (depth_[at] >= deeper_.size()) deeper_.resize(depth_[at] + 1, 0);
            for (size_t level = 0; level <= depth_[at]; ++level) deeper_[level] |= bit(at);
            if (node.exact) children_[node.parent] |= bit(at);
            if (terms.kind(node.label) == Kind::element) elements_ |= bit(at);
            if (node.atom_count != 0) valued_ |= bit(at);
            terms.for_accepting(node.label, [&](uint32_t label) { name(label, bit(at)); });
        }
        for (size_t at = count - 1; at > 0; --at) {
            const GivenNode& node = given.nodes[at];
            below_[node.parent] |= below_[at] | bit(at);
            if (terms.kind(node.label) == Kind::element) {
                height_[node.parent] = std::max(height_[node.parent], height_[at] + 1);
            }
        }
    }

    // Call `report(twig, is_end)` for each twig whose asked path leads into the given one; where it
    // is not at its end, the path goes on in a tail.
    template <class Report>
    void run(Report report) {
        // Level by level: when its turn is, an edge or a trie node has come into the cache.
        states_.push_back({0, PathTrie::ROOT, 0, 1, true});
        for (size_t at = 0; at < states_.size(); ++at) {
            State state = states_[at];
            if (state.trie_node != NONE) {
                visit(state, report);
            } else if ((state.trie_node = trie_.child(state.edge)) != NONE) {
                trie_.prefetch(state.trie_node);
                states_.push_back(state);
            }
        }
    }

private:
    struct Label {
        uint32_t label;
        uint64_t bit;
        Set nodes;
    };
    struct State {
        uint64_t edge;
        uint32_t trie_node;  // NONE while it is only known by which edge it is reached
        uint32_t length;     // steps of `*` since
        Set from;
        bool exact;
    };

    static Set bit(uint64_t at) { return Set{1} << at; }

    void name(uint32_t label, Set node) {
        if (label == ANY_ELEMENT) return;  // only `*` accepts it, which is no name
        for (Label& one : names_) {
            if (one.label == label) {
                one.nodes |= node;
                return;
            }
        }
        names_.push_back({label, Twig::bit_of(label), node});
    }

    Set reached(Set from, uint32_t length, bool exact) const {
        Set nodes = 0;
        if (!exact) {
            for (; from; from &= from - 1) {
                const int at = __builtin_ctzll(from);
                const size_t level = depth_[at] + length;
                if (level < deeper_.size()) nodes |= below_[at] & deeper_[level];
            }
            return nodes;
        }
        for (; length > 0 && from; --length) {
            nodes = 0;
            for (; from; from &= from - 1) nodes |= children_[__builtin_ctzll(from)];
            from = nodes;
        }
        return from;
    }

    bool reaches_down(Set from, uint32_t length) const {
        for (; from; from &= from - 1) {
            if (height_[__builtin_ctzll(from)] >= length) return true;
        }
        return false;
    }

    template <class Report>
    void visit(const State& state, Report& report) {
        const uint32_t trie_node = state.trie_node;
        const TrieNode& here = trie_.at(trie_node);
        if (here.asking == 0 || here.needed & missing_) return;
        trie_.for_asked(trie_node, report);
        if (valued_ && (here.first_atom != NONE || here.first_equal != NONE)) {
            visit_atoms(trie_node, state, report);
        }
        if (here.first_child == NONE) return;
        const uint32_t length = state.length + 1;
        const Set far = reached(state.from, length, false);
        if (!far) return;
        // Behind a `//` earlier in the run, a child edge asks for depth like any other.
        const Set near = state.exact ? reached(state.from, length, true) : far;
        for (const Label& name : names_) {
            if (name.nodes & near && here.near_names & name.bit) {
                go_on(trie_node, name.label, EXACT, {0, NONE, 0, name.nodes & near, true});
            }
            if (name.nodes & far && here.far_names & name.bit) {
                go_on(trie_node, name.label, FAR, {0, NONE, 0, name.nodes & far, true});
            }
        }
        const uint64_t star = Twig::bit_of(ANY_ELEMENT);
        if (!((here.near_names | here.far_names) & star) || !reaches_down(state.from, length))
            return;
        if (here.near_names & star) {
            go_on(trie_node, ANY_ELEMENT, EXACT, {0, NONE, length, state.from, state.exact});
        }
        if (here.far_names & star) {
            go_on(trie_node, ANY_ELEMENT, FAR, {0, NONE, length, state.from, false});
        }
    }

    void go_on(uint32_t trie_node, uint32_t label, uint8_t edge, State state) {
        state.edge = trie_.start_to_child(trie_node, label, edge);
        states_.push_back(state);
    }

    template <class Report>
    void visit_atoms(uint32_t trie_node, const State& state, Report& report) {
        Set nodes = state.length == 0 ? state.from
                                      : reached(state.from, state.length, state.exact) & elements_;
        std::vector<uint32_t> known;
        for (nodes &= valued_; nodes; nodes &= nodes - 1) {
            const GivenNode& node = given_.nodes[__builtin_ctzll(nodes)];
            for (uint32_t atom = 0; atom < node.atom_count; ++atom) {
                known.push_back(given_.atoms[node.atoms + atom]);
            }
        }
        // Only the same `= "text"` implies it; all else is tried.
        std::vector<uint32_t> seen;
        for (const uint32_t atom : known) {
            const uint32_t child = trie_.child(trie_node, atom, ATOM);
            const Atom& one = terms_.atom(atom);
            if (child == NONE || one.comparison != Comparison::equal_text) continue;
            if (std::find(seen.begin(), seen.end(), child) != seen.end()) continue;
            seen.push_back(child);
            trie_.for_asked(child, report);
        }
        if (known.empty()) return;
        for (uint32_t child = trie_.at(trie_node).first_atom; child != NONE;
             child = trie_.at(child).next) {
            for (const uint32_t atom : known) {
                if (terms_.implies(atom, trie_.at(child).label)) {
                    trie_.for_asked(child, report);
                    break;
                }
            }
        }
    }

    const Terms& terms_;
    const PathTrie& trie_;
    const Twig& given_;
    std::vector<Label> names_;
    std::vector<State> states_;
    std::vector<Set> children_, below_, deeper_;
    std::vector<uint32_t> height_, depth_;
    Set elements_ = 0, valued_ = 0;
    uint64_t missing_;  // names that no given node has, folded
};

}  // namespace twigcast::cover
