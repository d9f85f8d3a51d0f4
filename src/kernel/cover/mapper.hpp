// Whether an asked twig maps into a given one: the homomorphism of `covering/homomorphism.py`.
#pragma once

#include "base/common.hpp"
#include "cover/accepting.hpp"
#include "cover/gap_mapper.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

// Whether the asked twig maps into the given one; see homomorphism.py, which this repeats.
//
// Sets of given nodes are rows of bits, one row for each node asked for.
class Mapper {
public:
    // To be called before a search.
    void forget() { gaps_.forget(); }

    bool maps(const Terms& terms, const Twig& asking, const Twig& giving) {
        return has_others(terms, asking, asking.asked[0], giving, 0) &&
               (maps_nodes(terms, asking, giving) ||
                (asking.has_forks && giving.has_gaps && gaps_.maps(terms, asking, giving)));
    }

private:
    bool maps_nodes(const Terms& terms, const Twig& asking, const Twig& giving) {
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
                    if (row[at / 64] >> at % 64 & 1 && accepts(terms, asking, node, giving, at)) {
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

    GapMapper gaps_;
    size_t words_ = 0;
    bool has_heights_ = false;
    std::vector<uint64_t> rows_, above_;
    std::vector<uint32_t> heights_;
};

}  // namespace twigcast::cover
