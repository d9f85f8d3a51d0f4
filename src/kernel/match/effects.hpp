// What follows when a probe holds, copied from all over the index to where a document meets it.
//
//     path ──► places: a predicate group each, and a summary of what it asks for
//                 │ only where the summary says perhaps
//                 └──► the copy of the group ──► probes ──► patterns and triggers
//
// The index keeps each fact once, wherever it was added; following them from a value to a pattern
// reads memory in a handful of spots that no cache holds.  Copies of the few facts that belong to a
// predicate group stand together, once for all paths that reach it: a path of a common name reaches
// hundreds of groups, and there are far more paths than groups.  The intervals of a group that has
// many predicates are copied only when it has been searched often enough since it changed.
#pragma once

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "match/triggers.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

// What follows from a probe, in the cache's lists: how many patterns and how many numbers of
// triggers, then the patterns, then the triggers.  Behind that of an equality stand the length and
// the bytes of its text, if that is all there is to ask; else the length is NONE.
struct CachedProbe {
    uint32_t probe;
    uint32_t effect;
    bool joined;  // it matters where it holds
    bool plain;   // nothing follows but patterns to accept
};
struct CachedEquality {
    uint64_t hash = 0;  // of the text
    CachedProbe probe{NONE, 0, false, false};
};
struct CachedInterval {
    double low, high, most;  // as in ValueIndex
    CachedProbe probe;
    bool complete;  // the range is all there is to ask
};

// A small group among those that want a value, and what the value must be like to pass any of it.
struct Place {
    uint32_t group;
    uint32_t hashes = 0;  // a bit for each hash of a text that is asked for
    // Around all intervals; the lower is the higher one where there are none.
    float low = std::numeric_limits<float>::infinity();
    float high = -std::numeric_limits<float>::infinity();

    static uint32_t bit_of(uint64_t hash) { return uint32_t{1} << (hash >> 59); }
    bool has(double number) const { return number >= low && number <= high; }
    void widen(const Place& other) {
        low = std::min(low, other.low);
        high = std::max(high, other.high);
    }
};

// The copy of a small group: a hash table of equalities, whose mask is NONE where there are none,
// and intervals, sorted by lower end.
struct SmallGroup {
    uint32_t equalities = 0, equality_mask = NONE;
    uint32_t intervals = 0, intervals_end = 0;
};

// The predicates that want the value of a path's nodes.
struct CachedValues {
    uint32_t places, places_end;
    uint32_t groups, groups_end;  // those of the value index that are too large to be copied
    uint32_t longest;             // text that an equality of the places asks for
    bool seeks;                   // some group asks for parts
    Place all;                    // around all intervals of the places
    uint64_t filter[4];           // a bit for each hash of a text that they ask for

    // Whether a text of that hash may be asked for.
    bool may_have(uint64_t hash) const {
        return (filter[hash >> 62] >> (hash >> 56 & 63) & 1) != 0;
    }
    void expect(uint64_t hash) { filter[hash >> 62] |= uint64_t{1} << (hash >> 56 & 63); }
};

// Ranges of a large group with one end, or rather their ends, sorted: the ranges that hold a number
// are the first ones.  What follows from them stands in the same order, in one piece.
struct Run {
    uint32_t ends = 0, count = 0;
    uint32_t patterns = 0;  // to accept; how many, behind each range, `lengths` says
    uint32_t lengths = 0;
    uint32_t probes = 0;  // where more follows
};

// The intervals of a large group.  Those with one end are runs: of ranges from the end upwards and
// downwards, from which patterns follow or more.
//
// The others are sorted by lower end.  Those that hold a number end right before the first that
// begins above it; how far back they may begin, `reaches` says: the highest upper end of an
// interval and all before it.  Mostly that is a step or two.  Where it is not, since a few reach
// very far, the search goes by `most` instead.
struct CopiedGroup {
    const Run* runs;  // null: not copied
    const CachedInterval* intervals;
    const double* lows;
    const double* reaches;
    size_t count;

    static constexpr size_t RUNS = 4;
    static bool is_upward(size_t run) { return run % 2 == 0; }
    static bool is_plain(size_t run) { return run < 2; }

