// The probes that the value index has filed for the texts of a document's values.
//
//     a block of values ──► hashes ──► lists of probes ──► candidates ──► those that hold
//
// Each arrow leads to other memory, so the values of a block take each step together.
#pragma once

#include "index/index.hpp"
#include "match/part_search.hpp"

namespace twigcast::match {

using namespace base;
using namespace index;

// A value among the waiting ones: where it stands, and in which text.
struct Stand {
    PartSearch* parts;
    size_t begin, end;
};

class TextSearch {
public:
    PartSearch in_elements, in_leaves;

    void start(const Index& index) {
        index_ = &index;
        in_elements.clear();
        in_leaves.clear();
    }

    // Read what was not yet read of the texts of elements, and of attributes and text nodes.
    void read(std::string_view elements, std::string_view leaves) {
        in_elements.read(index_->values.parts, index_->secret, elements);
        in_leaves.read(index_->values.parts, index_->secret, leaves);
    }

    // All values that have ended were looked up.
    void finish() {
        if (in_elements.is_over()) in_elements.clear();
        in_leaves.clear();
    }

    // Look up a value in a group; `test` is the caller's number of the value.
    void look_up(uint32_t group, Value& value, uint32_t test) {
        index_->values.each_filed_hash(group, value, index_->secret, [&](uint64_t hash) {
            filed_.push_back({hash, test, group, NONE, nullptr});
        });
        index_->values.each_other(group, value,
                                  [&](uint32_t probe) { add_candidate(probe, test, NONE); });
    }

    // Look up the parts that a value has in groups.
    void look_up_parts(const uint32_t* first, const uint32_t* last, const Stand& stand,
                       uint32_t test) {
        stand.parts->each_in(stand.begin, stand.end, [&](const MetPart& met, uint32_t number) {
            for (const uint32_t* group = first; group < last; ++group) {
                if (index_->values.group(*group).seeks == 0 || met.settled == *group) continue;
                const uint64_t hash = index_->values.part_hash(met.part, *group, index_->secret);
                filed_.push_back({hash, test, *group, number, stand.parts});
            }
        });
    }

    // Visit the probes that may hold, with the number of the value, its value by `value_of`, and
    // where it stands by `stand_of`.
    template <class ValueOf, class StandOf, class Visit>
    void each_holding(ValueOf value_of, StandOf stand_of, Visit visit) {
        for (int stage = 0; stage < 3; ++stage) {
            for (const Filed& filed : filed_) index_->values.prefetch_filed(filed.hash, stage);
        }
        for (uint32_t at = 0; at < count_of(filed_); ++at) {
            index_->values.each_filed(filed_[at].hash, [&](uint32_t probe) {
                add_candidate(probe, filed_[at].test, at);
            });
        }
        for (const Candidate& candidate : candidates_) {
            const Probe& probe = index_->probe(candidate.probe);
            __builtin_prefetch(index_->predicate_of(probe).data());
            if (probe.accept != NONE) __builtin_prefetch(&index_->link(probe.accept));
        }
        for (const Candidate& candidate : candidates_) {
            Value& value = value_of(candidate.test);
            if (holds(candidate, value, stand_of)) visit(candidate.probe, candidate.test);
        }
        for (const Filed& filed : filed_) {
            if (filed.settles && filed.parts != nullptr) {
                filed.parts->settle(filed.met, filed.group);
            }
        }
        filed_.clear();
        candidates_.clear();
    }

    // A value that is longer must have a block of its own.
    static constexpr size_t LONGEST = 256;

private:
    // A look-up.
    struct Filed {
        uint64_t hash;
        uint32_t test;
        uint32_t group;
        uint32_t met;       // the part, in `parts`
        PartSearch* parts;  // null where no part is looked up
        bool settles = true;
    };
    struct Candidate {
        uint32_t probe;
        uint32_t test;
        uint32_t filed;  // the look-up that led to it, or NONE
    };

    void add_candidate(uint32_t probe, uint32_t test, uint32_t filed) {
        __builtin_prefetch(&index_->probe(probe));
        candidates_.push_back({probe, test, filed});
    }

    template <class StandOf>
    bool holds(const Candidate& candidate, Value& value, StandOf stand_of) {
        const Probe& probe = index_->probe(candidate.probe);
        const std::string_view predicate = index_->predicate_of(probe);
        if (candidate.filed == NONE) return predicate_holds(predicate, value);
        Filed& filed = filed_[candidate.filed];
        if (probe.node != index_->values.group(filed.group).node) return false;  // hashes are equal
        if (filed.parts == nullptr) return predicate_holds(predicate, value);
        const Parts& parts = index_->values.parts;
        const bool is_all = asks_only_for(predicate, parts.text_of(filed.parts->part(filed.met)));
        filed.settles = filed.settles && is_all && probe.joined == 0;
        if (is_all) return true;
        if (value.text.size() <= LONGEST) return predicate_holds(predicate, value);
        const size_t begin = stand_of(candidate.test).begin;
        ComparisonView view{};
        for (PredicateReader reader(predicate); reader.next(view);) {
            if (view.is_part()) {
                const uint32_t other = parts.find(view.text, index_->secret);
                if (other == NONE || !filed.parts->has(other, begin)) return false;
            } else if (!view.holds(value)) {
                return false;
            }
        }
        return true;
    }

    const Index* index_ = nullptr;
    std::vector<Filed> filed_;
    std::vector<Candidate> candidates_;
};

}  // namespace twigcast::match
