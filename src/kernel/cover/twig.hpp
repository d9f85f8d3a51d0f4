// A twig in its two roles, as in twigs.py: given, every step a node; asked, bare `*` as lengths.
#pragma once

#include "cover/terms.hpp"

namespace twigcast::cover {

using namespace base;

struct GivenNode {
    uint32_t parent = 0;
    uint32_t label = ANY_ELEMENT;
    uint32_t atoms = 0;  // where its atoms begin in the twig's
    uint16_t atom_count = 0;
    uint16_t asked_atom_count = 0;  // the others follow from these
    uint16_t other_count = 0;       // conditions of Implications, behind the atoms
    uint16_t asked_other_count = 0;
    bool exact = true;         // a child of its parent, not any descendant
    bool only_given = false;   // not asked for: it follows from another condition
    bool is_choosing = false;  // a disjunction is asked, too, which is not modelled here
    // In a factorization tree only:
    uint32_t trie_node = NONE;  // where the tail that begins at this node hangs
    uint32_t posting = NONE;    // where it stands among the hidden nodes of its label

    uint32_t others() const { return atoms + atom_count; }
    bool is_bare() const { return label == ANY_ELEMENT && atom_count == 0 && other_count == 0; }
};

struct AskedNode {
    uint32_t parent = 0;
    uint32_t label = ANY_ELEMENT;
    uint32_t atoms = 0;
    uint32_t others = 0;
    uint16_t atom_count = 0;
    uint16_t other_count = 0;
    uint16_t length = 0;
    bool exact = true;
    bool depth_only = false;  // a `*` at the end of a path
    bool is_fork = false;     // a bare `*` with several branches
};

struct Twig {
    // The document node first, then parents before children, branch by branch.
    std::vector<GivenNode> nodes = std::vector<GivenNode>(1);
    std::vector<AskedNode> asked;
    std::vector<uint32_t> atoms;
    uint64_t given_names = 0;  // which labels there are, folded into 64 bits
    uint64_t asked_names = 0;  // those of them that only the same label fits
    bool has_choice = false;   // a disjunction was left in it, which is not modelled here
    bool has_others = false;
    bool asks_others = false;
    bool has_forks = false;
    bool has_gaps = false;  // a `//` below an element

    // Put the twig together in its asked role, once all nodes are there.
    void finish(const Terms& terms) {
        struct Run {
            uint32_t base, length;
            bool exact, absorbed;
        };
        std::vector<Run> runs(nodes.size());
        std::vector<uint32_t> branches(nodes.size());
        for (size_t at = 1; at < nodes.size(); ++at) {
            if (!nodes[at].only_given) ++branches[nodes[at].parent];
        }
        asked.assign(1, AskedNode{});
        asked[0].others = nodes[0].others();
        asked[0].other_count = nodes[0].asked_other_count;
        asks_others = asked[0].other_count != 0;
        has_others = nodes[0].other_count != 0;
        runs[0] = {0, 0, true, false};
        for (size_t at = 1; at < nodes.size(); ++at) {
            const GivenNode& node = nodes[at];
            given_names |= bit_of(node.label);
            has_gaps |= !node.exact && node.parent != 0;
            has_others |= node.other_count != 0;
            if (node.only_given) continue;
            asks_others |= node.asked_other_count != 0;
            const Run& above = runs[node.parent];
            Run run{above.base, 1, node.exact, false};
            if (above.absorbed)
                run = {above.base, above.length + 1, above.exact && node.exact, false};
            const bool is_bare = node.label == ANY_ELEMENT && node.asked_atom_count == 0 &&
                                 node.asked_other_count == 0 && !node.is_choosing;
            // There is one root, so its branches are those of the document node.
            const bool is_root = node.parent == 0 && node.exact;
            if (is_bare && (branches[at] == 1 || (branches[at] > 1 && is_root))) {
                run.absorbed = true;
                runs[at] = run;
                continue;
            }
            const bool depth_only = is_bare && branches[at] == 0;
            const bool is_fork = is_bare && !depth_only;
            has_forks |= is_fork;
            asked.push_back({run.base, node.label, node.atoms, node.others(), node.asked_atom_count,
                             node.asked_other_count, static_cast<uint16_t>(run.length),
                             run.exact && !depth_only, depth_only, is_fork});
            if (terms.is_name(node.label)) asked_names |= bit_of(node.label);
            runs[at] = {count_of(asked) - 1, 0, true, false};
        }
        nodes.shrink_to_fit();
        asked.shrink_to_fit();
        atoms.shrink_to_fit();
    }

    // A name within a disjunction that was left.
    void mention(uint32_t label) { given_names |= bit_of(label); }

    static uint64_t bit_of(uint32_t label) { return uint64_t{1} << label % 64; }
};

}  // namespace twigcast::cover