    // How many begin at or below the number; the last of them is fetched ahead.
    size_t begin_below(double sought) const {
        const size_t below =
            static_cast<size_t>(std::upper_bound(lows, lows + count, sought) - lows);
        if (below != 0) {
            __builtin_prefetch(&intervals[below - 1]);
            __builtin_prefetch(&reaches[below - 1]);
        }
        return below;
    }

    // Visit the intervals that hold the number, given how many begin below it; some perhaps twice.
    template <class Visit>
    void search(double sought, size_t at, const Visit& visit) const {
        constexpr int MOST_MISSES = 32;
        int misses = 0;
        while (at-- > 0 && reaches[at] >= sought) {
            if (intervals[at].high >= sought) {
                visit(intervals[at]);
            } else if (++misses > MOST_MISSES) {
                search_intervals(intervals, 0, count, sought, [&](const CachedInterval& interval) {
                    visit(interval);
                    return true;
                });
                return;
            }
        }
    }
};

class Effects {
public:
    Triggers triggers;

    explicit Effects(Lists& lists) : lists_(lists) {}

    // All but the triggers.
    void clear() {
        values_ = {};
        places_ = {};
        equalities_ = {};
        intervals_ = {};
        lows_ = {};
        ends_ = {};
        probes_ = {};
        reaches_ = {};
        copies_ = {};
        large_copies_ = {};
    }

    const CachedValues& values(uint32_t number) const { return values_[number]; }
    const Place* place(uint32_t number) const { return places_.data() + number; }
    const SmallGroup& small(uint32_t group) const { return copies_[group].group; }
    const CachedEquality* equality(uint32_t number) const { return equalities_.data() + number; }
    const CachedInterval* interval(uint32_t number) const { return intervals_.data() + number; }

    // The groups of which `copy` made these, added to a list.
    void list_groups(const CachedValues& values, Lists& groups) const {
        groups.insert(groups.end(), lists_.begin() + values.groups,
                      lists_.begin() + values.groups_end);
        for (const Place* one = place(values.places); one < place(values.places_end); ++one) {
            groups.push_back(one->group);
        }
    }

    // The predicates of these groups together; a number for `values`.
    uint32_t copy(const Index& index, const Lists& groups) {
        CachedValues values{};
        values.places = count_of(places_);
        large_.clear();
        if (copies_.size() < index.values.group_count()) copies_.resize(index.values.group_count());
        for (const uint32_t number : groups) {
            if (!index.values.group(number).is_small()) {
                large_.push_back(number);
                values.seeks = values.seeks || index.values.group(number).seeks != 0;
                continue;
            }
            const SmallCopy& copy = copies_[number];
            if (!copy.is_there || copy.built < index.group_version(number)) {
                copy_small(index, number);
            }
            places_.push_back(summarise(index, number, values));
            values.all.widen(places_.back());
        }
        values.places_end = count_of(places_);
        values.groups = append(lists_, large_);
        values.groups_end = count_of(lists_);
        values_.push_back(values);
        return count_of(values_) - 1;
    }

    // The intervals of a group that is not small; none while it is not worth copying them: many,
    // and changed not long ago.
    CopiedGroup intervals_of(const Index& index, uint32_t group) {
        uint32_t& number = copies_[group].large;
        if (number == NONE) {
            number = count_of(large_copies_);
            large_copies_.emplace_back();
        }
        LargeCopy& copy = large_copies_[number];
        if (!copy.is_there || copy.built < index.group_version(group)) {
            if (copy.seen != index.group_version(group)) {
                copy.seen = index.group_version(group);
                copy.searches = 0;
            }
            if (++copy.searches * PATIENCE < index.values.group(group).count) return {};
            copy_group(index, group, copy);
        }
        return {copy.runs, intervals_.data() + copy.begin, lows_.data() + copy.lows,
                reaches_.data() + copy.lows, copy.end - copy.begin};
    }

    // How many ranges of a run hold a number, which is negative where they go downwards.
    size_t count_of_run(const Run& run, double number) const {
        const auto first = ends_.begin() + run.ends;
        return static_cast<size_t>(std::upper_bound(first, first + run.count, number) - first);
    }
    // What follows from the first ranges of a run.
    std::pair<const uint32_t*, const uint32_t*> patterns(const Run& run, size_t count) const {
        const uint32_t* const first = lists_.data() + run.patterns;
        return {first, first + (count == 0 ? 0 : lists_[run.lengths + count - 1])};
    }
    const CachedProbe* probes(const Run& run) const { return probes_.data() + run.probes; }

