// A twig in its two roles, as in twigs.py: given, every step a node; asked, bare `*` as lengths.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "_terms.hpp"

namespace twigcast {

struct GivenNode {
    std::uint32_t parent = 0;
    std::uint32_t label = ANY_ELEMENT;
    std::uint32_t atoms = 0;  // where its atoms begin in the twig's
    std::uint16_t atom_count = 0;
    std::uint16_t asked_atom_count = 0;  // the others follow from these
    bool exact = true;                   // a child of its parent, not any descendant
    bool only_given = false;             // not asked for: it follows from another condition
    bool others = false;                 // conditions that are not modelled here are asked, too
    // In a factorization tree only:
    std::uint32_t place = NONE;    // where the tail that begins at this node hangs
    std::uint32_t posting = NONE;  // where it stands among the hidden nodes of its label
};

struct AskedNode {
    std::uint32_t parent = 0;
    std::uint32_t label = ANY_ELEMENT;
    std::uint32_t atoms = 0;
    std::uint16_t atom_count = 0;
    std::uint16_t length = 0;
    bool exact = true;
    bool depth_only = false;  // a `*` at the end of a path
};

struct Twig {
    std::vector<GivenNode> nodes = std::vector<GivenNode>(1);  // the document node first, then parents
                                                               // before children, branch by branch
    std::vector<AskedNode> asked;
    std::vector<std::uint32_t> atoms;
    std::uint64_t given_names = 0;  // which labels there are, folded into 64 bits
    std::uint64_t asked_names = 0;  // those of them that only the same label fits
    bool others = false;  // a mapping is possible then, not certain

    // Put the twig together in its asked role, once all nodes are there.
    void finish(const Terms& terms) {
        struct Run {
            std::uint32_t base, length;
            bool exact, absorbed;
        };
        std::vector<Run> runs(nodes.size());
        std::vector<std::uint32_t> branches(nodes.size());
        for (std::size_t at = 1; at < nodes.size(); ++at) {
            if (!nodes[at].only_given) ++branches[nodes[at].parent];
        }
        asked.assign(1, AskedNode{});
        runs[0] = {0, 0, true, false};
        for (std::size_t at = 1; at < nodes.size(); ++at) {
            const GivenNode& node = nodes[at];
            given_names |= bit_of(node.label);
            others |= node.others;
            if (node.only_given) continue;
            const Run& above = runs[node.parent];
            Run run{above.base, 1, node.exact, false};
            if (above.absorbed) run = {above.base, above.length + 1, above.exact && node.exact, false};
            const bool is_bare =
                node.label == ANY_ELEMENT && node.asked_atom_count == 0 && !node.others;
            if (is_bare && branches[at] == 1) {
                run.absorbed = true;
                runs[at] = run;
                continue;
            }
            const bool depth_only = is_bare && branches[at] == 0;
            asked.push_back({run.base, node.label, node.atoms, node.asked_atom_count,
                             static_cast<std::uint16_t>(run.length), run.exact && !depth_only,
                             depth_only});
            if (terms.is_name(node.label)) asked_names |= bit_of(node.label);
            runs[at] = {static_cast<std::uint32_t>(asked.size() - 1), 0, true, false};
        }
        nodes.shrink_to_fit();
        asked.shrink_to_fit();
        atoms.shrink_to_fit();
    }

    static std::uint64_t bit_of(std::uint32_t label) { return std::uint64_t{1} << label % 64; }
};

inline bool accepts(const Terms& terms, const Twig& asking, const AskedNode& asked,
                    const Twig& giving, const GivenNode& given) {
    if (asked.label != given.label && !terms.accepts(asked.label, given.label)) return false;
    for (std::uint32_t want = 0; want < asked.atom_count; ++want) {
        bool found = false;
        for (std::uint32_t have = 0; have < given.atom_count && !found; ++have) {
            found = terms.implies(giving.atoms[given.atoms + have], asking.atoms[asked.atoms + want]);
        }
        if (!found) return false;
    }
    return true;
}

// Whether the asked twig maps into the given one; see homomorphism.py, which this repeats.
//
// Sets of given nodes are rows of bits, one row for each node asked for.
class Mapper {
public:
    bool maps(const Terms& terms, const Twig& asking, const Twig& giving) {
        const std::vector<AskedNode>& asked = asking.asked;
        const std::vector<GivenNode>& given = giving.nodes;
        words_ = (given.size() + 63) / 64;
        rows_.assign(asked.size() * words_, ~std::uint64_t{0});
        has_heights_ = false;
        above_.resize(words_);
        for (std::size_t place = asked.size() - 1; place > 0; --place) {
            const AskedNode& node = asked[place];
            std::fill(above_.begin(), above_.end(), 0);
            if (node.depth_only) {
                mark_heights(terms, given, node.length);
            } else {
                const std::uint64_t* row = &rows_[place * words_];
                for (std::uint32_t at = 1; at < given.size(); ++at) {
                    if (row[at / 64] >> at % 64 & 1 &&
                        accepts(terms, asking, node, giving, given[at])) {
                        mark_above(given, at, node);
                    }
                }
            }
            std::uint64_t* parent = &rows_[node.parent * words_];
            std::uint64_t any = 0;
            for (std::size_t word = 0; word < words_; ++word) any |= parent[word] &= above_[word];
            if (any == 0) return false;
        }
        return rows_[0] & 1;
    }

private:
    void set(std::uint32_t at) { above_[at / 64] |= std::uint64_t{1} << at % 64; }

    void mark_above(const std::vector<GivenNode>& given, std::uint32_t at, const AskedNode& edge) {
        for (std::uint32_t length = edge.length; length > 0; --length) {
            if (at == 0 || (edge.exact && !given[at].exact)) return;
            at = given[at].parent;
        }
        set(at);
        if (edge.exact) return;
        while (at != 0) {
            at = given[at].parent;
            set(at);
        }
    }

    void mark_heights(const Terms& terms, const std::vector<GivenNode>& given, std::uint32_t length) {
        if (!has_heights_) {
            heights_.assign(given.size(), 0);
            for (std::size_t at = given.size() - 1; at > 0; --at) {
                const std::uint32_t reach = terms.kind(given[at].label) == ELEMENT ? heights_[at] + 1 : 0;
                heights_[given[at].parent] = std::max(heights_[given[at].parent], reach);
            }
            has_heights_ = true;
        }
        for (std::uint32_t at = 0; at < given.size(); ++at) {
            if (heights_[at] >= length) set(at);
        }
    }

    std::size_t words_ = 0;
    bool has_heights_ = false;
    std::vector<std::uint64_t> rows_, above_;
    std::vector<std::uint32_t> heights_;
};

}  // namespace twigcast
