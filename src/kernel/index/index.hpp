// All subscriptions, laid out for matching; changed one at a time, read by any number of threads.
//
//     pattern ──plan──► units ──► probes ──► nodes of the trie, predicate groups
//
// * A *pattern* is a distinct normal form, with an audience: its subscribers.
// * A pattern that is one path is accepted at a node of the trie and needs nothing else.
// * Any other pattern is a set of *units*, one for each of its alternatives; it matches when one of
//   them does.  A unit is a tree of branches, and its leaves are probes.
// * A *probe* asks whether a path leads to a node that passes a predicate (perhaps none).  Equal
//   probes of different patterns are one.
// * A unit of one probe matches with it.  A unit of several is looked at when the rarest of its
//   probes holds (its trigger), and matches when all hold at branches of the same nodes.
// * A unit may be a necessary condition only (`needs_check`), where the pattern has a position or
//   the like; then the pattern's program is asked of the document.
// * A unit may have *denials*, where the pattern has `not`: probes of what is denied.  While none
//   of them holds anywhere in the document, the unit says all; else the program is asked.
//
// Cost of an update: proportional to the pattern.  `version` counts updates, and `test_version`
// keeps for each node test when a trie node of that test was last changed (`group_version` likewise
// for predicate groups), so that what threads have cached for other names stays good.  What is
// removed stays behind, dead; when more is dead than alive, a new index is built of the living.
#pragma once

#include <stdexcept>
#include <type_traits>
#include <utility>

#include "index/destinations.hpp"
#include "index/known_paths.hpp"
#include "index/records.hpp"
#include "index/subscribers.hpp"
#include "index/trie.hpp"
#include "index/value_index.hpp"

namespace twigcast::index {

using namespace base;

class Index {
public:
    Index(const HashSecret& secret, uint64_t generation) : secret(secret), generation(generation) {
        test_versions_.resize(tests.count());
    }

    // --- changes ------------------------------------------------------------------------------

    bool has(std::string_view key) const { return subscribers.find(key, secret) != NONE; }

    // The pattern that is that path; a new one where there is none.  NONE if the text is no path.
    uint32_t intern_path(std::string_view path) {
        if (!is_path(path)) return NONE;
        const uint32_t node = intern_node(path);
        if (trie[node].pattern != NONE) return trie[node].pattern;
        const uint32_t pattern = patterns_.add({{}, node, NONE});
        ++dead_patterns_;  // until it has a subscriber
        trie.edit(node).pattern = pattern;
        touch(node);
        return pattern;
    }

    // The pattern of that text, if there is one.
    uint32_t find_compound(std::string_view text) const {
        const uint32_t number = compound_slots_.find(
            hash_of(text, secret), [&](uint32_t number) { return text_of(number) == text; });
        return number == NONE ? NONE : compounds_[number].pattern;
    }

    // A new pattern; NONE, and nothing changed that matters, where a path of the plan is none or
    // there are too many.
    uint32_t add_compound(std::string_view text, std::string_view program,
                          const std::vector<UnitPlan>& plans) {
        for (const UnitPlan& plan : plans) {
            if (!is_plan(plan)) return NONE;
        }
        const uint32_t pattern = patterns_.count();
        const uint64_t text_begin = texts_.append(text.data(), text.size());
        const uint64_t program_begin = texts_.append(program.data(), program.size());
        const uint32_t units_begin = units_.count();
        const uint32_t number =
            compounds_.add({text_begin, program_begin, count_of(text), count_of(program), pattern,
                            units_begin, count_of(plans)});
        patterns_.add({{}, NONE, number});
        ++dead_patterns_;
        compound_slots_.add(hash_of(text, secret), number,
                            [&](uint32_t other) { return hash_of(text_of(other), secret); });
        for (const UnitPlan& plan : plans) add_unit(pattern, plan);
        return pattern;
    }

    void subscribe(std::string_view key, uint32_t pattern, uint32_t destination) {
        ++version_;
        PatternEntry& entry = patterns_.edit(pattern);
        if (entry.living == 0) --dead_patterns_;
        const uint32_t number = subscribers.count();
        subscribers.add(key, pattern, entry, secret);
        ++living_;
        const bool are_counted = destinations.are_any();
        if (destination != NONE) destinations.set(number, destination);
        if (are_counted) return count(number);
        if (destinations.are_any()) subscribers.each_living([&](uint32_t each) { count(each); });
    }