    size_t byte_size() const {
        return triggers.byte_size() + values_.size() * sizeof(CachedValues) +
               places_.size() * sizeof(Place) + equalities_.size() * sizeof(CachedEquality) +
               intervals_.size() * sizeof(CachedInterval) + copies_.size() * sizeof(SmallCopy) +
               large_copies_.size() * sizeof(LargeCopy) +
               (lows_.size() + reaches_.size() + ends_.size()) * sizeof(double) +
               probes_.size() * sizeof(CachedProbe);
    }

private:
    struct OneSided {
        double end;  // negative where the range goes downwards
        uint32_t probe;
    };

    // Copying an interval takes about as long as this many steps of a search.
    static constexpr uint32_t PATIENCE = 64;

    struct SmallCopy {
        SmallGroup group;
        uint32_t large = NONE;  // the number of the copy, of a group that is not small
        bool is_there = false;
        uint64_t built = 0;
    };
    struct LargeCopy {
        Run runs[CopiedGroup::RUNS];
        uint32_t begin = 0, end = 0;  // in intervals_
        uint32_t lows = 0;            // in lows_ and reaches_
        uint32_t searches = 0;        // since the group was last seen to have changed
        bool is_there = false;
        uint64_t seen = 0, built = 0;
    };

    void copy_group(const Index& index, uint32_t number, LargeCopy& copy) {
        copy.is_there = true;
        copy.begin = count_of(intervals_);
        for (std::vector<OneSided>& run : one_sided_) run.clear();
        index.values.each_interval(index.values.group(number), [&](double low, double high,
                                                                   uint32_t probe, bool complete) {
            constexpr double INFINITE = std::numeric_limits<double>::infinity();
            if (complete && (high == INFINITE || low == -INFINITE)) {
                const size_t run = (index.probe(probe).is_plain() ? 0 : 2) + (high != INFINITE);
                one_sided_[run].push_back({high == INFINITE ? low : -high, probe});
            } else {
                intervals_.push_back({low, high, high, copy_effect(index, probe), complete});
            }
        });
        for (size_t run = 0; run < CopiedGroup::RUNS; ++run) {
            copy.runs[run] = copy_run(index, one_sided_[run], CopiedGroup::is_plain(run));
        }
        copy.end = count_of(intervals_);
        copy.built = index.version();
        sort_intervals(copy.begin);
        set_most(intervals_.data() + copy.begin, 0, copy.end - copy.begin);
        copy.lows = count_of(lows_);
        double reach = -std::numeric_limits<double>::infinity();
        for (uint32_t at = copy.begin; at < copy.end; ++at) {
            reach = std::max(reach, intervals_[at].high);
            lows_.push_back(intervals_[at].low);
            reaches_.push_back(reach);
        }
    }

    Run copy_run(const Index& index, std::vector<OneSided>& ranges, bool is_plain) {
        std::sort(ranges.begin(), ranges.end(),
                  [](const OneSided& one, const OneSided& two) { return one.end < two.end; });
        Run run{count_of(ends_), count_of(ranges), 0, 0, count_of(probes_)};
        for (const OneSided& range : ranges) ends_.push_back(range.end);
        if (!is_plain) {
            for (const OneSided& range : ranges) probes_.push_back(copy_effect(index, range.probe));
            return run;
        }
        run.lengths = count_of(lists_);
        run.patterns = run.lengths + run.count;
        lists_.resize(run.patterns);
        for (uint32_t at = 0; at < run.count; ++at) {
            uint32_t link = index.probe(ranges[at].probe).accept;
            for (; link != NONE; link = index.link(link).next) {
                lists_.push_back(index.link(link).value);
            }
            lists_[run.lengths + at] = count_of(lists_) - run.patterns;
        }
        return run;
    }

    void sort_intervals(size_t begin) {
        std::sort(
            intervals_.begin() + static_cast<ptrdiff_t>(begin), intervals_.end(),
            [](const CachedInterval& one, const CachedInterval& two) { return one.low < two.low; });
    }

