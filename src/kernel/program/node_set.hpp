// Sets of nodes, and how they wait.
//
// A set that is worked on is a vector of numbers.  A set that only waits for the evaluation of
// something else is parked: as that vector where it is sparse, and as a bitmap where it is dense,
// whichever is smaller.  So a waiting set takes at most one bit for each node of the document;
// were it not so, fifty nested `not(.//a[…])` on a document full of `a` would take fifty times
// four bytes a node.
#pragma once

#include <iterator>
#include <utility>

#include "base/common.hpp"

namespace twigcast::program {

using NodeSet = std::vector<uint32_t>;  // in document order, each node once

inline NodeSet without(const NodeSet& nodes, const NodeSet& removed) {
    NodeSet left;
    left.reserve(nodes.size() - removed.size());
    std::set_difference(nodes.begin(), nodes.end(), removed.begin(), removed.end(),
                        std::back_inserter(left));
    return left;
}

class ParkedSet {
public:
    // `universe` is the number of nodes of the document.
    ParkedSet(NodeSet nodes, size_t universe) {
        if (nodes.size() * 32 <= universe || universe < SMALL) {
            sparse_ = std::move(nodes);
            return;
        }
        dense_.resize(universe / 64 + 1);
        for (const uint32_t node : nodes) dense_[node / 64] |= uint64_t{1} << node % 64;
        count_ = nodes.size();
    }

    NodeSet copy() const { return dense_.empty() ? sparse_ : unpack(); }

    // The set, which is parked no longer.
    NodeSet take() {
        if (dense_.empty()) return std::move(sparse_);
        NodeSet nodes = unpack();
        dense_ = {};
        return nodes;
    }

private:
    static constexpr size_t SMALL = 1024;  // not worth packing

    NodeSet unpack() const {
        NodeSet nodes;
        nodes.reserve(count_);
        for (size_t word = 0; word < dense_.size(); ++word) {
            for (uint64_t bits = dense_[word]; bits != 0; bits &= bits - 1) {
                nodes.push_back(static_cast<uint32_t>(word * 64 + __builtin_ctzll(bits)));
            }
        }
        return nodes;
    }

    NodeSet sparse_;
    std::vector<uint64_t> dense_;
    size_t count_ = 0;
};

}  // namespace twigcast::program
