// Whether the branches of a unit, each of which holds somewhere in the document, hold together:
// below the same elements.
//
// From the leaves upwards: the elements where a branch holds are lifted to those, further up, that
// stand at the branching point it hangs on, and a branching point keeps the elements that all its
// branches lift to.  By `/` there is one ancestor.  By `//`, which ancestors an element may be
// lifted to depends on its label path only, so that is computed once for each path and kept as a
// set of depths, in 64 bits; a document deeper than that is not joined here.
#pragma once

#include <iterator>

#include "match/hits.hpp"
#include "match/path_cache.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

class Join {
public:
    static constexpr uint32_t DEEPEST = 63;

    Join(PathCache& paths, const Hits& hits) : paths_(paths), hits_(hits) {}

    // Paths have been forgotten.
    void clear() {
        depths_ = {};
        depths_table_.clear();
    }
    size_t byte_size() const {
        return depths_.empty() ? 0 : depths_.size() * sizeof(uint64_t) + depths_table_.byte_size();
    }

    bool holds(const Index& index, const Unit& unit) {
        const Branch* const branches = index.branches(unit);
        if (sets_.size() < unit.count) sets_.resize(unit.count);
        for (uint32_t at = 0; at < unit.count; ++at) {
            sets_[at].elements.clear();
            sets_[at].started = false;
        }
        for (uint32_t at = 0; at < unit.count; ++at) {
            const Branch& branch = branches[at];
            std::vector<uint32_t>& elements = sets_[at].elements;
            if (branch.probe != NONE) gather(branch.probe, elements);
            if (elements.empty()) return false;
            if (branch.above == NONE) continue;  // below the document node all hold together
            lift(index, elements, branch.segment);
            Set& above = sets_[branch.above];
            if (above.started) {
                common_.clear();
                std::set_intersection(above.elements.begin(), above.elements.end(), lifted_.begin(),
                                      lifted_.end(), std::back_inserter(common_));
                above.elements.swap(common_);
            } else {
                above.elements.swap(lifted_);
                above.started = true;
            }
            if (above.elements.empty()) return false;
        }
        return true;
    }

private:
    struct Set {
        std::vector<uint32_t> elements;
        bool started = false;  // some branch has been lifted here
    };

    // All elements on which the probe holds.
    void gather(uint32_t probe, std::vector<uint32_t>& elements) const {
        for (uint32_t at = hits_.first_hit(probe); at != NONE; at = hits_.hit(at).next) {
            const Hit& hit = hits_.hit(at);
            if (hit.is_element()) {
                elements.push_back(hit.where());
            } else {
                uint32_t element = paths_[hit.where()].last_element;
                for (; element != NONE; element = hits_.elements[element].same_path) {
                    elements.push_back(element);
                }
            }
        }
    }

    // From elements at the lower end of a segment to those at its upper end, sorted, each once.
    void lift(const Index& index, const std::vector<uint32_t>& elements, uint32_t segment) {
        lifted_.clear();
        const Segment& run = index.segment(segment);
        if (run.length != NONE) {
            for (const uint32_t element : elements) {
                const uint32_t above = climb(element, run.length);
                if (above != NONE) lifted_.push_back(above);
            }
            return sort_lifted();
        }
        uint32_t known_path = NONE;
        uint64_t depths = 0;
        for (const uint32_t element : elements) {
            const uint32_t path = hits_.elements[element].path;
            if (path != known_path) depths = depths_of(index, path, segment, run);
            known_path = path;
            uint32_t above = element;
            for (uint64_t left = depths; left != 0 && above != NONE;
                 above = hits_.elements[above].parent) {
                const uint64_t bit = uint64_t{1} << hits_.elements[above].depth;
                if ((left & bit) != 0) lifted_.push_back(above);
                left &= bit - 1;
            }
        }
        sort_lifted();
    }

    // By `/` alone there is one ancestor at the upper end of the segment.  NONE where a
    // forged file has a probe hold on an element that does not lie as deep as its path.
    uint32_t climb(uint32_t element, uint32_t steps) const {
        for (; steps != 0 && element != NONE; --steps) element = hits_.elements[element].parent;
        return element;
    }

    void sort_lifted() {
        if (lifted_.size() < 2) return;
        std::sort(lifted_.begin(), lifted_.end());
        lifted_.erase(std::unique(lifted_.begin(), lifted_.end()), lifted_.end());
    }

    uint64_t depths_of(const Index& index, uint32_t path, uint32_t segment, const Segment& run) {
        const uint32_t known = depths_table_.find(pair_of(path, segment));
        if (known != NONE) return depths_[known];
        const uint64_t depths = find_depths(index, path, run.from, run.to);
        depths_table_.add(pair_of(path, segment), count_of(depths_));
        depths_.push_back(depths);
        return depths;
    }

    uint64_t find_depths(const Index& index, uint32_t path, uint32_t from, uint32_t to) {
        uint64_t depths = uint64_t{1} << paths_.origin(path).depth;
        for (uint32_t node = from; node != to; node = index.trie[node].parent) {
            if (index.trie.is_descendant(node)) {
                const int highest = 63 - __builtin_clzll(depths);
                depths = (uint64_t{1} << highest) - 1;
            } else {
                depths >>= 1;
            }
            depths = standing(index, path, depths & ~uint64_t{1}, index.trie[node].parent, to);
            if (depths == 0) return 0;
        }
        return depths;
    }

    // Those of the depths above a path where an element can stand at the trie node.
    uint64_t standing(const Index& index, uint32_t path, uint64_t depths, uint32_t node,
                      uint32_t top) {
        uint64_t kept = 0;
        for (uint32_t above = path; depths != 0 && above != NONE;
             above = paths_.origin(above).parent) {
            const uint64_t bit = uint64_t{1} << paths_.origin(above).depth;
            if ((depths & bit) == 0) continue;
            depths &= ~bit;
            const bool stands = node == top ? is_watched(index, above, node)
                                            : paths_.labels.passes(paths_.origin(above).label,
                                                                   index.trie[node].test);
            if (stands) kept |= bit;
        }
        return kept;
    }

    bool is_watched(const Index& index, uint32_t path, uint32_t node) const {
        const uint32_t watch = index.watch_at(node);
        const Span watches = paths_.list(paths_[path], PathCache::WATCHES);
        return std::find(watches.begin(), watches.end(), watch) != watches.end();
    }

    PathCache& paths_;
    const Hits& hits_;
    NumberTable depths_table_;  // from path and segment
    std::vector<uint64_t> depths_;
    std::vector<Set> sets_;
    std::vector<uint32_t> lifted_, common_;
};

}  // namespace twigcast::match
