// The namespace nodes of a document, made for the elements that somebody asks for theirs.
//
// A namespace node is a node of one element: its number is the number of nodes of the document and
// more, in the order in which they were made.  In document order it stands behind its element and
// before the attributes; `order_of` says where, for any node.  Where `xmlns=""` undeclares the
// default, libxml2 has a node for that too, and XPath 2.0 has none.
#pragma once

#include <unordered_map>
#include <utility>

#include "program/work.hpp"
#include "xml/document.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

class NamespaceNodes {
public:
    NamespaceNodes(const Document& document, bool is_version_2)
        : document_(document), first_(count_of(document.nodes)), is_version_2_(is_version_2) {}

    bool has(uint32_t node) const { return node >= first_; }
    bool empty() const { return made_.empty(); }
    uint32_t element_of(uint32_t node) const { return made_[node - first_].element; }
    std::string_view prefix_of(uint32_t node) const { return made_[node - first_].prefix; }
    std::string_view space_of(uint32_t node) const { return made_[node - first_].space; }

    uint64_t order_of(uint32_t node) const {
        if (!has(node)) return uint64_t{node} << 32;
        return (uint64_t{element_of(node)} << 32) + (node - first_) + 1;
    }

    // The first namespace node of an element, and how many it has: all that are in scope.
    std::pair<uint32_t, uint32_t> of(uint32_t element, Work& work) {
        const auto [entry, is_new] = by_element_.try_emplace(element, 0, 0);
        if (is_new) entry->second = make(element, work);
        return entry->second;
    }

private:
    struct Made {
        uint32_t element;
        std::string_view prefix, space;
    };

    std::pair<uint32_t, uint32_t> make(uint32_t element, Work& work) {
        const Qualifiers& qualifiers = document_.qualifiers;
        const size_t begin = made_.size();
        made_.push_back({element, "xml", XML_NAMESPACE});
        std::vector<std::string_view> seen{"xml"};
        for (uint32_t at = element; at != NONE && at != 0; at = document_.nodes[at].parent) {
            const auto [first, last] = declared(at);
            work.spend(1 + static_cast<uint64_t>(last - first) * (1 + seen.size() / 8));
            for (auto one = first; one != last; ++one) {
                const std::string_view prefix = qualifiers.prefix_of(*one);
                if (std::find(seen.begin(), seen.end(), prefix) != seen.end()) continue;
                seen.push_back(prefix);
                const std::string_view space = qualifiers.space_of(*one);
                const bool counts = !space.empty() || !is_version_2_;
                if (counts) made_.push_back({element, prefix, space});
            }
        }
        // libxml2 lists them from the last declared, behind that of XML.
        std::reverse(made_.begin() + static_cast<ptrdiff_t>(begin) + 1, made_.end());
        Work::bound_items(made_.size());
        return {first_ + static_cast<uint32_t>(begin), static_cast<uint32_t>(made_.size() - begin)};
    }

    using Place = std::vector<Declaration>::const_iterator;
    std::pair<Place, Place> declared(uint32_t element) const {
        const std::vector<Declaration>& all = document_.qualifiers.declarations;
        const auto less = [](const Declaration& one, uint32_t node) { return one.element < node; };
        const Place first = std::lower_bound(all.begin(), all.end(), element, less);
        return {first, std::lower_bound(first, all.end(), element + 1, less)};
    }

    const Document& document_;
    const uint32_t first_;
    const bool is_version_2_;
    std::vector<Made> made_;
    std::unordered_map<uint32_t, std::pair<uint32_t, uint32_t>> by_element_;
};

}  // namespace twigcast::program
