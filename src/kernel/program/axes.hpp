// The axes of XPath over the arrays of a document.
//
//     walk     the nodes on an axis from one node, in its order, until somebody has seen
//              enough
//     reach    the nodes on an axis from any of many, in document order and each once
//
// `reach` costs at most the nodes of the document, whatever the axis and however many nodes it
// starts from: overlapping axes are merged before they are walked.
//
//     descendant          nodes below one that was searched are left out
//     following           begins where the first subtree of all ends
//     preceding           ends where the last node begins; what ends before that is in it
//     ..-sibling          of the children of one element, the first (or last) suffices
//     ancestor            ends at one that is known
//
// From an attribute, libxml2 takes what follows its element; XPath 2.0, what follows the attribute,
// its element's children included.  The rules of the evaluation decide.
#pragma once

#include "program/child_index.hpp"
#include "program/label_test.hpp"
#include "program/namespace_nodes.hpp"
#include "program/node_set.hpp"

namespace twigcast::program {

using namespace base;
using namespace xml;

class Axes {
public:
    Axes(const Document& document, Work& work, bool is_version_2)
        : spaces(document, is_version_2),
          nodes_(document.nodes.data()),
          count_(count_of(document.nodes)),
          is_version_2_(is_version_2),
          work_(work),
          children_(nodes_, work) {}

    NamespaceNodes spaces;

    Kind kind(uint32_t node) const {
        return spaces.has(node) ? Kind::space : kind_of(nodes_[node].label);
    }
    uint32_t parent(uint32_t node) const {
        return spaces.has(node) ? spaces.element_of(node) : nodes_[node].parent;
    }
    uint32_t end(uint32_t node) const { return spaces.has(node) ? node : nodes_[node].end; }

    bool is_before(uint32_t one, uint32_t two) const {
        return spaces.empty() ? one < two : spaces.order_of(one) < spaces.order_of(two);
    }
    void sort(NodeSet& nodes) const {
        const auto before = [this](uint32_t one, uint32_t two) { return is_before(one, two); };
        if (!std::is_sorted(nodes.begin(), nodes.end(), before)) {
            std::sort(nodes.begin(), nodes.end(), before);
        }
        nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
    }

    bool accepts(const NodeTest& asked, const LabelTest& test, uint32_t node) const {
        if (!spaces.has(node)) return test.accepts(nodes_[node].label);
        if (asked.kind == Kind::any) return true;
        return asked.kind == Kind::space &&
               (asked.any_local || asked.local == spaces.prefix_of(node));
    }

    // `visit` says whether it has seen enough, and so does this.
    template <class Visit>
    bool walk(Axis axis, uint32_t node, Visit visit) {
        switch (axis) {
            case Axis::child: return walk_siblings(first_child(node), end(node), visit);
            case Axis::attribute: return walk_attributes(node, visit);
            case Axis::descendant: return walk_range(node + 1, end(node), visit);
            case Axis::descendant_or_self:
                return visit_one(node, visit) || walk_range(node + 1, end(node), visit);
            case Axis::self: return visit_one(node, visit);
            case Axis::parent: return parent(node) != NONE && visit_one(parent(node), visit);
            case Axis::ancestor: return walk_up(parent(node), visit);
            case Axis::ancestor_or_self: return walk_up(node, visit);
            case Axis::following_sibling:
                if (!has_siblings(node)) return false;
                return walk_siblings(nodes_[node].end, nodes_[nodes_[node].parent].end, visit);
            case Axis::preceding_sibling: return walk_preceding_siblings(node, visit);
            case Axis::following: return walk_range(follower(node), count_, visit);
            case Axis::preceding: return walk_preceding(node, visit);
            case Axis::namespace_: return walk_spaces(node, visit);
        }
        return false;
    }

    // The children of one label, in document order, until somebody has seen enough.
    template <class Visit>
    bool walk_children(uint32_t node, uint32_t label, Visit visit) {
        if (spaces.has(node)) return false;
        const std::vector<ChildIndex::Entry>* const known = children_.find(node);
        if (known == nullptr) {
            return walk(Axis::child, node, [&](uint32_t child) {
                return nodes_[child].label == label && visit(child);
            });
        }
        auto at = std::lower_bound(known->begin(), known->end(), ChildIndex::Entry(label, 0));
        for (; at != known->end() && at->first == label; ++at) {
            if (visit_one(at->second, visit)) return true;
        }
        return false;
    }

    // The nodes from which an axis leads to all that it leads to from any of `from`, in document
    // order, and with as little overlap as the essay above says.
    void thin_out(Axis axis, NodeSet& from) {
        switch (axis) {
            case Axis::descendant:
            case Axis::descendant_or_self: {
                uint32_t done = 0;
                keep_where(from, [&](uint32_t node) {
                    if (spaces.has(node)) return axis == Axis::descendant_or_self;
                    const bool is_attribute = kind_of(nodes_[node].label) == Kind::attribute;
                    if (is_attribute) return axis == Axis::descendant_or_self;
                    if (node < done) return false;
                    done = nodes_[node].end;
                    return true;
                });
                return;
            }
            case Axis::following: {
                const auto earlier = [this](uint32_t one, uint32_t two) {
                    return follower(one) < follower(two);
                };
                const auto first = std::min_element(from.begin(), from.end(), earlier);
                if (first != from.end()) from = {*first};
                return;
            }
            case Axis::preceding:
                if (!from.empty()) from = {from.back()};
                return;
            case Axis::following_sibling: {
                keep_where(from, [&](uint32_t node) { return has_siblings(node); });
                return keep_first_of_each_parent(from);
            }
            case Axis::preceding_sibling: {
                keep_where(from, [&](uint32_t node) { return has_siblings(node); });
                std::reverse(from.begin(), from.end());
                return keep_first_of_each_parent(from);
            }
            case Axis::child:
            case Axis::attribute:
            case Axis::self:
            case Axis::parent:
            case Axis::ancestor:
            case Axis::ancestor_or_self:
            case Axis::namespace_: return;
        }
    }

