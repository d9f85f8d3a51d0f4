// Units whose triggers hold, and what becomes of them at the end of the document.
//
//     trigger ──► other probes hold ──► nothing repeats, is denied, or needs a check: accepted
//                                   └─► else joined, or the pattern is asked exactly
//
// Triggers wait until the document has ended.  Their records lie all over memory, so they are asked
// for before they are used.
#pragma once

#include "match/hits.hpp"
#include "match/join.hpp"
#include "match/path_cache.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

class UnitSearch {
public:
    UnitSearch(PathCache& paths, Hits& hits, Join& join)
        : paths_(paths), hits_(hits), join_(join) {}

    void start(const Index& index) {
        index_ = &index;
        pending_.clear();
        triggering_.clear();
        waiting_.clear();
        asked_.clear();
        exact_ = false;
    }

    // Triggers hold: those between two numbers of the cache's lists, or all of a probe.
    void add_triggers(uint32_t begin, uint32_t end) {
        if (begin != end) pending_.push_back({begin, end});
    }
    void add_probe(uint32_t probe) {
        if (index_->probe(probe).triggers != NONE) triggering_.push_back(probe);
    }

    // Paths are about to be forgotten, and with them which element stands where.
    void forget_paths() {
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
    const std::vector<uint32_t>& find() {
        if (hits_.is_complete()) return asked_;
        triggered_.clear();
        each_pending([&](const CachedTrigger& trigger) {
            if (trigger.other != NONE && !hits_.holds(trigger.other)) return;
            const TriggerRecord* const record = &paths_.effects.triggers.record(trigger.record);
            __builtin_prefetch(record);
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
            if (at + AHEAD < undecided_.size()) {
                __builtin_prefetch(&index_->unit(undecided_[at + AHEAD]));
            }
            if (at + AHEAD / 2 < undecided_.size()) {
                __builtin_prefetch(index_->branches(index_->unit(undecided_[at + AHEAD / 2])));
            }
            decide(index_->unit(undecided_[at]));
        }
        undecided_.clear();
        const auto is_accepted = [&](uint32_t pattern) { return hits_.is_accepted(pattern); };
        asked_.erase(std::remove_if(asked_.begin(), asked_.end(), is_accepted), asked_.end());
        std::sort(asked_.begin(), asked_.end());
        asked_.erase(std::unique(asked_.begin(), asked_.end()), asked_.end());
        return asked_;
    }

private:
    static constexpr size_t AHEAD = 8;

    template <class Visit>
    void each_pending(Visit visit) const {
        for (size_t at = 0; at < pending_.size(); ++at) {
            if (at + AHEAD < pending_.size()) {
                __builtin_prefetch(paths_.trigger(pending_[at + AHEAD].first));
            }
            const CachedTrigger* const last = paths_.trigger(pending_[at].second);
            for (const CachedTrigger* trigger = paths_.trigger(pending_[at].first); trigger < last;
                 ++trigger) {
                visit(*trigger);
            }
        }
    }

    // The first two probes of the unit hold.
    void look_at(const TriggerRecord& trigger) {
        if (hits_.seeks_destinations() && hits_.is_accepted(trigger.pattern)) return;
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
            return;
        }
        hits_.look_at(1);
        if (join_.holds(*index_, unit)) hits_.accept(unit.pattern);
    }

    const Index* index_ = nullptr;
    PathCache& paths_;
    Hits& hits_;
    Join& join_;

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
