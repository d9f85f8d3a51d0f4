// The units that a probe triggers, copied to where a document meets the probe.
//
//     list of a path, or of a probe with a value:   other probe, record;  other probe, record;  …
//                                                                  │
//     records, each once:                pattern, unit, all else that must hold
//
// Three of four units fail because the other probe does not hold.  So these stand close together,
// and the records of the others are asked for before they are used.
#pragma once

#include <cstring>
#include <limits>

#include "index/index.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

using Lists = std::vector<uint32_t>;

template <class T>
uint32_t append(std::vector<T>& all, const std::vector<T>& some) {
    const uint32_t begin = count_of(all);
    all.insert(all.end(), some.begin(), some.end());
    return begin;
}

// An entry of a list.
struct CachedTrigger {
    uint32_t other;  // a probe to be asked first, or NONE
    uint32_t record;
};

// A unit to look at; behind it come the numbers of the probes that must hold besides `other`, those
// of the points where its branches part, and its denials.
struct TriggerRecord {
    uint32_t pattern, unit;
    uint16_t probes, watches, denials;  // how many follow
    uint16_t needs_check;

    const uint32_t* first_probe() const { return reinterpret_cast<const uint32_t*>(this + 1); }
    const uint32_t* first_watch() const { return first_probe() + probes; }
    const uint32_t* first_denial() const { return first_watch() + watches; }
};
static_assert(sizeof(TriggerRecord) == 4 * sizeof(uint32_t));
static_assert(MOST_BRANCHES <= std::numeric_limits<uint16_t>::max());

class Triggers {
public:
    void clear() {
        words_ = {};
        records_ = {};
    }
    size_t byte_size() const { return (words_.size() + records_.size()) * sizeof(uint32_t); }

    const TriggerRecord& record(uint32_t number) const {
        return *reinterpret_cast<const TriggerRecord*>(words_.data() + number);
    }

    // Add what the probe triggers to a list, as CachedTriggers.
    void copy(const Index& index, uint32_t probe, Lists& list) {
        uint32_t at = index.probe(probe).triggers;
        for (; at != NONE; at = index.trigger(at).next) {
            if (at >= records_.size()) records_.resize(at + size_t{1}, NONE);
            if (records_[at] == NONE) records_[at] = add(index, probe, index.trigger(at));
            list.insert(list.end(), {index.trigger(at).other, records_[at]});
        }
    }

private:
    uint32_t add(const Index& index, uint32_t probe, const Trigger& trigger) {
        const Unit& unit = index.unit(trigger.unit);
        const Branch* const branches = index.branches(unit);
        const uint32_t begin = count_of(words_);
        TriggerRecord counted{unit.pattern, trigger.unit, 0, 0, 0, 0};
        words_.resize(begin + sizeof counted / sizeof(uint32_t));
        for (uint32_t number = 0; number < unit.count; ++number) {
            const uint32_t other = branches[number].probe;
            if (other == NONE || other == probe || other == trigger.other) continue;
            words_.push_back(other);
            ++counted.probes;
        }
        for (uint32_t number = 0; unit.needs_check == 0 && number < unit.count; ++number) {
            if (branches[number].probe != NONE) continue;
            words_.push_back(index.watch_at(branches[number].node));
            ++counted.watches;
        }
        words_.insert(words_.end(), index.denials(unit), index.denials(unit) + unit.denial_count);
        counted.denials = static_cast<uint16_t>(unit.denial_count);
        counted.needs_check = unit.needs_check != 0;
        std::memcpy(words_.data() + begin, &counted, sizeof counted);
        return begin;
    }

    Lists words_;    // of the records
    Lists records_;  // by the number of the trigger in the index
};

}  // namespace twigcast::match
