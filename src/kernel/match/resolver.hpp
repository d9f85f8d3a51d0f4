// From what a document showed to what it matches: paths that were met, and values to be tested.
// What holds goes to the hits, what it triggers to the search for units.
//
// Each of these looks into tables that are far larger than the processor's caches, and the document
// decides where.  So the work is queued while the document is read and done in blocks: first all
// memory of a block is asked for, then it is used.  That hides most of the waiting, which is
// otherwise two thirds of the time with a hundred thousand tree patterns.
//
// Where destinations are sought, those of the patterns that a path accepts are found at once, when
// the path is met.  All else of a path whose probes and values lead only to destinations already
// found is left out, but for the elements at branching points: these count for other paths.
#pragma once

#include <cmath>
#include <utility>

#include "match/hits.hpp"
#include "match/path_cache.hpp"
#include "match/path_destinations.hpp"
#include "match/text_search.hpp"
#include "match/unit_search.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

class Resolver {
public:
    Resolver(PathCache& paths, PathDestinations& destinations, Hits& hits, UnitSearch& units)
        : paths_(paths), destinations_(destinations), hits_(hits), units_(units) {}

    void start(const Index& index) {
        index_ = &index;
        visits_.clear();
        repeats_.clear();
        tests_.clear();
        texts_.clear();
        search_.start(index);
    }

    // The document meets a path for the first time, and for the second.
    void add_visit(uint32_t path) {
        if (hits_.seeks_destinations()) {
            const uint32_t* const accepted = destinations_.accepted(path);
            hits_.find(accepted);
            if (accepted[0] != 0) accept_named(path);
            const uint32_t* const lists = paths_[path].lists;
            if (lists[PathCache::PROBES] == lists[PathCache::TRIGGERS + 1]) return;
        }
        visits_.push_back(path);
    }
    void add_repeat(uint32_t path) { repeats_.push_back(path); }

    // Whether something that is still wanted may follow from the probes and values of a path.
    bool leads_on(uint32_t path) {
        return !hits_.seeks_destinations() || !hits_.has_all(destinations_.beyond(path));
    }

    // A node of the path has this value, which is kept here.
    void add_value(uint32_t path, uint32_t element, std::string_view value) {
        const size_t begin = texts_.size();
        const uint32_t values = paths_[path].values;
        tests_.push_back({values, path, element, true, begin, begin + value.size()});
        texts_.append(value);
        if (!paths_.effects.values(values).seeks) return;
        search_.in_leaves.begin_value(begin);
        search_.in_leaves.end_value(texts_.size());
    }
    // A node of the path has a value that begins there, in the text given to `flush`; and ends.
    void begin_value(const CachedPath& path, size_t begin) {
        if (paths_.effects.values(path.values).seeks) search_.in_elements.begin_value(begin);
    }
    void end_value(uint32_t path, uint32_t element, size_t begin, size_t end) {
        const uint32_t values = paths_[path].values;
        tests_.push_back({values, path, element, false, begin, end});
        if (paths_.effects.values(values).seeks) search_.in_elements.end_value(end);
    }

    bool is_full() const { return tests_.size() > MOST_WAITING || texts_.size() > MOST_WAITING; }

    // Do what waits.  Paths must be as they were when it was queued.
    void flush(std::string_view text) {
        for (size_t at = 0; at < visits_.size(); ++at) {
            if (at + AHEAD < visits_.size()) prefetch_lists(visits_[at + AHEAD]);
            visit(visits_[at]);
        }
        visits_.clear();
        for (const uint32_t path : repeats_) watch(path);
        repeats_.clear();
        search_.read(text, texts_);
        for (size_t at = 0, end; at < tests_.size(); at = end) {
            end = at + 1;
            if (!leads_on(tests_[at].path)) continue;
            while (end < tests_.size() && end - at < BLOCK && !is_long(tests_[end - 1])) ++end;
            hits_.look_at(end - at);
            test_block(at, end, text);
        }
        search_.finish();
        tests_.clear();
        texts_.clear();
    }

private:
    static constexpr size_t AHEAD = 8;
    static constexpr size_t BLOCK = 16;
    static constexpr size_t MOST_WAITING = size_t{1} << 16;

