// The label paths that documents had before an index was saved: whoever opens the file builds them
// before the first document comes.
//
// A path is the one above it and a label; a label is the tests that a name passes, by their form.
// Path 0 is the root, which is not in the array: entry `at` is path `at + 1`.
#pragma once

#include <array>

#include "index/node_tests.hpp"

namespace twigcast::index {

using namespace base;

// The tests that a name passes, by their form; NONE where there is none of a form.
using TestSet = std::array<uint32_t, 4>;

struct KnownPath {
    uint32_t parent, label;
};

class KnownPaths {
public:
    uint32_t count() const { return paths_.count(); }
    const KnownPath& operator[](uint32_t at) const { return paths_[at]; }
    const TestSet& label(uint32_t number) const { return labels_[number]; }

    void set(const std::vector<TestSet>& labels, const std::vector<KnownPath>& paths) {
        labels_.copy(labels.data(), labels.size());
        paths_.copy(paths.data(), paths.size());
    }

    // Those of another index, whose tests have other numbers; some may be gone.
    void take(const KnownPaths& other, const Tests& from, const Tests& to,
              const HashSecret& secret) {
        for (uint32_t number = 0; number < other.labels_.count(); ++number) {
            TestSet label = other.labels_[number];
            for (uint32_t& test : label) {
                if (test == NONE || from[test].form == Form::any) continue;
                const uint32_t word = to.find_word(from.word_of(from[test]), secret);
                test = to.on_word(word, from[test].kind, from[test].form);
            }
            labels_.add(label);
        }
        paths_.copy(other.paths_.data(), other.paths_.size());
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(labels_);
        visit(paths_);
    }

    bool is_sound(const Tests& tests) const {
        for (uint32_t number = 0; number < labels_.count(); ++number) {
            for (const uint32_t test : labels_[number]) {
                if (test != NONE && test >= tests.count()) return false;
            }
        }
        for (uint32_t at = 0; at < paths_.count(); ++at) {
            if (paths_[at].parent > at || paths_[at].label >= labels_.size()) return false;
        }
        return true;
    }

private:
    FlatArray<TestSet> labels_;
    FlatArray<KnownPath> paths_;
};

}  // namespace twigcast::index
