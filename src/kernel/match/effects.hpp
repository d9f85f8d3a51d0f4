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

#include "index/index.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

using Lists = std::vector<uint32_t>;

inline uint32_t append(Lists& all, const Lists& some) {
    const uint32_t begin = count_of(all);
    all.insert(all.end(), some.begin(), some.end());
    return begin;
}

// A unit to look at, as it stands in the cache's lists; behind it come the numbers of the probes
// that must hold besides `other`, those of the points where its branches part, and its denials.
struct CachedTrigger {
    uint32_t other;  // a probe to be asked first, or NONE
    uint32_t pattern, unit;
    uint16_t probes, watches, denials;  // how many follow
    uint16_t needs_check;

    const uint32_t* first_probe() const { return reinterpret_cast<const uint32_t*>(this + 1); }
    const uint32_t* first_watch() const { return first_probe() + probes; }
    const uint32_t* first_denial() const { return first_watch() + watches; }
    const CachedTrigger* next() const {
        return reinterpret_cast<const CachedTrigger*>(first_denial() + denials);
    }
};
static_assert(sizeof(CachedTrigger) == 5 * sizeof(uint32_t));

// What follows from a probe, in the cache's lists: how many patterns and how many numbers of
// triggers, then the patterns, then the triggers.  Behind that of an equality stand the length and
// the bytes of its text, if that is all there is to ask; else the length is NONE.
struct CachedProbe {
    uint32_t probe;
    uint32_t effect;
    bool joined;  // it matters where it holds
};
struct CachedEquality {
    uint64_t hash = 0;  // of the text
    CachedProbe probe{NONE, 0, false};
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
    Place all;                    // around all intervals of the places
    uint64_t filter[4];           // a bit for each hash of a text that they ask for

    // Whether a text of that hash may be asked for.
    bool may_have(uint64_t hash) const {
        return (filter[hash >> 62] >> (hash >> 56 & 63) & 1) != 0;
    }
    void expect(uint64_t hash) { filter[hash >> 62] |= uint64_t{1} << (hash >> 56 & 63); }
};

// The intervals of a group, sorted by lower end.  Those that hold a number end right before the
// first that begins above it; how far back they may begin, `reaches` says: the highest upper end of
// an interval and all before it.  Mostly that is a step or two.  Where it is not, since a few reach
// very far, the search goes by `most` instead.
struct CopiedGroup {
    const CachedInterval* intervals;
    const double* lows;
    const double* reaches;
    size_t count;

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
                return search_intervals(intervals, 0, count, sought, visit);
            }
        }
    }
};

class Effects {
public:
    explicit Effects(Lists& lists) : lists_(lists) {}

    void clear() {
        values_ = {};
        places_ = {};
        equalities_ = {};
        intervals_ = {};
        lows_ = {};
        reaches_ = {};
        copies_ = {};
    }

    const CachedValues& values(uint32_t number) const { return values_[number]; }
    const Place* place(uint32_t number) const { return places_.data() + number; }
    const SmallGroup& small(uint32_t group) const { return copies_[group].small; }
    const CachedEquality* equality(uint32_t number) const { return equalities_.data() + number; }
    const CachedInterval* interval(uint32_t number) const { return intervals_.data() + number; }

