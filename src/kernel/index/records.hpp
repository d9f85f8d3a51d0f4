// The elements of an index's arrays, and the plans that new patterns come as.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace twigcast::index {

struct PatternEntry {
    std::uint32_t subscribers;  // the newest, or NONE
    std::uint32_t living;       // how many of them are there now
    std::uint32_t node;         // of the trie, for a pattern that is one path
    std::uint32_t compound;     // for any other
};

struct Compound {
    std::uint64_t text_begin, program_begin;  // in the texts
    std::uint32_t text_length, program_length;
    std::uint32_t pattern;
    std::uint32_t units_begin, units_count;
};

struct Extra {
    std::uint32_t probe;  // the one without predicate, or NONE
    std::uint32_t group;  // in the value index, or NONE
    std::uint32_t watch;  // a number, where branches part here, or NONE
};

struct Probe {
    std::uint64_t predicate_begin;  // in the texts
    std::uint32_t predicate_length;
    std::uint32_t node;
    std::uint32_t accept;    // a list of patterns that match with this probe
    std::uint32_t triggers;  // a list of units to look at when this probe holds
    std::uint32_t joined;    // some unit needs to know where it holds, not only whether
};

struct Trigger {
    std::uint32_t unit;
    std::uint32_t other;  // another probe of the unit, to be asked first; NONE for a lone one
    std::uint32_t next;
};

struct Unit {
    std::uint32_t pattern;
    std::uint32_t begin, count;  // of its branches
    std::uint32_t needs_check;   // only the pattern's program can decide
};

struct Branch {
    std::uint32_t node;     // of the trie
    std::uint32_t probe;    // NONE where branches part
    std::uint32_t above;    // the branch it hangs on, counted within the unit; NONE for the last
    std::uint32_t segment;  // from there, or NONE
};

// A stretch of the trie, from a node up to one above it.
struct Segment {
    std::uint32_t from, to;
    std::uint32_t length;  // in steps, if all are by `/`; else NONE
};

// A unit as `twigcast.matching.plan` gives it: branches, each before the one it hangs on.
struct BranchPlan {
    std::string path;
    std::string predicate;
    bool is_probe;
    std::uint32_t above;
};
struct UnitPlan {
    bool needs_check;
    std::vector<BranchPlan> branches;
};

}  // namespace twigcast::index
