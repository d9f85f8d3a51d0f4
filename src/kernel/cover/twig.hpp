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
    bool exact = true;              // a child of its parent, not any descendant
    bool only_given = false;        // not asked for: it follows from another condition
    bool others = false;            // conditions that are not modelled here are asked, too
    // In a factorization tree only:
    uint32_t trie_node = NONE;  // where the tail that begins at this node hangs
    uint32_t posting = NONE;    // where it stands among the hidden nodes of its label
};

struct AskedNode {
    uint32_t parent = 0;
    uint32_t label = ANY_ELEMENT;
    uint32_t atoms = 0;
    uint16_t atom_count = 0;
    uint16_t length = 0;
    bool exact = true;
    bool depth_only = false;  // a `*` at the end of a path
};

struct Twig {
    // The document node first, then parents before children, branch by branch.
    std::vector<GivenNode> nodes = std::vector<GivenNode>(1);
    std::vector<AskedNode> asked;
    std::vector<uint32_t> atoms;
    uint64_t given_names = 0;  // which labels there are, folded into 64 bits
    uint64_t asked_names = 0;  // those of them that only the same label fits
    bool others = false;       // a mapping is possible then, not certain

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
        runs[0] = {0, 0, true, false};
        for (size_t at = 1; at < nodes.size(); ++at) {
            const GivenNode& node = nodes[at];
            given_names |= bit_of(node.label);
            others |= node.others;
            if (node.only_given) continue;
            const Run& above = runs[node.parent];
            Run run{above.base, 1, node.exact, false};
            if (above.absorbed)
                run = {above.base, above.length + 1, above.exact && node.exact, false};
            const bool is_bare =
                node.label == ANY_ELEMENT && node.asked_atom_count == 0 && !node.others;
            if (is_bare && branches[at] == 1) {
                run.absorbed = true;
                runs[at] = run;
                continue;
            }
            const bool depth_only = is_bare && branches[at] == 0;
            asked.push_back({run.base, node.label, node.atoms, node.asked_atom_count,
                             static_cast<uint16_t>(run.length), run.exact && !depth_only,
                             depth_only});
            if (terms.is_name(node.label)) asked_names |= bit_of(node.label);
            runs[at] = {count_of(asked) - 1, 0, true, false};
        }
        nodes.shrink_to_fit();
        asked.shrink_to_fit();
        atoms.shrink_to_fit();
    }

    static uint64_t bit_of(uint32_t label) { return uint64_t{1} << label % 64; }
};

}  // namespace twigcast::cover