    struct Test {
        uint32_t values;
        uint32_t path;
        uint32_t element;
        bool is_leaf;       // an attribute or a text node
        size_t begin, end;  // in the text, or in `texts_`
    };

    // A group of which a value of the block may pass something: by its text, or as a number.
    struct Touched {
        uint32_t group, test;
        bool has_text, has_number;
    };

    // A probe that holds there.
    struct Queued {
        CachedProbe cached;
        uint32_t element;
    };

    // A number that is to be sought among the intervals of a group.
    struct Below {
        uint32_t group;
        uint32_t element;
        size_t count;  // of those that begin at or below it
        Value* value;
    };

    static void prefetch(const void* memory) { __builtin_prefetch(memory); }

    // --- paths ----------------------------------------------------------------------------------

    void prefetch_lists(uint32_t number) const {
        const CachedPath& path = paths_[number];
        const uint32_t* const first = paths_.list(path, PathCache::ACCEPTED).begin();
        const uint32_t* const last = paths_.list(path, PathCache::WATCHES).end();
        constexpr ptrdiff_t LINE = 16, LINES = 8;
        for (ptrdiff_t at = 0; at < std::min(last - first, LINE * LINES); at += LINE) {
            prefetch(first + at);
        }
    }

    void visit(uint32_t number) {
        const CachedPath& path = paths_[number];
        if (!hits_.seeks_destinations()) {
            const Span accepted = paths_.list(path, PathCache::ACCEPTED);
            hits_.accept_all(accepted.begin(), accepted.end());
        }
        if (!leads_on(number)) return watch(number);
        for (const uint32_t probe : paths_.list(path, PathCache::PROBES)) {
            hits_.hold(probe, number, false, true);
        }
        watch(number);
        units_.add_triggers(path.lists[PathCache::TRIGGERS], path.lists[PathCache::TRIGGERS + 1]);
    }

    // Accept the patterns of a path that have subscribers to be named.
    void accept_named(uint32_t path) {
        for (const uint32_t pattern : paths_.list(paths_[path], PathCache::ACCEPTED)) {
            if (hits_.is_named(pattern)) hits_.accept(pattern);
        }
    }

    void watch(uint32_t path) {
        for (const uint32_t watch : paths_.list(paths_[path], PathCache::WATCHES))
            hits_.watch(watch);
    }

    // --- values ---------------------------------------------------------------------------------

    std::string_view value_of(const Test& test, std::string_view text) const {
        return (test.is_leaf ? std::string_view(texts_) : text)
            .substr(test.begin, test.end - test.begin);
    }
    static bool is_long(const Test& test) { return test.end - test.begin > TextSearch::LONGEST; }

    void test_block(size_t begin, size_t end, std::string_view text) {
        for (size_t at = begin; at < end; ++at) {
            const char* const values =
                reinterpret_cast<const char*>(&paths_.effects.values(tests_[at].values));
            prefetch(values);
            prefetch(values + sizeof(CachedValues) - 1);
        }
        values_.clear();
        for (size_t at = begin; at < end; ++at) {
            const CachedValues& values = paths_.effects.values(tests_[at].values);
            values_.emplace_back(value_of(tests_[at], text));
            prefetch(paths_.effects.place(values.places));
        }
        touch_places(begin, end);
        queued_.clear();
        for (const Touched& one : touched_) {
            const SmallGroup& small = paths_.effects.small(one.group);
            const uint32_t element = tests_[begin + one.test].element;
            if (one.has_text) test_equalities(small, element, values_[one.test]);
            if (one.has_number) test_intervals(small, element, values_[one.test]);
        }
        each_group(begin, end, [&](uint32_t group, size_t at) {
            if (leads_on(tests_[at].path)) test_numbers(group, tests_[at], values_[at - begin]);
        });
        for (const Below& below : below_) search_below(below);
        below_.clear();
        for (const Queued& queued : queued_) hold(queued.cached, queued.element);
        test_candidates(begin, end);
    }

