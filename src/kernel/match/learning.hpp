// The label paths of a file, built before documents come; see `index/known_paths.hpp`.
#pragma once

#include "match/path_cache.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

// Builds the paths that an index knows, some at a time; the index may be updated in between.
class Learning {
public:
    // False when all are there, or when they take `most` bytes.  Between documents only.
    bool go_on(PathCache& paths, const Index& index, uint32_t some, size_t most) {
        const KnownPaths& known = index.known_paths;
        for (; some != 0 && learned_.size() <= known.count(); --some) {
            if (paths.byte_size() >= most) return false;
            const KnownPath& path = known[count_of(learned_) - 1];
            learned_.push_back(build(paths, learned_[path.parent], known.label(path.label)));
        }
        return learned_.size() <= known.count();
    }

    bool has_begun() const { return learned_.size() > 1; }

    // Tell an index of the paths that documents had.
    static void tell(const PathCache& paths, KnownPaths& known) {
        std::vector<KnownPath> met;
        for (uint32_t at = PathCache::ROOT + 1; at < paths.count(); ++at) {
            met.push_back({paths.origin(at).parent, paths.origin(at).label});
        }
        known.set(paths.labels.all(), met);
    }

private:
    static constexpr uint32_t DEEPEST = 64;  // since all paths above a path are opened for it

    uint32_t build(PathCache& paths, uint32_t parent, const TestSet& tests) {
        if (parent == NONE || paths.origin(parent).depth == DEEPEST) return NONE;
        above_.clear();
        for (uint32_t at = parent; at != NONE; at = paths.origin(at).parent) above_.push_back(at);
        for (auto at = above_.rbegin(); at != above_.rend(); ++at) {
            paths.refresh(*at);
            paths.open(*at);
        }
        const uint32_t label = paths.labels.intern(tests);
        const uint32_t met = paths.find(parent, label);
        const uint32_t path = met == NONE ? paths.add(parent, label) : met;
        paths.close_all();
        return path;
    }

    Lists learned_{PathCache::ROOT};  // by the numbers of the known paths; NONE if not built
    Lists above_;
};

}  // namespace twigcast::match
