// XSEARCH as Chand and Felber printed it: their factorization tree and both their searches.
//
// Kept beside CoverIndex for measurement and tests.  A `//` is a node of its own, and labels are
// ordered name < `*` < `//`; an atom is a node without children, ordered by implication.  With that
// order some coverings are missed (`/a/*` covers `/a//b`), but those reported hold.  Sets of
// patterns are sorted numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include "_terms.hpp"
#include "_twig.hpp"

namespace twigcast {

struct PublishedNode {
    enum Sort : std::uint8_t { NAME, DESCENDANT, COMPARISON };
    std::uint8_t sort = NAME;
    std::uint32_t label = ANY_ELEMENT;
    std::vector<std::unique_ptr<PublishedNode>> children;
    std::vector<std::uint32_t> patterns;  // sub(t), sorted; empty in a pattern to search with

    bool same(const PublishedNode& other) const {
        return sort == other.sort && label == other.label;
    }
};

class PublishedSearch {
public:
    using Set = std::vector<std::uint32_t>;

    explicit PublishedSearch(const Terms& terms) : terms_(terms) {}

    void add(std::uint32_t pattern, const Twig& twig) {
        const auto tree = tree_of(twig);
        insert(root_.patterns, pattern);
        for (const auto& child : tree->children) add(pattern, root_, *child);
    }

    void remove(std::uint32_t pattern) {
        erase(root_.patterns, pattern);
        remove(pattern, root_);
    }

    std::size_t places() const { return nodes_; }

    Set covered(const Twig& twig) const {
        const auto tree = tree_of(twig);
        Set found;
        bool first = true;
        for (const auto& child : tree->children) {
            found = first ? search_covered(root_, *child)
                          : intersection(found, search_covered(root_, *child));
            first = false;
        }
        return found;
    }

    Set covering(const Twig& twig) const {
        const auto tree = tree_of(twig);
        Set not_covering;
        for (const auto& child : root_.children) {
            unite(not_covering, search_covering(*child, *tree));
        }
        Set found;
        std::set_difference(root_.patterns.begin(), root_.patterns.end(), not_covering.begin(),
                            not_covering.end(), std::back_inserter(found));
        return found;
    }

private:
    static std::unique_ptr<PublishedNode> tree_of(const Twig& twig) {
        auto root = std::make_unique<PublishedNode>();
        std::vector<PublishedNode*> at(twig.nodes.size());
        at[0] = root.get();
        for (std::size_t place = 1; place < twig.nodes.size(); ++place) {
            const GivenNode& node = twig.nodes[place];
            PublishedNode* parent = at[node.parent];
            if (!node.exact) parent = append(parent, PublishedNode::DESCENDANT, ANY_ELEMENT);
            at[place] = append(parent, PublishedNode::NAME, node.label);
            for (std::uint32_t atom = 0; atom < node.asked_atom_count; ++atom) {
                append(at[place], PublishedNode::COMPARISON, twig.atoms[node.atoms + atom]);
            }
        }
        return root;
    }

    static PublishedNode* append(PublishedNode* parent, std::uint8_t sort, std::uint32_t label) {
        parent->children.push_back(std::make_unique<PublishedNode>());
        parent->children.back()->sort = sort;
        parent->children.back()->label = label;
        return parent->children.back().get();
    }

    static bool contains(const Set& set, std::uint32_t one) {
        return std::binary_search(set.begin(), set.end(), one);
    }
    static void insert(Set& set, std::uint32_t one) {
        set.insert(std::lower_bound(set.begin(), set.end(), one), one);
    }
    static void erase(Set& set, std::uint32_t one) {
        set.erase(std::lower_bound(set.begin(), set.end(), one));
    }
    static void unite(Set& set, const Set& other) {
        if (other.empty()) return;
        Set merged;
        merged.reserve(set.size() + other.size());
        std::set_union(set.begin(), set.end(), other.begin(), other.end(),
                       std::back_inserter(merged));
        set.swap(merged);
    }
    static Set intersection(const Set& one, const Set& other) {
        Set both;
        std::set_intersection(one.begin(), one.end(), other.begin(), other.end(),
                              std::back_inserter(both));
        return both;
    }

