// From what a document showed to what it matches: paths that were met, values to be tested, and
// units whose probes may all hold.
//
// Each of these looks into tables that are far larger than the processor's caches, and the document
// decides where.  So the work is queued while the document is read and done in blocks: first all
// memory of a block is asked for, then it is used.  That hides most of the waiting, which is
// otherwise two thirds of the time with a hundred thousand tree patterns.
#pragma once

#include <cmath>
#include <utility>

#include "match/hits.hpp"
#include "match/join.hpp"
#include "match/path_cache.hpp"
#include "match/text_search.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

class Resolver {
public:
    Resolver(PathCache& paths, Hits& hits, Join& join) : paths_(paths), hits_(hits), join_(join) {}

    void start(const Index& index) {
        index_ = &index;
        visits_.clear();
        repeats_.clear();
        tests_.clear();
        texts_.clear();
        search_.start(index);
        pending_.clear();
        triggering_.clear();
        waiting_.clear();
        asked_.clear();
        exact_ = false;
    }

    // The document meets a path for the first time, and for the second.
    void add_visit(uint32_t path) { visits_.push_back(path); }
    void add_repeat(uint32_t path) { repeats_.push_back(path); }

    // A node of the path has this value, which is kept here.
    void add_value(const CachedPath& path, uint32_t element, std::string_view value) {
        const size_t begin = texts_.size();
        tests_.push_back({path.values, element, begin, begin + value.size(), true});
        texts_.append(value);
        if (!paths_.effects.values(path.values).seeks) return;
        search_.in_leaves.begin_value(begin);
        search_.in_leaves.end_value(texts_.size());
    }
    // A node of the path has a value that begins there, in the text given to `flush`; and ends.
    void begin_value(const CachedPath& path, size_t begin) {
        if (paths_.effects.values(path.values).seeks) search_.in_elements.begin_value(begin);
    }
    void end_value(const CachedPath& path, uint32_t element, size_t begin, size_t end) {
        tests_.push_back({path.values, element, begin, end, false});
        if (paths_.effects.values(path.values).seeks) search_.in_elements.end_value(end);
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
            while (end < tests_.size() && end - at < BLOCK && !is_long(tests_[end - 1])) ++end;
            test_block(at, end, text);
        }
        search_.finish();
        tests_.clear();
        texts_.clear();
    }

    // Paths are about to be forgotten, and with them which element stands where.
    void forget_paths(std::string_view text) {
        flush(text);
        each_pending([&](const CachedTrigger& trigger) {
            waiting_.push_back(paths_.effects.triggers.record(trigger.record).unit);
        });
        pending_.clear();
        exact_ = true;
    }

    // The document is deeper than Join can handle.
    void be_exact() { exact_ = true; }

    // At the end of the document: accept the patterns of units that hold, and give the patterns to
    // be asked exactly.
    const std::vector<uint32_t>& find_units() {
        triggered_.clear();
        each_pending([&](const CachedTrigger& trigger) {
            if (trigger.other != NONE && !hits_.holds(trigger.other)) return;
            const TriggerRecord* const record = &paths_.effects.triggers.record(trigger.record);
            prefetch(record);
            triggered_.push_back(record);
        });
        for (const TriggerRecord* const record : triggered_) look_at(*record);
        for (const uint32_t unit : waiting_) find_unit(unit);
        for (const uint32_t probe : triggering_) {
            uint32_t at = index_->probe(probe).triggers;
            for (; at != NONE; at = index_->trigger(at).next) {
                const Trigger& trigger = index_->trigger(at);
                if (trigger.other == NONE || hits_.holds(trigger.other)) find_unit(trigger.unit);
            }
        }
        if (hits_.is_full()) exact_ = true;
        // A unit is met once for each path that its trigger holds on.
        std::sort(undecided_.begin(), undecided_.end());
        undecided_.erase(std::unique(undecided_.begin(), undecided_.end()), undecided_.end());
        for (size_t at = 0; at < undecided_.size(); ++at) {
            if (at + AHEAD < undecided_.size()) prefetch(&index_->unit(undecided_[at + AHEAD]));
            if (at + AHEAD / 2 < undecided_.size()) {
                prefetch(index_->branches(index_->unit(undecided_[at + AHEAD / 2])));
            }
            decide(index_->unit(undecided_[at]));
        }
        undecided_.clear();
        std::sort(asked_.begin(), asked_.end());
        asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
        return asked_;
    }