    // The predicates of these groups together; a number for `values`.
    uint32_t copy(const Index& index, const Lists& groups) {
        CachedValues values{};
        values.places = count_of(places_);
        large_.clear();
        if (copies_.size() < index.values.group_count()) copies_.resize(index.values.group_count());
        for (const uint32_t number : groups) {
            if (!index.values.group(number).is_small()) {
                large_.push_back(number);
                continue;
            }
            GroupCopy& copy = copies_[number];
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

    // The units that a probe triggers, as CachedTriggers.
    static void copy_triggers(const Index& index, uint32_t probe, Lists& list) {
        uint32_t at = index.probe(probe).triggers;
        for (; at != NONE; at = index.trigger(at).next) {
            const Trigger& trigger = index.trigger(at);
            const Unit& unit = index.unit(trigger.unit);
            const Branch* const branches = index.branches(unit);
            const size_t begin = list.size();
            list.insert(list.end(), {trigger.other, unit.pattern, trigger.unit, 0, 0});
            CachedTrigger counted{};
            for (uint32_t number = 0; number < unit.count; ++number) {
                const uint32_t other = branches[number].probe;
                if (other == NONE || other == probe || other == trigger.other) continue;
                list.push_back(other);
                ++counted.probes;
            }
            for (uint32_t number = 0; unit.needs_check == 0 && number < unit.count; ++number) {
                if (branches[number].probe != NONE) continue;
                list.push_back(index.watch_at(branches[number].node));
                ++counted.watches;
            }
            list.insert(list.end(), index.denials(unit), index.denials(unit) + unit.denial_count);
            CachedTrigger* const cached = reinterpret_cast<CachedTrigger*>(list.data() + begin);
            cached->probes = counted.probes;
            cached->watches = counted.watches;
            cached->denials = static_cast<uint16_t>(unit.denial_count);
            cached->needs_check = unit.needs_check != 0;
        }
    }

    // The intervals of a group that is not small; none while it is not worth copying them: many,
    // and changed not long ago.
    CopiedGroup intervals_of(const Index& index, uint32_t group) {
        GroupCopy& copy = copies_[group];
        if (!copy.is_there || copy.built < index.group_version(group)) {
            if (copy.seen != index.group_version(group)) {
                copy.seen = index.group_version(group);
                copy.searches = 0;
            }
            if (++copy.searches * PATIENCE < index.values.group(group).count) return {};
            copy_group(index, group, copy);
        }
        return {intervals_.data() + copy.begin, lows_.data() + copy.lows,
                reaches_.data() + copy.lows, copy.end - copy.begin};
    }

    size_t byte_size() const {
        return values_.size() * sizeof(CachedValues) + places_.size() * sizeof(Place) +
               equalities_.size() * sizeof(CachedEquality) +
               intervals_.size() * sizeof(CachedInterval) + copies_.size() * sizeof(GroupCopy) +
               (lows_.size() + reaches_.size()) * sizeof(double);
    }

private:
    // Copying an interval takes about as long as this many steps of a search.
    static constexpr uint32_t PATIENCE = 64;

    struct GroupCopy {
        bool is_there = false;
        SmallGroup small;
        // Of a group that is not small:
        uint32_t begin = 0, end = 0;  // in intervals_
        uint32_t lows = 0;            // in lows_ and reaches_
        uint32_t searches = 0;        // since the group was last seen to have changed
        uint64_t seen = 0, built = 0;
    };

    void copy_group(const Index& index, uint32_t number, GroupCopy& copy) {
        copy.is_there = true;
        copy.begin = count_of(intervals_);
        index.values.each_interval(index.values.group(number), [&](double low, double high,
                                                                   uint32_t probe, bool complete) {
            intervals_.push_back({low, high, high, copy_effect(index, probe), complete});
        });
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
        GroupCopy& copy = copies_[number];
        copy.is_there = true;
        copy.small = small;
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
        const SmallGroup& small = copies_[number].small;
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
        copy_triggers(index, probe, lists_);
        lists_[begin + 1] = static_cast<uint32_t>(lists_.size() - before);
        return {probe, begin, index.probe(probe).joined != 0};
    }

    Lists& lists_;  // of the paths, where effects stand too
    std::vector<CachedValues> values_;
    std::vector<Place> places_;
    std::vector<CachedEquality> equalities_;
    std::vector<CachedInterval> intervals_;
    std::vector<double> lows_, reaches_;  // of the intervals that are copies of groups
    std::vector<GroupCopy> copies_;       // by group
    Lists large_, wanted_;
};

}  // namespace twigcast::match