    // All nodes that pass on the axis from any of `from`, which is used up; in document order, each
    // once.
    template <class Accepts>
    void reach(Axis axis, NodeSet& from, NodeSet& reached, Accepts accepts) {
        reached.clear();
        if (axis == Axis::ancestor || axis == Axis::ancestor_or_self) {
            reach_up(axis, from, reached);
            keep_where(reached, accepts);
        } else {
            thin_out(axis, from);
            for (const uint32_t node : from) {
                walk(axis, node, [&](uint32_t one) {
                    if (accepts(one)) reached.push_back(one);
                    return false;
                });
            }
        }
        sort(reached);
    }

    template <class Holds>
    static void keep_where(NodeSet& nodes, Holds holds) {
        size_t kept = 0;
        for (const uint32_t node : nodes) {
            if (holds(node)) nodes[kept++] = node;
        }
        nodes.resize(kept);
    }

    uint32_t first_child(uint32_t node) const {
        uint32_t at = node + 1;
        const uint32_t last = end(node);
        while (at < last && kind_of(nodes_[at].label) == Kind::attribute) ++at;
        return at;
    }

private:
    bool has_siblings(uint32_t node) const {
        return !spaces.has(node) && node != 0 && kind_of(nodes_[node].label) != Kind::attribute;
    }

    // The first node that follows.
    uint32_t follower(uint32_t node) const {
        if (spaces.has(node)) {
            const uint32_t element = spaces.element_of(node);
            return is_version_2_ ? element + 1 : nodes_[element].end;
        }
        if (kind_of(nodes_[node].label) == Kind::attribute && !is_version_2_) {
            return nodes_[nodes_[node].parent].end;
        }
        return nodes_[node].end;
    }

    template <class Visit>
    bool visit_one(uint32_t node, Visit& visit) {
        work_.spend(1);
        return visit(node);
    }

    template <class Visit>
    bool walk_siblings(uint32_t at, uint32_t last, Visit& visit) {
        for (; at < last; at = nodes_[at].end) {
            if (visit_one(at, visit)) return true;
        }
        return false;
    }

    template <class Visit>
    bool walk_attributes(uint32_t node, Visit& visit) {
        const uint32_t last = end(node);
        for (uint32_t at = node + 1; at < last; ++at) {
            if (kind_of(nodes_[at].label) != Kind::attribute) break;
            if (visit_one(at, visit)) return true;
        }
        return false;
    }

    template <class Visit>
    bool walk_range(uint32_t at, uint32_t last, Visit& visit) {
        for (; at < last; ++at) {
            work_.spend(1);
            if (kind_of(nodes_[at].label) != Kind::attribute && visit(at)) return true;
        }
        return false;
    }

    template <class Visit>
    bool walk_up(uint32_t node, Visit& visit) {
        for (; node != NONE; node = parent(node)) {
            if (visit_one(node, visit)) return true;
        }
        return false;
    }

    template <class Visit>
    bool walk_preceding_siblings(uint32_t node, Visit& visit) {
        if (!has_siblings(node)) return false;
        // Backwards from child to child: what stands before a node is its elder sibling or in it.
        const uint32_t above = nodes_[node].parent, first = first_child(above);
        while (node > first) {
            uint32_t elder = node - 1;
            while (nodes_[elder].parent != above) elder = nodes_[elder].parent;
            if (visit_one(elder, visit)) return true;
            node = elder;
        }
        return false;
    }

    template <class Visit>
    bool walk_preceding(uint32_t node, Visit& visit) {
        if (spaces.has(node) || kind_of(nodes_[node].label) == Kind::attribute) node = parent(node);
        for (uint32_t at = node; at-- > 1;) {
            work_.spend(1);
            const bool is_above = nodes_[at].end > node;
            if (is_above || kind_of(nodes_[at].label) == Kind::attribute) continue;
            if (visit(at)) return true;
        }
        return false;
    }

    template <class Visit>
    bool walk_spaces(uint32_t node, Visit& visit) {
        if (kind(node) != Kind::element) return false;
        const auto [first, count] = spaces.of(node, work_);
        for (uint32_t at = 0; at < count; ++at) {
            if (visit_one(first + at, visit)) return true;
        }
        return false;
    }

    void keep_first_of_each_parent(NodeSet& from) {
        if (from.size() < 2) return;
        marks_.resize(count_);
        NodeSet marked;
        keep_where(from, [&](uint32_t node) {
            const uint32_t above = nodes_[node].parent;
            if (marks_[above] != 0) return false;
            marks_[above] = 1;
            marked.push_back(above);
            return true;
        });
        for (const uint32_t node : marked) marks_[node] = 0;
    }

    void reach_up(Axis axis, const NodeSet& from, NodeSet& reached) {
        marks_.resize(count_);
        for (const uint32_t start : from) {
            uint32_t node = axis == Axis::ancestor ? parent(start) : start;
            if (node != NONE && spaces.has(node)) {
                reached.push_back(node);
                node = parent(node);
            }
            for (; node != NONE && marks_[node] == 0; node = nodes_[node].parent) {
                work_.spend(1);
                marks_[node] = 1;
                reached.push_back(node);
            }
        }
        for (const uint32_t node : reached) {
            if (!spaces.has(node)) marks_[node] = 0;
        }
    }

    const Node* nodes_;
    const uint32_t count_;
    const bool is_version_2_;
    Work& work_;
    ChildIndex children_;
    std::vector<uint8_t> marks_;  // all zero between uses
};

}  // namespace twigcast::program
