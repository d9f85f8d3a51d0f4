// The children of elements that have many, by label.
//
// `../currency` asked at each of ten thousand lines would look at all lines each time.  An element
// that is asked for children of one name again and again gets a table of them, sorted by label and
// then in document order; what is asked a few times, or has few nodes below it, gets none.
//
// Cost: 8 bytes for each child of such an element.
#pragma once

#include <unordered_map>
#include <utility>

#include "program/work.hpp"
#include "xml/document.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

class ChildIndex {
public:
    using Entry = std::pair<uint32_t, uint32_t>;  // label and node

    ChildIndex(const Node* nodes, Work& work) : nodes_(nodes), work_(work) {}

    // The children of a node by label, if it has a table; null if its children are to be walked.
    const std::vector<Entry>* find(uint32_t node) {
        if (nodes_[node].end - node < FEW_NODES) return nullptr;
        Children& known = by_node_[node];
        if (++known.asked <= FEW_TIMES) return nullptr;
        if (known.entries.empty()) {
            const uint32_t end = nodes_[node].end;
            for (uint32_t at = node + 1; at < end; at = nodes_[at].end) {
                known.entries.emplace_back(nodes_[at].label, at);
            }
            work_.spend(known.entries.size());
            std::sort(known.entries.begin(), known.entries.end());
        }
        return &known.entries;
    }

private:
    static constexpr uint32_t FEW_NODES = 64, FEW_TIMES = 2;

    struct Children {
        uint32_t asked = 0;
        std::vector<Entry> entries;
    };

    const Node* nodes_;
    Work& work_;
    std::unordered_map<uint32_t, Children> by_node_;
};

}  // namespace twigcast::program