    // False if there is no subscription of that key.
    bool unsubscribe(std::string_view key) {
        const uint32_t number = subscribers.find(key, secret);
        if (number == NONE) return false;
        ++version_;
        const uint32_t pattern = subscribers[number].pattern;
        PatternEntry& entry = patterns_.edit(pattern);
        subscribers.remove(number, entry, version_);
        destinations.remove(pattern, destinations.bit_of(number));
        if (entry.living == 0) ++dead_patterns_;
        --living_;
        return true;
    }

    // Whether there is more that is dead than alive.
    bool is_worth_rebuilding() const {
        const uint64_t bearable = uint64_t{living_} + 1000;
        return subscribers.count() - living_ > bearable || dead_patterns_ > bearable;
    }

    // Become a copy of another index, to be saved or taken from; nothing else can be done with it.
    void copy(Index& other) {
        std::vector<std::pair<const void*, size_t>> arrays;
        other.each_array([&](auto& array) { arrays.emplace_back(array.data(), array.size()); });
        size_t at = 0;
        each_array([&](auto& array) {
            using Element = typename std::remove_reference_t<decltype(array)>::Element;
            array.copy(static_cast<const Element*>(arrays[at].first), arrays[at].second);
            ++at;
        });
        version_ = other.version_;
        living_ = other.living_;
        dead_patterns_ = other.dead_patterns_;
    }

    // Leave no room for more subscribers, as a file has none.
    void pack() { subscribers.pack(patterns_); }

    bool has_dead() const { return subscribers.count() != living_ || dead_patterns_ != 0; }

    // Add all that lives in another index to this one, which is empty.
    void take_living(const Index& other) {
        std::vector<uint32_t> taken(other.patterns_.size(), NONE);
        other.subscribers.each_living([&](uint32_t at) {
            const uint32_t old = other.subscribers[at].pattern;
            if (taken[old] == NONE) {
                taken[old] = take_pattern(other, old);
                if (taken[old] == NONE)
                    throw std::runtime_error("the matcher holds a pattern that is damaged");
                subscribers.reserve(patterns_.edit(taken[old]), other.patterns_[old].living);
            }
            subscribe(other.subscribers.key_of(at), taken[old],
                      other.destinations.of_subscriber(at));
        });
        version_ = std::max(version_, other.version_) + 1;
    }

    // --- questions ----------------------------------------------------------------------------

    uint64_t version() const { return version_; }
    Moment now() const { return {version_, subscribers.count()}; }
    uint64_t test_version(uint32_t test) const { return test_versions_[test]; }
    uint64_t group_version(uint32_t group) const { return group_versions_[group]; }
    uint64_t root_version() const { return root_version_; }
    uint32_t living() const { return living_; }
    uint32_t dead_patterns() const { return dead_patterns_; }

    const PatternEntry& pattern(uint32_t number) const { return patterns_[number]; }
    uint32_t pattern_count() const { return patterns_.count(); }
    const Extra& extra(uint32_t number) const { return extras_[number]; }
    const Probe& probe(uint32_t number) const { return probes_[number]; }
    uint32_t probe_count() const { return probes_.count(); }
    const Link& link(uint32_t number) const { return links_[number]; }
    const Trigger& trigger(uint32_t number) const { return triggers_[number]; }
    const Unit& unit(uint32_t number) const { return units_[number]; }
    const Branch* branches(const Unit& unit) const { return branches_.data() + unit.begin; }
    const Segment& segment(uint32_t number) const { return segments_[number]; }
    // A probe of something that the unit denies holds in the document, says `holds`.
    template <class Holds>
    bool is_denied(const Unit& unit, Holds holds) const {
        const uint32_t* const first = denials_.data() + unit.denials;
        return std::any_of(first, first + unit.denial_count, holds);
    }
    const uint32_t* denials(const Unit& unit) const { return denials_.data() + unit.denials; }
    uint32_t watch_at(uint32_t node) const { return extras_[trie[node].extra].watch; }
    uint32_t watch_count() const { return watch_count_; }

