// XSEARCH as Chand and Felber printed it: their factorization tree and both their searches.
//
// CoverIndex of the kernel is measured and tested against it.  A `//` is a node of its own, and
// labels are ordered name < `*` < `//`; an atom is a node without children, ordered by implication.
// With that order some coverings are missed (`/a/*` covers `/a//b`), but those reported hold.  Sets
// of patterns are sorted numbers.
#pragma once

#include <iterator>
#include <memory>

#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace lab {

using namespace twigcast::cover;

struct PublishedNode {
    enum Sort : uint8_t { NAME, DESCENDANT, COMPARISON };
    uint8_t sort = NAME;
    uint32_t label = ANY_ELEMENT;
    std::vector<std::unique_ptr<PublishedNode>> children;
    std::vector<uint32_t> patterns;  // sub(t), sorted; empty in a pattern to search with

    bool same(const PublishedNode& other) const {
        return sort == other.sort && label == other.label;
    }
};

class PublishedSearch {
public:
    using Set = std::vector<uint32_t>;

    explicit PublishedSearch(const Terms& terms) : terms_(terms) {}

    void add(uint32_t pattern, const Twig& twig) {
        const auto tree = tree_of(twig);
        insert(root_.patterns, pattern);
        for (const auto& child : tree->children) add(pattern, root_, *child);
    }

    void remove(uint32_t pattern) {
        erase(root_.patterns, pattern);
        remove(pattern, root_);
    }

    size_t trie_size() const { return nodes_; }

    Set covered(const Twig& twig) const {
        const auto tree = tree_of(twig);
        Set result;
        bool first = true;
        for (const auto& child : tree->children) {
            result = first ? search_covered(root_, *child)
                           : intersection(result, search_covered(root_, *child));
            first = false;
        }
        return result;
    }

    Set covering(const Twig& twig) const {
        const auto tree = tree_of(twig);
        Set not_covering;
        for (const auto& child : root_.children) {
            unite(not_covering, search_covering(*child, *tree));
        }
        Set result;
        std::set_difference(root_.patterns.begin(), root_.patterns.end(), not_covering.begin(),
                            not_covering.end(), std::back_inserter(result));
        return result;
    }

private:
    static std::unique_ptr<PublishedNode> tree_of(const Twig& twig) {
        auto root = std::make_unique<PublishedNode>();
        std::vector<PublishedNode*> at(twig.nodes.size());
        at[0] = root.get();
        for (size_t trie_node = 1; trie_node < twig.nodes.size(); ++trie_node) {
            const GivenNode& node = twig.nodes[trie_node];
            PublishedNode* parent = at[node.parent];
            if (!node.exact) parent = append(parent, PublishedNode::DESCENDANT, ANY_ELEMENT);
            at[trie_node] = append(parent, PublishedNode::NAME, node.label);
            for (uint32_t atom = 0; atom < node.asked_atom_count; ++atom) {
                append(at[trie_node], PublishedNode::COMPARISON, twig.atoms[node.atoms + atom]);
            }
        }
        return root;
    }

    static PublishedNode* append(PublishedNode* parent, uint8_t sort, uint32_t label) {
        parent->children.push_back(std::make_unique<PublishedNode>());
        parent->children.back()->sort = sort;
        parent->children.back()->label = label;
        return parent->children.back().get();
    }

    static bool contains(const Set& set, uint32_t one) {
        return std::binary_search(set.begin(), set.end(), one);
    }
    static void insert(Set& set, uint32_t one) {
        set.insert(std::lower_bound(set.begin(), set.end(), one), one);
    }
    static void erase(Set& set, uint32_t one) {
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
    void add(uint32_t pattern, PublishedNode& trie_node, const PublishedNode& node) {
        PublishedNode* chosen = nullptr;
        for (const auto& child : trie_node.children) {
            if (child->same(node) && !contains(child->patterns, pattern)) {
                chosen = child.get();
                break;
            }
        }
        if (chosen == nullptr) {
            chosen = append(&trie_node, node.sort, node.label);
            ++nodes_;
        }
        insert(chosen->patterns, pattern);
        for (const auto& child : node.children) add(pattern, *chosen, *child);
    }

    // Algorithm 2.
    void remove(uint32_t pattern, PublishedNode& trie_node) {
        for (size_t at = 0; at < trie_node.children.size();) {
            PublishedNode& child = *trie_node.children[at];
            if (contains(child.patterns, pattern)) {
                erase(child.patterns, pattern);
                remove(pattern, child);
                if (child.patterns.empty()) {
                    trie_node.children.erase(trie_node.children.begin() +
                                             static_cast<ptrdiff_t>(at));
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

    // Algorithm 3: the patterns with a path at `trie node` that the tree at `node` covers.
    Set search_covered(const PublishedNode& trie_node, const PublishedNode& node) const {
        Set result;
        if (trie_node.children.empty()) return result;
        if (node.sort != PublishedNode::DESCENDANT) {
            for (const auto& child : trie_node.children) {
                if (!precedes(*child, node)) continue;
                if (node.children.empty()) {
                    unite(result, child->patterns);
                } else {
                    unite(result, all_covered(*child, node));
                }
            }
            return result;
        }
        result = all_covered(trie_node, node);
        for (const auto& child : trie_node.children) unite(result, search_covered(*child, node));
        return result;
    }

    Set all_covered(const PublishedNode& trie_node, const PublishedNode& node) const {
        Set result;
        for (size_t at = 0; at < node.children.size(); ++at) {
            Set part = search_covered(trie_node, *node.children[at]);
            result = at == 0 ? std::move(part) : intersection(result, part);
            if (result.empty()) break;
        }
        return result;
    }

    // Algorithm 4 (with the negation in line 5): the patterns at `trie node` that do not cover.
    Set search_covering(const PublishedNode& trie_node, const PublishedNode& node) const {
        if (node.children.empty()) return trie_node.patterns;
        Set result;
        bool first = true;
        if (trie_node.sort != PublishedNode::DESCENDANT) {
            for (const auto& child : node.children) {
                if (!precedes(*child, trie_node)) continue;
                if (trie_node.children.empty()) return {};
                Set part;
                for (const auto& below : trie_node.children) {
                    unite(part, search_covering(*below, *child));
                }
                result = first ? std::move(part) : intersection(result, part);
                first = false;
                if (result.empty()) break;
            }
            return first ? trie_node.patterns : result;
        }
        for (const auto& below : trie_node.children) unite(result, search_covering(*below, node));
        for (const auto& child : node.children) {
            if (result.empty()) break;
            result = intersection(result, search_covering(trie_node, *child));
        }
        return result;
    }

    const Terms& terms_;
    PublishedNode root_;
    size_t nodes_ = 0;
};

}  // namespace lab