    // Algorithm 1: the child with that label, unless another branch of the pattern has taken it.
    void add(std::uint32_t pattern, PublishedNode& place, const PublishedNode& node) {
        PublishedNode* chosen = nullptr;
        for (const auto& child : place.children) {
            if (child->same(node) && !contains(child->patterns, pattern)) {
                chosen = child.get();
                break;
            }
        }
        if (chosen == nullptr) {
            chosen = append(&place, node.sort, node.label);
            ++nodes_;
        }
        insert(chosen->patterns, pattern);
        for (const auto& child : node.children) add(pattern, *chosen, *child);
    }

    // Algorithm 2.
    void remove(std::uint32_t pattern, PublishedNode& place) {
        for (std::size_t at = 0; at < place.children.size();) {
            PublishedNode& child = *place.children[at];
            if (contains(child.patterns, pattern)) {
                erase(child.patterns, pattern);
                remove(pattern, child);
                if (child.patterns.empty()) {
                    place.children.erase(place.children.begin() + static_cast<std::ptrdiff_t>(at));
                    --nodes_;
                    continue;
                }
            }
            ++at;
        }
    }

    // label(x) ⪯ label(y)
    bool precedes(const PublishedNode& one, const PublishedNode& other) const {
        if (one.sort == PublishedNode::COMPARISON || other.sort == PublishedNode::COMPARISON) {
            return one.sort == other.sort && terms_.implies(one.label, other.label);
        }
        if (other.sort == PublishedNode::DESCENDANT) return true;
        return one.sort == PublishedNode::NAME && terms_.accepts(other.label, one.label);
    }

    // Algorithm 3: the patterns with a path at `place` that the tree at `node` covers.
    Set search_covered(const PublishedNode& place, const PublishedNode& node) const {
        Set found;
        if (place.children.empty()) return found;
        if (node.sort != PublishedNode::DESCENDANT) {
            for (const auto& child : place.children) {
                if (!precedes(*child, node)) continue;
                if (node.children.empty()) {
                    unite(found, child->patterns);
                } else {
                    unite(found, all_covered(*child, node));
                }
            }
            return found;
        }
        found = all_covered(place, node);
        for (const auto& child : place.children) unite(found, search_covered(*child, node));
        return found;
    }

    Set all_covered(const PublishedNode& place, const PublishedNode& node) const {
        Set found;
        for (std::size_t at = 0; at < node.children.size(); ++at) {
            Set part = search_covered(place, *node.children[at]);
            found = at == 0 ? std::move(part) : intersection(found, part);
            if (found.empty()) break;
        }
        return found;
    }

    // Algorithm 4 (with the negation in line 5): the patterns at `place` that do not cover.
    Set search_covering(const PublishedNode& place, const PublishedNode& node) const {
        if (node.children.empty()) return place.patterns;
        Set found;
        bool first = true;
        if (place.sort != PublishedNode::DESCENDANT) {
            for (const auto& child : node.children) {
                if (!precedes(*child, place)) continue;
                if (place.children.empty()) return {};
                Set part;
                for (const auto& below : place.children) {
                    unite(part, search_covering(*below, *child));
                }
                found = first ? std::move(part) : intersection(found, part);
                first = false;
                if (found.empty()) break;
            }
            return first ? place.patterns : found;
        }
        for (const auto& below : place.children) unite(found, search_covering(*below, node));
        for (const auto& child : node.children) {
            if (found.empty()) break;
            found = intersection(found, search_covering(place, *child));
        }
        return found;
    }

    const Terms& terms_;
    PublishedNode root_;
    std::size_t nodes_ = 0;
};

}  // namespace twigcast
