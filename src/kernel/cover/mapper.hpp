// Whether an asked twig maps into a given one: the homomorphism of `covering/homomorphism.py`.
#pragma once

#include "base/common.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

inline bool accepts(const Terms& terms, const Twig& asking, const AskedNode& asked,
                    const Twig& giving, const GivenNode& given) {
    if (asked.label != given.label && !terms.accepts(asked.label, given.label)) return false;
    for (uint32_t want = 0; want < asked.atom_count; ++want) {
        bool is_implied = false;
        for (uint32_t have = 0; have < given.atom_count && !is_implied; ++have) {
            is_implied =
                terms.implies(giving.atoms[given.atoms + have], asking.atoms[asked.atoms + want]);
        }
        if (!is_implied) return false;
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
        rows_.assign(asked.size() * words_, ~uint64_t{0});
        has_heights_ = false;
        above_.resize(words_);
        for (size_t number = asked.size() - 1; number > 0; --number) {
            const AskedNode& node = asked[number];
            std::fill(above_.begin(), above_.end(), 0);
            if (node.depth_only) {
                mark_heights(terms, given, node.length);
            } else {
                const uint64_t* row = &rows_[number * words_];
                for (uint32_t at = 1; at < given.size(); ++at) {
                    if (row[at / 64] >> at % 64 & 1 &&
                        accepts(terms, asking, node, giving, given[at])) {
                        mark_above(given, at, node);
                    }
                }
            }
            uint64_t* parent = &rows_[node.parent * words_];
            uint64_t any = 0;
            for (size_t word = 0; word < words_; ++word) any |= parent[word] &= above_[word];
            if (any == 0) return false;
        }
        return rows_[0] & 1;
    }

private:
    void set(uint32_t at) { above_[at / 64] |= uint64_t{1} << at % 64; }

    void mark_above(const std::vector<GivenNode>& given, uint32_t at, const AskedNode& edge) {
        for (uint32_t length = edge.length; length > 0; --length) {
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

    void mark_heights(const Terms& terms, const std::vector<GivenNode>& given, uint32_t length) {
        if (!has_heights_) {
            heights_.assign(given.size(), 0);
            for (size_t at = given.size() - 1; at > 0; --at) {
                const uint32_t reach =
                    terms.kind(given[at].label) == Kind::element ? heights_[at] + 1 : 0;
                heights_[given[at].parent] = std::max(heights_[given[at].parent], reach);
            }
            has_heights_ = true;
        }
        for (uint32_t at = 0; at < given.size(); ++at) {
            if (heights_[at] >= length) set(at);
        }
    }

    size_t words_ = 0;
    bool has_heights_ = false;
    std::vector<uint64_t> rows_, above_;
    std::vector<uint32_t> heights_;
};

}  // namespace twigcast::cover
