// The elements of an index's arrays, and the plans that new patterns come as.
#pragma once

#include "index/path_text.hpp"
#include "index/predicate.hpp"
#include "index/subscribers.hpp"

namespace twigcast::index {

struct PatternEntry : Audience {
    uint32_t node;      // of the trie, for a pattern that is one path
    uint32_t compound;  // for any other
};

struct Compound {
    uint64_t text_begin, program_begin;  // in the texts; a plain tree has no program but its text
    uint32_t text_length, program_length;
    uint32_t pattern;
    uint32_t units_begin, units_count;
};

struct Extra {
    uint32_t probe;   // the one without predicate, or NONE
    uint32_t group;   // in the value index, or NONE
    uint32_t watch;   // a number, where branches part here, or NONE
    uint32_t accept;  // a list of patterns of which this path is an alternative
};

struct Probe {
    uint64_t predicate_begin;  // in the texts
    uint32_t predicate_length;
    uint32_t node;
    uint32_t accept;    // a list of patterns that match with this probe
    uint32_t triggers;  // a list of units to look at when this probe holds
    uint32_t joined;    // some unit needs to know where it holds, not only whether
    uint32_t asked;     // some unit needs to know whether it holds

    // Whether nothing follows from it but patterns to accept.
    bool is_plain() const { return joined == 0 && asked == 0; }
};

struct Trigger {
    uint32_t unit;
    uint32_t other;  // another probe of the unit, to be asked first; NONE for a lone one
    uint32_t next;
};

// Of a unit, and as many denials.  A pattern of more is planned by one branch, and then checked.
constexpr uint32_t MOST_BRANCHES = 10'000;

struct Unit {
    uint32_t pattern;
    uint32_t begin, count;           // of its branches
    uint32_t needs_check;            // only the pattern's program can decide
    uint32_t denials, denial_count;  // probes: while none of them holds, nothing else is denied
};

struct Branch {
    uint32_t node;     // of the trie
    uint32_t probe;    // NONE where branches part
    uint32_t above;    // the branch it hangs on, counted within the unit; NONE for the document
    uint32_t segment;  // from there, or NONE
};

// A stretch of the trie, from a node up to one above it.
struct Segment {
    uint32_t from, to;
    uint32_t length;  // in steps, if all are by `/`; else NONE
};

// A unit as `twigcast.matching.plan` or `TreePlan` gives it: branches, each before the one it hangs
// on, and the probes that `not()` denies.
struct BranchPlan {
    std::string path;
    std::string predicate;
    bool is_probe;
    uint32_t above;
};
struct UnitPlan {
    bool needs_check;
    std::vector<BranchPlan> branches;
    std::vector<BranchPlan> denials;
};

// Whether a plan can be followed.
inline bool is_plan(const UnitPlan& plan) {
    const size_t count = plan.branches.size();
    for (size_t at = 0; at < count; ++at) {
        const BranchPlan& branch = plan.branches[at];
        const bool last = at + 1 == count;
        if (!is_path(branch.path) || !is_predicate(branch.predicate)) return false;
        if (branch.above != NONE && (last || branch.above <= at || branch.above >= count))
            return false;
    }
    return count != 0 && count <= MOST_BRANCHES && plan.denials.size() <= MOST_BRANCHES &&
           std::all_of(plan.denials.begin(), plan.denials.end(), [](const BranchPlan& denial) {
               return is_path(denial.path) && is_predicate(denial.predicate);
           });
}

}  // namespace twigcast::index
