// The twigs of a set by their conditions that are neither branches nor comparisons.
//
// Such a condition is rarer than most paths, so a twig that asks for some stands as asked at one of
// them instead of in the factorization tree: at the one that the fewest stand at so far.  As given
// it stands at all that it has.  A negation that a comparison may exclude is nothing to go by.
//
// Cost of a search: the twigs at the conditions that are implied, or that imply the rarest one.
#pragma once

#include "cover/path_trie.hpp"
#include "cover/terms.hpp"
#include "cover/twig.hpp"

namespace twigcast::cover {

using namespace base;

class OtherPostings {
public:
    OtherPostings(const Terms& terms, std::vector<StoredTwig>& twigs)
        : terms_(terms), twigs_(twigs) {}

    void add(uint32_t id) {
        StoredTwig& stored = twigs_[id];
        if (!stored.twig.has_others) return;
        given_.resize(terms_.others.size());
        asked_.resize(terms_.others.size());
        for_given(stored.twig, [&](uint32_t other) { given_[other].push_back(id); });
        for_keys(stored.twig, [&](uint32_t other) {
            if (stored.key_other == NONE ||
                asked_[other].size() < asked_[stored.key_other].size()) {
                stored.key_other = other;
            }
        });
        if (stored.key_other != NONE) asked_[stored.key_other].push_back(id);
    }

    void remove(uint32_t id) {
        const StoredTwig& stored = twigs_[id];
        if (!stored.twig.has_others) return;
        for_given(stored.twig, [&](uint32_t other) { take_out(given_[other], id); });
        if (stored.key_other != NONE) take_out(asked_[stored.key_other], id);
    }

    // Call `report` once with each twig that stands as asked at what a given one implies.
    template <class Report>
    void find_asked(const Twig& given, Report report) {
        if (!given.has_others) return;
        implied_.clear();
        for_given(given, [&](uint32_t other) {
            implied_.push_back(other);
            const std::vector<uint32_t>& more = terms_.others.implied(other);
            implied_.insert(implied_.end(), more.begin(), more.end());
        });
        std::sort(implied_.begin(), implied_.end());
        implied_.erase(std::unique(implied_.begin(), implied_.end()), implied_.end());
        for (const uint32_t other : implied_) {
            if (other >= asked_.size()) break;
            for (const uint32_t id : asked_[other]) report(id);
        }
    }

    // Call `report` with each twig that has what implies the rarest condition of an asked one; some
    // come several times.  False where it has none to go by.
    template <class Report>
    bool find_given(const Twig& asked, Report report) {
        uint32_t rarest = NONE;
        size_t fewest = ~size_t{0};
        for_keys(asked, [&](uint32_t other) {
            size_t count = 0;
            for_implying(other, [&](uint32_t) { ++count; });
            if (count < fewest) {
                fewest = count;
                rarest = other;
            }
        });
        if (rarest == NONE) return false;
        for_implying(rarest, report);
        return true;
    }

private:
    template <class Use>
    static void for_given(const Twig& twig, Use use) {
        for (const GivenNode& node : twig.nodes) {
            for (uint32_t at = 0; at < node.other_count; ++at) use(twig.atoms[node.others() + at]);
        }
    }

    // The asked conditions that only others imply.
    template <class Use>
    void for_keys(const Twig& twig, Use use) const {
        for (const AskedNode& node : twig.asked) {
            for (uint32_t at = 0; at < node.other_count; ++at) {
                const uint32_t other = twig.atoms[node.others + at];
                if (terms_.denial(other).of == Denial::Of::nothing) use(other);
            }
        }
    }

    template <class Report>
    void for_implying(uint32_t other, Report report) const {
        report_given(other, report);
        for (const uint32_t stronger : terms_.others.implying(other))
            report_given(stronger, report);
    }

    template <class Report>
    void report_given(uint32_t other, Report& report) const {
        if (other >= given_.size()) return;
        for (const uint32_t id : given_[other]) report(id);
    }

    const Terms& terms_;
    std::vector<StoredTwig>& twigs_;
    std::vector<std::vector<uint32_t>> given_, asked_;
    std::vector<uint32_t> implied_;
};

}  // namespace twigcast::cover