    std::string_view predicate_of(const Probe& probe) const {
        return {texts_.data() + probe.predicate_begin, probe.predicate_length};
    }
    std::string_view program_of(uint32_t pattern) const {
        const Compound& compound = compounds_[patterns_[pattern].compound];
        return {texts_.data() + compound.program_begin, compound.program_length};
    }
    std::string spelling(uint32_t pattern) const {
        const PatternEntry& entry = patterns_[pattern];
        if (entry.node != NONE) return trie.spelling(entry.node, tests);
        return std::string(text_of(entry.compound));
    }

    // Whether documents must be read for more than the names of their elements.
    bool needs_text() const { return values.group_count() != 0 || has_text_tests_; }
    bool needs_elements() const { return watch_count_ != 0; }

    size_t byte_size() const {
        size_t size = sizeof(Index) + test_versions_.capacity() * sizeof(uint64_t) +
                      subscribers.departures_size() + destinations.byte_size();
        const_cast<Index*>(this)->each_array([&](auto& array) { size += array.byte_size(); });
        return size;
    }

    // Visit every array, always in the same order.
    template <class Visit>
    void each_array(Visit visit) {
        tests.each_array(visit);
        trie.each_array(visit);
        values.each_array(visit);
        subscribers.each_array(visit);
        visit(patterns_);
        visit(compounds_);
        visit(texts_);
        visit(extras_);
        visit(probes_);
        visit(links_);
        visit(triggers_);
        visit(units_);
        visit(branches_);
        visit(segments_);
        visit(denials_);
        segment_slots_.each_array(visit);
        compound_slots_.each_array(visit);
        probe_slots_.each_array(visit);
        known_paths.each_array(visit);
        destinations.each_array(visit);
    }

    // After the arrays were read from a file: whether every number in them leads somewhere, and no
    // list leads back to itself.  Sets what is not in the arrays.  See `soundness.hpp`.
    bool settle(uint64_t version);

    const HashSecret secret;
    const uint64_t generation;  // no two indexes of an engine have the same
    Tests tests;
    Trie trie;
    ValueIndex values;
    Subscribers subscribers;
    KnownPaths known_paths;
    Destinations destinations;

private:
    std::string_view text_of(uint32_t compound) const {
        return {texts_.data() + compounds_[compound].text_begin, compounds_[compound].text_length};
    }

    // --- the trie -----------------------------------------------------------------------------

    // A node has changed: whoever cached paths that end with a name like its own must look again.
    void touch(uint32_t node) {
        if (node == 0) {
            root_version_ = version_ + 1;
        } else {
            test_versions_[trie[node].test] = version_ + 1;
        }
    }

    uint32_t intern_node(std::string_view path) {
        uint32_t node = 0;
        for (PathText step(path); step.next();) {
            const uint32_t test = tests.intern(step.kind, step.form, step.word, secret);
            if (step.kind == Kind::text) has_text_tests_ = true;
            test_versions_.resize(tests.count());
            uint32_t below = trie.find(node, step.descendant, test, secret);
            if (below == NONE) {
                const uint32_t edges = trie[node].edges;
                below = trie.add(node, step.descendant, test, tests, secret);
                if (trie[node].edges != edges) touch(node);
                touch(below);
            }
            node = below;
        }
        return node;
    }

    Extra& extra_of(uint32_t node) {
        if (trie[node].extra == NONE) trie.edit(node).extra = extras_.add({NONE, NONE, NONE, NONE});
        return extras_.edit(trie[node].extra);
    }

    // --- probes and units ---------------------------------------------------------------------

    uint64_t probe_hash(uint32_t node, std::string_view predicate) const {
        return hash_of(hash_of(predicate, secret), node, secret);
    }