    void copy_small(const Index& index, uint32_t number) {
        const PredicateGroup& group = index.values.group(number);
        SmallGroup small;
        small.intervals = count_of(intervals_);
        index.values.each_interval(
            group, [&](double low, double high, uint32_t probe, bool complete) {
                intervals_.push_back({low, high, high, copy_effect(index, probe), complete});
            });
        small.intervals_end = count_of(intervals_);
        sort_intervals(small.intervals);
        wanted_.clear();
        index.values.each_equality(group, [&](uint32_t probe) { wanted_.push_back(probe); });
        if (!wanted_.empty()) copy_equalities(index, small);
        SmallCopy& copy = copies_[number];
        copy.is_there = true;
        copy.group = small;
        copy.built = index.version();
    }

    void copy_equalities(const Index& index, SmallGroup& small) {
        size_t size = 4;
        while (size < wanted_.size() * 2) size *= 2;
        small.equalities = count_of(equalities_);
        small.equality_mask = static_cast<uint32_t>(size - 1);
        equalities_.resize(equalities_.size() + size);
        CachedEquality* const table = equalities_.data() + small.equalities;
        for (const uint32_t probe : wanted_) {
            ComparisonView view{};
            PredicateReader reader(index.predicate_of(index.probe(probe)));
            bool is_first = true;
            while (reader.next(view) && view.comparison != Comparison::equal_text) is_first = false;
            const uint64_t hash = hash_of(view.text, index.secret);
            size_t slot = hash & small.equality_mask;
            while (table[slot].probe.probe != NONE) slot = (slot + 1) & small.equality_mask;
            table[slot] = {hash, copy_effect(index, probe)};
            copy_text(reader.at_end() && is_first ? view.text : std::string_view{nullptr, 0});
        }
    }

    // What a small group asks for, in a few words; values that want it are told too.
    Place summarise(const Index& index, uint32_t number, CachedValues& values) const {
        const SmallGroup& small = copies_[number].group;
        Place place{number};
        values.longest = std::max(values.longest, index.values.group(number).longest);
        if (small.equality_mask != NONE) {
            const CachedEquality* const table = equality(small.equalities);
            for (uint32_t slot = 0; slot <= small.equality_mask; ++slot) {
                if (table[slot].probe.probe == NONE) continue;
                place.hashes |= Place::bit_of(table[slot].hash);
                values.expect(table[slot].hash);
            }
        }
        for (uint32_t at = small.intervals; at < small.intervals_end; ++at) {
            place.low = std::min(place.low, rounded_down(intervals_[at].low));
            place.high = std::max(place.high, -rounded_down(-intervals_[at].high));
        }
        return place;
    }

    static float rounded_down(double number) {
        const float rounded = static_cast<float>(number);
        return rounded <= number ? rounded
                                 : std::nextafter(rounded, -std::numeric_limits<float>::infinity());
    }

    void copy_text(std::string_view text) {
        const size_t begin = lists_.size();
        lists_.push_back(text.data() == nullptr ? NONE : count_of(text));
        lists_.resize(begin + 1 + (text.size() + 3) / 4);
        if (!text.empty()) std::memcpy(lists_.data() + begin + 1, text.data(), text.size());
    }

    CachedProbe copy_effect(const Index& index, uint32_t probe) {
        const uint32_t begin = count_of(lists_);
        lists_.insert(lists_.end(), 2, 0);
        for (uint32_t at = index.probe(probe).accept; at != NONE; at = index.link(at).next) {
            lists_.push_back(index.link(at).value);
        }
        lists_[begin] = count_of(lists_) - begin - 2;
        const size_t before = lists_.size();
        triggers.copy(index, probe, lists_);
        lists_[begin + 1] = static_cast<uint32_t>(lists_.size() - before);
        return {probe, begin, index.probe(probe).joined != 0, index.probe(probe).is_plain()};
    }

    Lists& lists_;  // of the paths, where effects stand too
    std::vector<CachedValues> values_;
    std::vector<Place> places_;
    std::vector<CachedEquality> equalities_;
    std::vector<CachedInterval> intervals_;
    std::vector<double> lows_, reaches_;  // of the intervals of large groups
    std::vector<double> ends_;            // of their runs
    std::vector<CachedProbe> probes_;
    std::vector<OneSided> one_sided_[CopiedGroup::RUNS];
    std::vector<SmallCopy> copies_;  // by group
    std::vector<LargeCopy> large_copies_;
    Lists large_, wanted_;
};

}  // namespace twigcast::match