    // What large groups have filed for the texts of a block.
    void test_candidates(size_t begin, size_t end) {
        const auto stand_of = [&](size_t at) {
            const Test& test = tests_[at];
            return Stand{test.is_leaf ? &search_.in_leaves : &search_.in_elements, test.begin,
                         test.end};
        };
        each_group(begin, end, [&](uint32_t group, size_t at) {
            search_.look_up(group, values_[at - begin], static_cast<uint32_t>(at));
        });
        for (size_t at = begin; at < end; ++at) {
            const CachedValues& values = paths_.effects.values(tests_[at].values);
            const Span groups = paths_.list(values.groups, values.groups_end - values.groups);
            if (!values.seeks) continue;
            search_.look_up_parts(groups.begin(), groups.end(), stand_of(at),
                                  static_cast<uint32_t>(at));
        }
        search_.each_holding([&](size_t at) -> Value& { return values_[at - begin]; }, stand_of,
                             [&](uint32_t probe, size_t at) { hold(probe, tests_[at].element); });
    }

    template <class Visit>
    void each_group(size_t begin, size_t end, Visit visit) const {
        for (size_t at = begin; at < end; ++at) {
            const CachedValues& values = paths_.effects.values(tests_[at].values);
            for (uint32_t group = values.groups; group < values.groups_end; ++group) {
                visit(*paths_.list(group, 1).begin(), at);
            }
        }
    }

    // Find the places of which a value of the block may pass something.
    void touch_places(size_t begin, size_t end) {
        touched_.clear();
        for (size_t at = begin; at < end; ++at) {
            const CachedValues& values = paths_.effects.values(tests_[at].values);
            if (values.places == values.places_end) continue;
            Value& value = values_[at - begin];
            const bool has_text =
                value.text.size() <= values.longest && values.may_have(value.hash(index_->secret));
            const bool has_number =
                values.all.low <= values.all.high && values.all.has(value.number());
            if (!has_text && !has_number) continue;
            const uint32_t bit = has_text ? Place::bit_of(value.hash(index_->secret)) : 0;
            const double number = has_number ? value.number() : NAN;
            const Place* const last = paths_.effects.place(values.places_end);
            for (const Place* place = paths_.effects.place(values.places); place < last; ++place) {
                const bool text_is_here = (place->hashes & bit) != 0;
                const bool number_is_here = place->has(number);
                if (!text_is_here && !number_is_here) continue;
                touched_.push_back({place->group, static_cast<uint32_t>(at - begin), text_is_here,
                                    number_is_here});
                prefetch(&paths_.effects.small(place->group));
            }
        }
        for (const Touched& one : touched_) {
            const SmallGroup& small = paths_.effects.small(one.group);
            if (one.has_text) {
                const uint64_t hash = values_[one.test].hash(index_->secret);
                prefetch(paths_.effects.equality(small.equalities) + (hash & small.equality_mask));
            }
            if (one.has_number) prefetch(paths_.effects.interval(small.intervals));
        }
    }

    void queue(const CachedProbe& cached, uint32_t element) {
        prefetch(paths_.list(cached.effect, 2).begin());
        Queued& queued = queued_.emplace_back();
        queued.cached = cached;
        queued.element = element;
    }

    void test_equalities(const SmallGroup& small, uint32_t element, Value& value) {
        const CachedEquality* const table = paths_.effects.equality(small.equalities);
        const uint64_t hash = value.hash(index_->secret);
        for (size_t slot = hash & small.equality_mask; table[slot].probe.probe != NONE;
             slot = (slot + 1) & small.equality_mask) {
            const CachedProbe& cached = table[slot].probe;
            if (table[slot].hash == hash && equals(cached, value)) queue(cached, element);
        }
    }

