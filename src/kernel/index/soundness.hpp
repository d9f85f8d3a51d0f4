// Whether the arrays of an index that came from a file can be trusted: every number in them leads
// to something that is there, and every list leads to older entries, so that none goes in circles.
#pragma once

#include "index/index.hpp"

namespace twigcast::index {

using namespace base;

// Whether the bytes are UTF-8, in which surrogates may stand by themselves, as in Python's texts.
inline bool is_utf_8(std::string_view bytes) {
    while (!bytes.empty()) {
        // Nearly all is ASCII.
        while (bytes.size() >= 8 && (load<uint64_t>(bytes.data()) & 0x8080808080808080) == 0) {
            bytes.remove_prefix(8);
        }
        if (bytes.empty()) break;
        const unsigned char first = static_cast<unsigned char>(bytes[0]);
        const size_t length = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
        if ((first >= 0x80 && first < 0xC2) || first > 0xF4 || bytes.size() < length) return false;
        for (size_t at = 1; at < length; ++at) {
            if ((static_cast<unsigned char>(bytes[at]) & 0xC0) != 0x80) return false;
        }
        // None is written longer than it need be, and none is above U+10FFFF.
        const unsigned char second = length == 1 ? 0 : static_cast<unsigned char>(bytes[1]);
        if ((first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90) ||
            (first == 0xF4 && second > 0x8F)) {
            return false;
        }
        bytes.remove_prefix(length);
    }
    return true;
}

// Whether a test, spelled and read again, is the same: indexes are rebuilt from spellings.
inline bool is_spelled(const Tests& tests, uint32_t number) {
    const Test& test = tests[number];
    const std::string path = "/" + tests.spelling(number);
    PathText step(path);
    if (!step.next() || !step.at_end() || step.descendant) return false;
    if (step.kind != test.kind || step.form != test.form) return false;
    return test.form == Form::any || (step.word == tests.word_of(test) && is_utf_8(step.word));
}

// Whether the hash table leads to each node.  Else the node would be added again, and then two
// paths with the same beginning would lead through different nodes.  In blocks, so that memory is
// fetched before it is used.
inline bool are_reachable(const Trie& trie, const HashSecret& secret) {
    constexpr uint32_t BLOCK = 16;
    Trie::Sought sought[BLOCK];
    if (trie[0].parent != NONE) return false;  // the root is below no node
    for (uint32_t begin = 1; begin < trie.count(); begin += BLOCK) {
        const uint32_t size = std::min(BLOCK, trie.count() - begin);
        for (uint32_t at = 0; at < size; ++at) {
            const TrieNode& node = trie[begin + at];
            trie.seek(node.parent, trie.is_descendant(begin + at), node.test, secret, sought[at]);
        }
        for (uint32_t at = 0; at < size; ++at) {
            if (trie.find(sought[at]) != begin + at) return false;
        }
    }
    return true;
}

inline bool Index::settle(uint64_t version) {
    const auto is_list = [](const auto& links, size_t values) {
        for (uint32_t at = 0; at < links.count(); ++at) {
            if (links[at].next != NONE && links[at].next >= at) return false;
            if (links[at].value >= values) return false;
        }
        return true;
    };
    const auto fits = [](uint64_t begin, uint64_t length, size_t size) {
        return begin <= size && length <= size - begin;
    };
    const auto is_number = [](uint32_t number, size_t count) {
        return number == NONE || number < count;
    };
    if (!tests.is_sound() || !trie.is_sound(tests.count(), patterns_.size(), extras_.size()))
        return false;
    if (!values.is_sound(trie.count(), probes_.count())) return false;
    if (!subscribers.is_sound(patterns_)) return false;
    if (!is_list(links_, patterns_.size())) return false;
    watch_count_ = 0;
    for (uint32_t at = 0; at < extras_.count(); ++at) {
        const Extra& extra = extras_[at];
        if (!is_number(extra.probe, probes_.size()) ||
            !is_number(extra.group, values.group_count()) ||
            !is_number(extra.watch, extras_.size()) || !is_number(extra.accept, links_.size())) {
            return false;
        }
        if (extra.watch != NONE) watch_count_ = std::max(watch_count_, extra.watch + 1);
    }
    for (uint32_t at = 0; at < subscribers.count(); ++at) {
        if (!is_utf_8(subscribers.key_of(at))) return false;
    }
    living_ = dead_patterns_ = 0;
    for (uint32_t at = 0; at < patterns_.count(); ++at) {
        const PatternEntry& pattern = patterns_[at];
        if (!is_number(pattern.node, trie.count()) ||
            !is_number(pattern.compound, compounds_.size()) ||
            (pattern.node == NONE) == (pattern.compound == NONE) || pattern.node == 0 ||
            (pattern.node != NONE && trie[pattern.node].pattern != at)) {
            return false;
        }
        living_ += pattern.living;
        if (pattern.living == 0) ++dead_patterns_;
    }
    for (uint32_t at = 0; at < compounds_.count(); ++at) {
        const Compound& compound = compounds_[at];
        if (!fits(compound.text_begin, compound.text_length, texts_.size()) ||
            !fits(compound.program_begin, compound.program_length, texts_.size()) ||
            !fits(compound.units_begin, compound.units_count, units_.size()) ||
            compound.pattern >= patterns_.size() || !is_utf_8(text_of(at))) {
            return false;
        }
    }
    for (uint32_t at = 0; at < probes_.count(); ++at) {
        const Probe& probe = probes_[at];
        if (!fits(probe.predicate_begin, probe.predicate_length, texts_.size()) ||
            !is_predicate(predicate_of(probe)) || probe.node >= trie.count() ||
            trie[probe.node].extra == NONE ||
            (probe.predicate_length != 0 && extras_[trie[probe.node].extra].group == NONE) ||
            !is_number(probe.accept, links_.size()) ||
            !is_number(probe.triggers, triggers_.size())) {
            return false;
        }
    }
    for (uint32_t at = 0; at < triggers_.count(); ++at) {
        const Trigger& trigger = triggers_[at];
        if (trigger.unit >= units_.size() || !is_number(trigger.other, probes_.size()) ||
            (trigger.next != NONE && trigger.next >= at)) {
            return false;
        }
    }
    for (uint32_t at = 0; at < units_.count(); ++at) {
        const Unit& unit = units_[at];
        if (unit.pattern >= patterns_.size() || patterns_[unit.pattern].compound == NONE ||
            unit.count == 0 || unit.count > MOST_BRANCHES || unit.denial_count > MOST_BRANCHES ||
            !fits(unit.begin, unit.count, branches_.size()) ||
            !fits(unit.denials, unit.denial_count, denials_.size())) {
            return false;
        }
        for (uint32_t number = 0; number < unit.count; ++number) {
            const Branch& branch = branches_[unit.begin + number];
            const bool last = number + 1 == unit.count;
            if (branch.node == 0 || branch.node >= trie.count()) return false;
            if (!is_number(branch.probe, probes_.size())) return false;
            const bool hangs = branch.above != NONE;
            if (hangs && (last || branch.above <= number || branch.above >= unit.count)) {
                return false;
            }
            if (hangs ? branch.segment >= segments_.size() : branch.segment != NONE) return false;
            if (hangs &&
                (segments_[branch.segment].from != branch.node ||
                 segments_[branch.segment].to != branches_[unit.begin + branch.above].node)) {
                return false;
            }
            if (branch.probe == NONE && unit.count > 1 &&
                (trie[branch.node].extra == NONE ||
                 extras_[trie[branch.node].extra].watch == NONE)) {
                return false;
            }
        }
    }
    for (uint32_t at = 0; at < denials_.count(); ++at) {
        if (denials_[at] >= probes_.size()) return false;
    }
    for (uint32_t at = 0; at < triggers_.count(); ++at) {
        const Unit& unit = units_[triggers_[at].unit];
        if (unit.count == 1 && branches_[unit.begin].probe == NONE) return false;
    }
    for (uint32_t test = 0; test < tests.count(); ++test) {
        if (!is_spelled(tests, test)) return false;
    }
    for (uint32_t at = 0; at < segments_.count(); ++at) {
        uint32_t node = segments_[at].from;
        if (node >= trie.count()) return false;
        uint32_t length = 0;
        for (; node > segments_[at].to; node = trie[node].parent) {
            length = length == NONE || trie.is_descendant(node) ? NONE : length + 1;
        }
        if (length != segments_[at].length) return false;
        if (node == 0 || node != segments_[at].to || trie[node].extra == NONE) return false;
    }
    if (!known_paths.is_sound(tests)) return false;
    if (!segment_slots_.is_sound(segments_.size())) return false;
    if (!compound_slots_.is_sound(compounds_.size()) || !probe_slots_.is_sound(probes_.size()))
        return false;
    if (!tests.are_reachable(secret) || !are_reachable(trie, secret)) return false;
    has_text_tests_ = false;
    for (uint32_t node = 1; node < trie.count(); ++node) {
        // Nothing lies below a text; spelled, one that is not the last step would be an element.
        const uint32_t parent = trie[node].parent;
        if (parent != 0 && trie[parent].test == ANY_TEXT) return false;
        if (trie[node].test == ANY_TEXT) has_text_tests_ = true;
    }
    if (!destinations.is_sound(subscribers.count())) return false;
    if (destinations.are_any()) subscribers.each_living([&](uint32_t each) { count(each); });
    test_versions_.assign(tests.count(), 0);
    group_versions_.assign(values.group_count(), 0);
    root_version_ = 0;
    version_ = version;
    return true;
}

}  // namespace twigcast::index
