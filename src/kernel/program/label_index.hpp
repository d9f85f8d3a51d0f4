// The nodes of a document by label, in document order: where `//name` leads from the document node
// or from a large element, without a walk over all that lies below.
//
//     ends_[label]     where the nodes of a label end in nodes_; they begin where those before end
//
// It serves all programs that are asked of the document, and is made when it has been asked for a
// few times: for one search, a walk is quicker.
//
// Cost: 4 bytes a node and 4 bytes a label; two passes over the nodes.
#pragma once

#include "xml/document.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

class LabelIndex {
public:
    explicit LabelIndex(const Document& document) : document_(document) {}

    // Whether a search is quicker than a walk.
    bool is_worth_asking() { return !ends_.empty() || ++asked_ > FEW_TIMES; }

    // The nodes of the label from one node up to, and without, another.
    std::pair<const uint32_t*, const uint32_t*> find(uint32_t label, uint32_t begin, uint32_t end) {
        if (ends_.empty()) build();
        if (label + size_t{1} >= ends_.size()) return {nullptr, nullptr};
        const uint32_t* const first = nodes_.data() + ends_[label];
        const uint32_t* const last = nodes_.data() + ends_[label + size_t{1}];
        const uint32_t* const from = std::lower_bound(first, last, begin);
        return {from, std::lower_bound(from, last, end)};
    }

private:
    void build() {
        uint32_t most = 0;
        for (const Node& node : document_.nodes) most = std::max(most, node.label);
        ends_.assign(most + size_t{2}, 0);
        for (const Node& node : document_.nodes) ++ends_[node.label + size_t{1}];
        for (size_t at = 1; at < ends_.size(); ++at) ends_[at] += ends_[at - 1];
        nodes_.resize(document_.nodes.size());
        std::vector<uint32_t> next(ends_.begin(), ends_.end() - 1);
        for (uint32_t at = 0; at < count_of(document_.nodes); ++at) {
            nodes_[next[document_.nodes[at].label]++] = at;
        }
    }

    static constexpr uint32_t FEW_TIMES = 2;

    const Document& document_;
    uint32_t asked_ = 0;
    std::vector<uint32_t> ends_, nodes_;
};

}  // namespace twigcast::program
