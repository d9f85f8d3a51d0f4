// The destinations that label paths lead to.
//
//     path ──► accepted    of the patterns that the path accepts: found when the path is met
//         └──► beyond      of the patterns with a probe here: when all these are found, neither the
//                          probes nor the values of the path are looked at
//
// A path is computed when it is first met since a vector of the index has changed.  That costs the
// patterns, the probes and the groups of the path, once.
#pragma once

#include "match/path_cache.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

class PathDestinations {
public:
    explicit PathDestinations(PathCache& paths) : paths_(paths) {}

    void start(const Index& index) {
        index_ = &index;
        if (words_ == index.destinations.words()) return;
        clear();
        words_ = index.destinations.words();
    }

    // Paths have been forgotten, or are those of another index.
    void clear() {
        bits_ = {};
        versions_ = {};
    }
    size_t byte_size() const {
        return bits_.size() * sizeof(uint32_t) + versions_.size() * sizeof(uint64_t);
    }

    const uint32_t* accepted(uint32_t path) { return row(path); }
    const uint32_t* beyond(uint32_t path) { return row(path) + words_; }

private:
    uint32_t* row(uint32_t path) {
        if (versions_.size() <= path) {
            versions_.resize(paths_.count(), NEVER);
            bits_.resize(paths_.count() * words_ * 2);
        }
        uint32_t* const row = bits_.data() + size_t{path} * words_ * 2;
        if (versions_[path] != index_->destinations.version()) {
            versions_[path] = index_->destinations.version();
            compute(path, row);
        }
        return row;
    }

    void compute(uint32_t path, uint32_t* row) {
        const Destinations& all = index_->destinations;
        std::fill_n(row, words_ * 2, 0);
        for (const uint32_t pattern : paths_.list(paths_[path], PathCache::ACCEPTED)) {
            unite(row, all.of_pattern(pattern));
        }
        const auto unite_beyond = [&](uint32_t node) {
            unite(row + words_, all.of_extra(index_->trie[node].extra));
        };
        for (const uint32_t probe : paths_.list(paths_[path], PathCache::PROBES)) {
            unite_beyond(index_->probe(probe).node);
        }
        if (paths_[path].values == NONE) return;
        groups_.clear();
        paths_.effects.list_groups(paths_.effects.values(paths_[path].values), groups_);
        for (const uint32_t group : groups_) unite_beyond(index_->values.group(group).node);
    }

    void unite(uint32_t* row, const uint32_t* vector) const {
        for (uint32_t at = 0; at < words_; ++at) row[at] |= vector[at];
    }

    const Index* index_ = nullptr;
    PathCache& paths_;
    uint32_t words_ = 0;
    std::vector<uint32_t> bits_;      // two vectors a path
    std::vector<uint64_t> versions_;  // of the destinations that they are of
    Lists groups_;
};

}  // namespace twigcast::match
