// The mapping of twigs with forks, bare `*` with several branches: `between` of
// `covering/twigs.py`.
//
//     //a/*//b[c]      a ─/─► *        a ─≥1─► ? ─/─► ? ─/─► b ─/─► c
//
// A fork may be mapped to an element that the given twig does not spell out, since it lies in a
// gap, along a `//`.  Those right above the end of a gap are known to be there: as many as there
// are bare `*` before it and, below an element, one more.  They are put in, and since they make the
// tree a graph, the least distance from each node to each above it is kept in a table.
//
// Cost: the square of the nodes.  Few twigs have forks, and the others come first.
#pragma once

#include "cover/accepting.hpp"

namespace twigcast::cover {

using namespace base;

class GapMapper {
public:
    // Twigs may have changed; to be called before a search.
    void forget() { known_ = nullptr; }

    bool maps(const Terms& terms, const Twig& asking, const Twig& giving) {
        if (known_ != &giving) {
            spell_out(giving.nodes);
            measure_heights(terms, giving.nodes);
            known_ = &giving;
        }
        const std::vector<AskedNode>& asked = asking.asked;
        fitting_.assign(asked.size() * count_, 1);
        for (size_t number = asked.size() - 1; number > 0; --number) {
            const AskedNode& node = asked[number];
            above_.assign(count_, 0);
            for (uint32_t at = 0; at < count_; ++at) {
                if (node.depth_only) {
                    above_[at] = heights_[at] >= node.length;
                } else if (fitting_[number * count_ + at] &&
                           is_accepted(terms, asking, node, giving, at)) {
                    mark_above(at, node);
                }
            }
            uint8_t* parent = &fitting_[node.parent * count_];
            uint8_t any = 0;
            for (uint32_t at = 0; at < count_; ++at) any |= parent[at] &= above_[at];
            if (any == 0) return false;
        }
        return fitting_[0] != 0;
    }

private:
    struct Node {
        uint32_t given;   // NONE for an element in a gap
        uint32_t parent;  // by a child edge; NONE where it is not known
    };

    static uint32_t levels_above(const std::vector<GivenNode>& given, uint32_t at) {
        uint32_t levels = 0;
        for (; at != 0 && given[at].exact && given[at].is_bare(); at = given[at].parent) ++levels;
        return at == 0 ? levels : levels + 1;
    }

    void spell_out(const std::vector<GivenNode>& given) {
        count_ = count_of(given);
        for (uint32_t at = 1; at < given.size(); ++at) {
            if (!given[at].exact) count_ += levels_above(given, given[at].parent);
        }
        nodes_.clear();
        spelled_.resize(given.size());
        distances_.assign(size_t{count_} * count_, 0);
        for (uint32_t at = 0; at < given.size(); ++at) {
            if (at == 0) {
                put(at, NONE);
                continue;
            }
            const uint32_t parent = spelled_[given[at].parent];
            if (given[at].exact) {
                put(at, parent);
                measure_from(parent);
                continue;
            }
            const uint32_t levels = levels_above(given, given[at].parent);
            const uint32_t first = count_of(nodes_), own = first + levels;
            for (uint32_t level = levels; level > 0; --level) {
                put(NONE, level == levels ? NONE : count_of(nodes_) - 1);
            }
            put(at, levels == 0 ? NONE : own - 1);
            measure_from(parent);
            for (uint32_t element = first; element < own; ++element) {
                const uint32_t level = own - element;
                for (uint32_t above = 0; above < first; ++above) {
                    const uint32_t far = distance(own, above);
                    distance(element, above) = static_cast<uint16_t>(far > level ? far - level : 0);
                }
                for (uint32_t above = first; above < element; ++above) {
                    distance(element, above) = static_cast<uint16_t>(element - above);
                }
            }
            for (uint32_t above = first; above < own; ++above) {
                distance(own, above) = static_cast<uint16_t>(own - above);
            }
        }
    }

    void put(uint32_t given, uint32_t parent) {
        if (given != NONE) spelled_[given] = count_of(nodes_);
        nodes_.push_back({given, parent});
    }

    // The distances from the newest node to those above its parent.
    void measure_from(uint32_t parent) {
        const uint32_t own = count_of(nodes_) - 1;
        for (uint32_t above = 0; above <= parent; ++above) {
            const uint16_t far = distance(parent, above);
            if (far != 0) distance(own, above) = static_cast<uint16_t>(far + 1);
        }
        distance(own, parent) = 1;
    }

    void measure_heights(const Terms& terms, const std::vector<GivenNode>& given) {
        heights_.assign(count_, 0);
        for (uint32_t at = 1; at < count_; ++at) {
            const uint32_t one = nodes_[at].given;
            const bool is_element = one == NONE || terms.kind(given[one].label) == Kind::element;
            for (uint32_t above = 0; above < at; ++above) {
                const uint32_t far = distance(at, above);
                if (far == 0) continue;
                heights_[above] = std::max(heights_[above], is_element ? far : far - 1);
            }
        }
    }

    bool is_accepted(const Terms& terms, const Twig& asking, const AskedNode& node,
                     const Twig& giving, uint32_t at) const {
        if (at == 0) return false;
        const uint32_t one = nodes_[at].given;
        return one == NONE ? node.is_fork : accepts(terms, asking, node, giving, one);
    }

    void mark_above(uint32_t at, const AskedNode& edge) {
        if (edge.exact) {
            for (uint32_t length = edge.length; length > 0 && at != NONE; --length) {
                at = nodes_[at].parent;
            }
            if (at != NONE) above_[at] = 1;
            return;
        }
        for (uint32_t above = 0; above < at; ++above) {
            if (distance(at, above) >= edge.length) above_[above] = 1;
        }
    }

    uint16_t& distance(uint32_t at, uint32_t above) {
        return distances_[size_t{at} * count_ + above];
    }

    const Twig* known_ = nullptr;  // what is spelled out, so that a search does it once
    uint32_t count_ = 0;
    std::vector<Node> nodes_;
    std::vector<uint32_t> spelled_;    // where each given node is among them
    std::vector<uint16_t> distances_;  // levels at least from one up to another; 0 where unknown
    std::vector<uint32_t> heights_;
    std::vector<uint8_t> fitting_, above_;
};

}  // namespace twigcast::cover