private:
    static constexpr size_t AHEAD = 8;
    static constexpr size_t BLOCK = 16;
    static constexpr size_t MOST_WAITING = size_t{1} << 16;

    struct Test {
        uint32_t values;
        uint32_t element;
        size_t begin, end;  // in the text, or in `texts_`
        bool is_leaf;       // an attribute or a text node
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
        const Span accepted = paths_.list(path, PathCache::ACCEPTED);
        hits_.accept_all(accepted.begin(), accepted.end());
        for (const uint32_t probe : paths_.list(path, PathCache::PROBES)) {
            hits_.hold(probe, number, false, true);
        }
        watch(number);
        if (!paths_.list(path, PathCache::TRIGGERS).empty()) {
            pending_.push_back(
                {path.lists[PathCache::TRIGGERS], path.lists[PathCache::TRIGGERS + 1]});
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
            test_numbers(group, tests_[at].element, values_[at - begin]);
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

    void test_numbers(uint32_t group, uint32_t element, Value& value) {
        if (index_->values.group(group).blocks == NONE) return;
        const double number = value.number();
        if (number != number) return;
        const CopiedGroup copied = paths_.effects.intervals_of(*index_, group);
        if (copied.runs == nullptr) {
            return index_->values.search_numbers(group, number, [&](uint32_t probe, bool complete) {
                if (complete || passes(probe, value)) hold(probe, element);
            });
        }
        if (copied.count != 0) {
            below_.push_back({group, element, copied.begin_below(number), &value});
        }
        for (size_t run = 0; run < CopiedGroup::RUNS; ++run) {
            search_run(copied.runs[run], CopiedGroup::is_plain(run),
                       CopiedGroup::is_upward(run) ? number : -number, element);
        }
    }

    void search_run(const Run& run, bool is_plain, double number, uint32_t element) {
        if (run.count == 0) return;
        const size_t count = paths_.effects.count_of_run(run, number);
        if (is_plain) {
            const auto [first, last] = paths_.effects.patterns(run, count);
            return hits_.accept_all(first, last);
        }
        const CachedProbe* const probes = paths_.effects.probes(run);
        for (size_t at = 0; at < count; ++at) queue(probes[at], element);
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
        if (triggers != 0) pending_.push_back({begin, begin + triggers});
    }

    // The same for a probe that no path has copied.
    void hold(uint32_t number, uint32_t element) {
        const Probe& probe = index_->probe(number);
        if (!probe.is_plain() && !hits_.hold(number, element, true, probe.joined != 0)) return;
        for (uint32_t at = probe.accept; at != NONE; at = index_->link(at).next) {
            hits_.accept(index_->link(at).value);
        }
        if (probe.triggers != NONE) triggering_.push_back(number);
    }

    // --- units ----------------------------------------------------------------------------------

    template <class Visit>
    void each_pending(Visit visit) const {
        for (size_t at = 0; at < pending_.size(); ++at) {
            if (at + AHEAD < pending_.size()) prefetch(paths_.trigger(pending_[at + AHEAD].first));
            const CachedTrigger* const last = paths_.trigger(pending_[at].second);
            for (const CachedTrigger* trigger = paths_.trigger(pending_[at].first); trigger < last;
                 ++trigger) {
                visit(*trigger);
            }
        }
    }

    // The first two probes of the unit hold.
    void look_at(const TriggerRecord& trigger) {
        const uint32_t* const probes = trigger.first_probe();
        for (uint32_t at = 0; at < trigger.probes; ++at) {
            if (!hits_.holds(probes[at])) return;
        }
        bool single = trigger.needs_check == 0;
        const uint32_t* const watches = trigger.first_watch();
        for (uint32_t at = 0; at < trigger.watches; ++at) {
            single = single && hits_.is_single(watches[at]);
        }
        const uint32_t* const denials = trigger.first_denial();
        for (uint32_t at = 0; at < trigger.denials; ++at) {
            single = single && !hits_.holds(denials[at]);
        }
        if (single) {
            hits_.accept(trigger.pattern);
        } else if (!hits_.is_accepted(trigger.pattern)) {
            undecided_.push_back(trigger.unit);
        }
    }

    void find_unit(uint32_t number) {
        const Unit& unit = index_->unit(number);
        if (hits_.is_accepted(unit.pattern)) return;
        const Branch* const branches = index_->branches(unit);
        bool single = unit.needs_check == 0 && !is_denied(unit);
        for (uint32_t at = 0; at < unit.count; ++at) {
            const Branch& branch = branches[at];
            if (branch.probe != NONE) {
                if (!hits_.holds(branch.probe)) return;
            } else {
                single = single && hits_.is_single(index_->watch_at(branch.node));
            }
        }
        if (single) {
            hits_.accept(unit.pattern);
        } else {
            undecided_.push_back(number);
        }
    }

    // Something that the unit denies may be in the document.
    bool is_denied(const Unit& unit) const {
        return index_->is_denied(unit, [&](uint32_t probe) { return hits_.holds(probe); });
    }

    // All probes of the unit hold, but perhaps not together.
    void decide(const Unit& unit) {
        if (hits_.is_accepted(unit.pattern)) return;
        if (unit.needs_check != 0 || exact_ || is_denied(unit)) {
            if (index_->pattern(unit.pattern).living != 0) asked_.push_back(unit.pattern);
        } else if (join_.holds(*index_, unit)) {
            hits_.accept(unit.pattern);
        }
    }

    const Index* index_ = nullptr;
    PathCache& paths_;
    Hits& hits_;
    Join& join_;

    std::vector<uint32_t> visits_, repeats_;
    std::vector<Test> tests_;
    std::string texts_;  // of attributes that wait to be tested
    std::vector<Value> values_;
    std::vector<Touched> touched_;
    std::vector<Below> below_;
    TextSearch search_;
    std::vector<Queued> queued_;

    // Ranges of triggers in the cache's lists.
    std::vector<std::pair<uint32_t, uint32_t>> pending_;
    std::vector<uint32_t> triggering_;  // probes, beside those
    std::vector<const TriggerRecord*> triggered_;
    std::vector<uint32_t> waiting_;    // units whose triggers are forgotten
    std::vector<uint32_t> undecided_;  // units whose probes all hold
    std::vector<uint32_t> asked_;      // patterns
    bool exact_ = false;               // elements cannot be joined by their paths
};

}  // namespace twigcast::match