    bool equals(const CachedProbe& cached, Value& value) const {
        const uint32_t* const effect = paths_.list(cached.effect, 2).begin();
        const uint32_t* const length = effect + 2 + effect[0] + effect[1];
        if (*length == NONE) return passes(cached.probe, value);
        return value.text == std::string_view(reinterpret_cast<const char*>(length + 1), *length);
    }

    void test_intervals(const SmallGroup& small, uint32_t element, Value& value) {
        const double number = value.number();
        const CachedInterval* const last = paths_.effects.interval(small.intervals_end);
        for (const CachedInterval* interval = paths_.effects.interval(small.intervals);
             interval < last && interval->low <= number; ++interval) {
            if (number > interval->high) continue;
            if (interval->complete || passes(interval->probe.probe, value)) {
                queue(interval->probe, element);
            }
        }
    }

    void test_numbers(uint32_t group, const Test& test, Value& value) {
        if (index_->values.group(group).blocks == NONE) return;
        const double number = value.number();
        if (number != number) return;
        const CopiedGroup copied = paths_.effects.intervals_of(*index_, group);
        if (copied.runs == nullptr) {
            return index_->values.search_numbers(group, number, [&](uint32_t probe, bool complete) {
                if (complete || passes(probe, value)) hold(probe, test.element);
                return leads_on(test.path);
            });
        }
        if (copied.count != 0) {
            below_.push_back({group, test.element, copied.begin_below(number), &value});
        }
        for (size_t run = 0; run < CopiedGroup::RUNS; ++run) {
            search_run(copied.runs[run], CopiedGroup::is_plain(run),
                       CopiedGroup::is_upward(run) ? number : -number, test);
        }
    }

    void search_run(const Run& run, bool is_plain, double number, const Test& test) {
        if (run.count == 0) return;
        const size_t count = paths_.effects.count_of_run(run, number);
        if (is_plain) {
            auto [pattern, last] = paths_.effects.patterns(run, count);
            if (!hits_.seeks_destinations()) return hits_.accept_all(pattern, last);
            for (; pattern != last && leads_on(test.path); ++pattern) hits_.accept(*pattern);
            return;
        }
        const CachedProbe* const probes = paths_.effects.probes(run);
        for (size_t at = 0; at < count; ++at) queue(probes[at], test.element);
    }

    void search_below(const Below& below) {
        const CopiedGroup copied = paths_.effects.intervals_of(*index_, below.group);
        copied.search(below.value->number(), below.count, [&](const CachedInterval& interval) {
            if (interval.complete || passes(interval.probe.probe, *below.value)) {
                queue(interval.probe, below.element);
            }
        });
    }

    bool passes(uint32_t probe, Value& value) const {
        return predicate_holds(index_->predicate_of(index_->probe(probe)), value);
    }

    void hold(const CachedProbe& cached, uint32_t element) {
        if (!cached.plain && !hits_.hold(cached.probe, element, true, cached.joined)) return;
        const Span counts = paths_.list(cached.effect, 2);
        const uint32_t patterns = counts.begin()[0], triggers = counts.begin()[1];
        hits_.accept_all(counts.end(), counts.end() + patterns);
        const uint32_t begin = cached.effect + 2 + patterns;
        units_.add_triggers(begin, begin + triggers);
    }

    // The same for a probe that no path has copied.
    void hold(uint32_t number, uint32_t element) {
        const Probe& probe = index_->probe(number);
        if (!probe.is_plain() && !hits_.hold(number, element, true, probe.joined != 0)) return;
        for (uint32_t at = probe.accept; at != NONE; at = index_->link(at).next) {
            hits_.accept(index_->link(at).value);
        }
        units_.add_probe(number);
    }

    const Index* index_ = nullptr;
    PathCache& paths_;
    PathDestinations& destinations_;
    Hits& hits_;
    UnitSearch& units_;

    std::vector<uint32_t> visits_, repeats_;
    std::vector<Test> tests_;
    std::string texts_;  // of attributes that wait to be tested
    std::vector<Value> values_;
    std::vector<Touched> touched_;
    std::vector<Below> below_;
    TextSearch search_;
    std::vector<Queued> queued_;
};

}  // namespace twigcast::match