    uint32_t intern_probe(uint32_t node, std::string_view predicate) {
        const uint64_t hash = probe_hash(node, predicate);
        const uint32_t known = probe_slots_.find(hash, [&](uint32_t number) {
            return probes_[number].node == node && predicate_of(probes_[number]) == predicate;
        });
        if (known != NONE) return known;
        const uint64_t begin = texts_.append(predicate.data(), predicate.size());
        const uint32_t probe = probes_.add({begin, count_of(predicate), node, NONE, NONE, 0});
        probe_slots_.add(hash, probe, [&](uint32_t other) {
            return probe_hash(probes_[other].node, predicate_of(probes_[other]));
        });
        Extra& extra = extra_of(node);
        if (predicate.empty()) {
            extra.probe = probe;
            touch(node);
            return probe;
        }
        if (extra.group == NONE) {
            extra.group = values.add_group(node);
            touch(node);
        }
        const PredicateGroup before = values.group(extra.group);
        values.add(extra.group, probe, predicate, secret);
        if (before.is_small() || before.seeks != values.group(extra.group).seeks) touch(node);
        touch_group(extra.group);
        return probe;
    }

    void add_unit(uint32_t pattern, const UnitPlan& plan) {
        std::vector<Branch> branches;
        std::vector<uint32_t> probes, denials;
        const bool says_all = !plan.needs_check && plan.denials.empty();
        for (const BranchPlan& branch : plan.branches) {
            const uint32_t node = intern_node(branch.path);
            uint32_t probe = NONE;
            if (branch.is_probe && plan.branches.size() == 1 && says_all &&
                branch.predicate.empty()) {
                Extra& extra = extra_of(node);  // an alternative that is one path
                extra.accept = links_.add({pattern, extra.accept});
                touch(node);
            } else if (branch.is_probe) {
                probes.push_back(probe = intern_probe(node, branch.predicate));
            } else if (Extra& extra = extra_of(node); extra.watch == NONE) {
                extra.watch = watch_count_++;
                touch(node);
            }
            branches.push_back({node, probe, branch.above, NONE});
        }
        for (Branch& branch : branches) {
            if (branch.above != NONE) {
                branch.segment = intern_segment(branch.node, branches[branch.above].node);
            }
        }
        const uint32_t begin =
            static_cast<uint32_t>(branches_.append(branches.data(), branches.size()));
        for (const BranchPlan& denial : plan.denials) {
            denials.push_back(intern_probe(intern_node(denial.path), denial.predicate));
        }
        const uint32_t denials_begin =
            static_cast<uint32_t>(denials_.append(denials.data(), denials.size()));
        const uint32_t unit = units_.add({pattern, begin, count_of(branches), plan.needs_check,
                                          denials_begin, count_of(denials)});
        if (probes.empty()) return;
        if (probes.size() == 1 && says_all) {
            Probe& probe = probes_.edit(probes[0]);
            probe.accept = links_.add({pattern, probe.accept});
            return touch_probe(probe);
        }
        for (const std::vector<uint32_t>* some : {&probes, &denials}) {
            for (const uint32_t probe : *some) {
                if (probes_[probe].asked == 0) touch_probe(probes_[probe]);
                probes_.edit(probe).asked = 1;
            }
        }
        if (plan.branches.size() > 1 && !plan.needs_check) {
            for (const uint32_t probe : probes) {
                if (probes_[probe].joined == 0) touch_probe(probes_[probe]);
                probes_.edit(probe).joined = 1;
            }
        }
        std::sort(probes.begin(), probes.end(),
                  [&](uint32_t one, uint32_t other) { return rarity(one) > rarity(other); });
        Probe& probe = probes_.edit(probes[0]);
        probe.triggers =
            triggers_.add({unit, probes.size() > 1 ? probes[1] : NONE, probe.triggers});
        touch_probe(probe);
    }

    // Count a subscriber; where its bit is new to the pattern, the probes lead to it from now on.
    void count(uint32_t subscriber) {
        const uint32_t pattern = subscribers[subscriber].pattern;
        const uint32_t bit = destinations.bit_of(subscriber);
        if (!destinations.add(pattern, bit) || patterns_[pattern].compound == NONE) return;
        const Compound& compound = compounds_[patterns_[pattern].compound];
        const auto lead = [&](uint32_t probe) {
            if (probe != NONE) destinations.lead(trie[probes_[probe].node].extra, bit);
        };
        std::for_each_n(&units_[compound.units_begin], compound.units_count, [&](const Unit& unit) {
            std::for_each_n(branches(unit), unit.count, [&](auto& each) { lead(each.probe); });
            std::for_each_n(denials(unit), unit.denial_count, lead);
        });
    }

