// Whether the arrays of an index that came from a file can be trusted: every number in them leads
// to something that is there, and every list leads to older entries, so that none goes in circles.
#pragma once

#include <algorithm>
#include <cstdint>

#include "_index.hpp"

namespace twigcast {

inline bool Index::settle(std::uint64_t version) {
    const auto is_list = [](const auto& links, std::size_t values) {
        for (std::uint32_t at = 0; at < links.count(); ++at) {
            if (links[at].next != NONE && links[at].next >= at) return false;
            if (links[at].value >= values) return false;
        }
        return true;
    };
    const auto fits = [](std::uint64_t begin, std::uint64_t length, std::size_t size) {
        return begin <= size && length <= size - begin;
    };
    const auto is_number = [](std::uint32_t number, std::size_t count) {
        return number == NONE || number < count;
    };
    if (!tests.is_sound() || !trie.is_sound(tests.count(), links_.size(), extras_.size())) return false;
    if (!values.is_sound(trie.count(), probes_.count())) return false;
    if (!subscribers.is_sound(patterns_.count())) return false;
    if (!is_list(links_, patterns_.size())) return false;
    watch_count_ = 0;
    for (std::uint32_t at = 0; at < extras_.count(); ++at) {
        const Extra& extra = extras_[at];
        if (!is_number(extra.probe, probes_.size()) || !is_number(extra.place, values.place_count()) ||
            !is_number(extra.watch, extras_.size())) {
            return false;
        }
        if (extra.watch != NONE) watch_count_ = std::max(watch_count_, extra.watch + 1);
    }
    living_ = dead_patterns_ = 0;
    for (std::uint32_t at = 0; at < patterns_.count(); ++at) {
        const PatternEntry& pattern = patterns_[at];
        if (!is_number(pattern.subscribers, subscribers.count()) ||
            !is_number(pattern.node, trie.count()) || !is_number(pattern.compound, compounds_.size()) ||
            (pattern.node == NONE) == (pattern.compound == NONE)) {
            return false;
        }
        living_ += pattern.living;
        if (pattern.living == 0) ++dead_patterns_;
    }
    for (std::uint32_t at = 0; at < compounds_.count(); ++at) {
        const Compound& compound = compounds_[at];
        if (!fits(compound.text_begin, compound.text_length, texts_.size()) ||
            !fits(compound.program_begin, compound.program_length, texts_.size()) ||
            !fits(compound.units_begin, compound.units_count, units_.size()) ||
            compound.pattern >= patterns_.size()) {
            return false;
        }
    }
    for (std::uint32_t at = 0; at < probes_.count(); ++at) {
        const Probe& probe = probes_[at];
        if (!fits(probe.predicate_begin, probe.predicate_length, texts_.size()) ||
            !is_predicate(predicate_of(probe)) || probe.node >= trie.count() ||
            trie[probe.node].extra == NONE ||
            (probe.predicate_length != 0 && extras_[trie[probe.node].extra].place == NONE) ||
            !is_number(probe.accept, links_.size()) ||
            !is_number(probe.triggers, triggers_.size())) {
            return false;
        }
    }
    for (std::uint32_t at = 0; at < triggers_.count(); ++at) {
        const Trigger& trigger = triggers_[at];
        if (trigger.unit >= units_.size() || !is_number(trigger.other, probes_.size()) ||
            (trigger.next != NONE && trigger.next >= at)) {
            return false;
        }
    }
    for (std::uint32_t at = 0; at < units_.count(); ++at) {
        const Unit& unit = units_[at];
        if (unit.pattern >= patterns_.size() || patterns_[unit.pattern].compound == NONE ||
            unit.count == 0 || !fits(unit.begin, unit.count, branches_.size())) {
            return false;
        }
        for (std::uint32_t number = 0; number < unit.count; ++number) {
            const Branch& branch = branches_[unit.begin + number];
            const bool last = number + 1 == unit.count;
            if (branch.node >= trie.count() || !is_number(branch.probe, probes_.size())) return false;
            if (last ? branch.above != NONE : branch.above <= number || branch.above >= unit.count) {
                return false;
            }
            if (last ? branch.segment != NONE : branch.segment >= segments_.size()) return false;
            if (last ? unit.count > 1 && branch.probe != NONE
                     : segments_[branch.segment].from != branch.node ||
                           segments_[branch.segment].to != branches_[unit.begin + branch.above].node) {
                return false;
            }
            if (branch.probe == NONE && unit.count > 1 &&
                (trie[branch.node].extra == NONE || extras_[trie[branch.node].extra].watch == NONE)) {
                return false;
            }
        }
    }
    for (std::uint32_t at = 0; at < triggers_.count(); ++at) {
        const Unit& unit = units_[triggers_[at].unit];
        if (unit.count == 1 && branches_[unit.begin].probe == NONE) return false;
    }
    for (std::uint32_t test = 0; test < tests.count(); ++test) {
        if (!is_path("/" + tests.spelling(test))) return false;
    }
    for (std::uint32_t at = 0; at < segments_.count(); ++at) {
        std::uint32_t node = segments_[at].from;
        if (node >= trie.count()) return false;
        std::uint32_t length = 0;
        for (; node > segments_[at].to; node = trie[node].parent) {
            length = length == NONE || trie.is_descendant(node) ? NONE : length + 1;
        }
        if (length != segments_[at].length) return false;
        if (node == 0 || node != segments_[at].to || trie[node].extra == NONE) return false;
    }
    if (!segment_slots_.is_sound(segments_.size())) return false;
    if (!compound_slots_.is_sound(compounds_.size()) || !probe_slots_.is_sound(probes_.size())) return false;
    has_text_tests_ = false;
    for (std::uint32_t node = 1; node < trie.count(); ++node) {
        if (trie[node].test == ANY_TEXT) has_text_tests_ = true;
    }
    test_versions_.assign(tests.count(), 0);
    place_versions_.assign(values.place_count(), 0);
    root_version_ = 0;
    version_ = version;
    return true;
}

}  // namespace twigcast