    // What a probe leads to has changed; paths keep copies of that, but for those in large groups.
    void touch_probe(const Probe& probe) {
        const uint32_t group = extras_[trie[probe.node].extra].group;
        if (probe.predicate_length == 0 || values.group(group).is_small()) touch(probe.node);
        if (probe.predicate_length != 0) touch_group(group);
    }

    void touch_group(uint32_t group) {
        group_versions_.resize(values.group_count());
        group_versions_[group] = version_ + 1;
    }

    uint32_t intern_segment(uint32_t from, uint32_t to) {
        const uint64_t hash = hash_of(from, to, secret);
        const uint32_t known = segment_slots_.find(hash, [&](uint32_t number) {
            return segments_[number].from == from && segments_[number].to == to;
        });
        if (known != NONE) return known;
        uint32_t length = 0;
        for (uint32_t node = from; node != to && length != NONE; node = trie[node].parent) {
            length = trie.is_descendant(node) ? NONE : length + 1;
        }
        const uint32_t segment = segments_.add({from, to, length});
        segment_slots_.add(hash, segment, [&](uint32_t other) {
            return hash_of(segments_[other].from, segments_[other].to, secret);
        });
        return segment;
    }

    // A guess at how seldom a probe holds: equalities first, then long paths of names.
    uint32_t rarity(uint32_t number) const {
        const Probe& probe = probes_[number];
        uint32_t score = 0;
        for (uint32_t node = probe.node; node != 0; node = trie[node].parent) {
            score += tests[trie[node].test].form == Form::any ? 1
                     : trie.is_descendant(node)               ? 2
                                                              : 4;
        }
        ComparisonView view{};
        for (PredicateReader reader(predicate_of(probe)); reader.next(view);) {
            score += view.comparison == Comparison::equal_text ? 1000 : 2;
        }
        return score;
    }

    uint32_t take_pattern(const Index& other, uint32_t pattern) {
        const PatternEntry& entry = other.patterns_[pattern];
        if (entry.node != NONE) return intern_path(other.spelling(pattern));
        const Compound& compound = other.compounds_[entry.compound];
        std::vector<UnitPlan> plans;
        for (uint32_t at = 0; at < compound.units_count; ++at) {
            const Unit& unit = other.units_[compound.units_begin + at];
            UnitPlan plan{unit.needs_check != 0, {}, {}};
            for (uint32_t at = 0; at < unit.denial_count; ++at) {
                const Probe& denial = other.probes_[other.denials(unit)[at]];
                plan.denials.push_back({other.trie.spelling(denial.node, other.tests),
                                        std::string(other.predicate_of(denial)), true, NONE});
            }
            for (uint32_t number = 0; number < unit.count; ++number) {
                const Branch& branch = other.branches(unit)[number];
                const bool alone = unit.count == 1;
                const bool is_probe = branch.probe != NONE || alone;
                std::string predicate;
                if (branch.probe != NONE)
                    predicate = other.predicate_of(other.probes_[branch.probe]);
                plan.branches.push_back({other.trie.spelling(branch.node, other.tests), predicate,
                                         is_probe, branch.above});
            }
            plans.push_back(std::move(plan));
        }
        return add_compound(other.text_of(entry.compound), other.program_of(pattern), plans);
    }

    FlatArray<PatternEntry> patterns_;
    FlatArray<Compound> compounds_;
    FlatArray<char> texts_;
    FlatArray<Extra> extras_;
    FlatArray<Probe> probes_;
    FlatArray<Link> links_;
    FlatArray<Trigger> triggers_;
    FlatArray<Unit> units_;
    FlatArray<Branch> branches_;
    FlatArray<Segment> segments_;
    FlatArray<uint32_t> denials_;
    Slots segment_slots_;
    Slots compound_slots_;
    Slots probe_slots_;

    std::vector<uint64_t> test_versions_;
    std::vector<uint64_t> group_versions_;
    uint64_t root_version_ = 0;
    uint64_t version_ = 0;
    uint32_t living_ = 0;
    uint32_t dead_patterns_ = 0;
    uint32_t watch_count_ = 0;
    bool has_text_tests_ = false;
};

}  // namespace twigcast::index
