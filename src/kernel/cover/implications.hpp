// Conditions that are neither branches nor comparisons, as numbers, and which implies which.
//
//     not(a)   ──implies──►   not(a/b) , not(a[c])          by conditions.py, once for a pair
//
// A search has few such conditions and the set may have many.  So before the search, whoever knows
// what the conditions mean compares those of the search with those of the set that are new, and
// leaves the pairs here: for a given condition what it implies, for an asked one what implies it.
// Signatures (signatures.py) rule out nearly all pairs.  Afterwards the search asks only here.
//
// Cost: four words for each condition of the set when a condition is searched for the first time,
// then only for those that are new.  The lists are dropped when they grow past a bound.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/common.hpp"

namespace twigcast::cover {

using namespace base;

class Implications {
public:
    using Bits = std::array<uint64_t, 4>;

    uint32_t add(const Bits& needs, const Bits& offers, bool is_negated) {
        signatures_.push_back({needs, offers, is_negated});
        lists_.resize(signatures_.size());
        return count_of(signatures_) - 1;
    }

    size_t size() const { return signatures_.size(); }

    bool implies(uint32_t given, uint32_t asked) const {
        return given == asked || holds(lists_[given].implied.others, asked) ||
               holds(lists_[asked].implying.others, given);
    }

    // The conditions, besides itself, that a given one implies; those that imply an asked one.
    const std::vector<uint32_t>& implied(uint32_t given) const {
        return lists_[given].implied.others;
    }
    const std::vector<uint32_t>& implying(uint32_t asked) const {
        return lists_[asked].implying.others;
    }

    // The conditions that have yet to be compared with one, which is given or asked.
    std::vector<uint32_t> open(uint32_t one, bool is_given) const {
        std::vector<uint32_t> others;
        const List& list = is_given ? lists_[one].implied : lists_[one].implying;
        for (uint32_t other = list.compared; other < signatures_.size(); ++other) {
            if (other != one && (is_given ? may_imply(one, other) : may_imply(other, one))) {
                others.push_back(other);
            }
        }
        return others;
    }

    // Of those, the ones that are implied or imply it.
    void settle(uint32_t one, bool is_given, const std::vector<uint32_t>& others) {
        List& list = is_given ? lists_[one].implied : lists_[one].implying;
        list.others.insert(list.others.end(), others.begin(), others.end());
        list.compared = count_of(signatures_);
        length_ += others.size();
    }

    // Drop all lists if they are long; before a search, since it needs some.
    void make_room() {
        if (length_ <= LONGEST) return;
        lists_.assign(signatures_.size(), {});
        length_ = 0;
    }

private:
    struct Signature {
        Bits needs, offers;
        bool is_negated;
    };
    struct List {
        std::vector<uint32_t> others;  // in order
        uint32_t compared = 0;         // with the conditions before this one
    };
    struct Lists {
        List implied, implying;
    };

    static constexpr size_t LONGEST = 4'000'000;

    static bool holds(const std::vector<uint32_t>& list, uint32_t one) {
        return !list.empty() && std::binary_search(list.begin(), list.end(), one);
    }

    bool may_imply(uint32_t given, uint32_t asked) const {
        if (signatures_[given].is_negated != signatures_[asked].is_negated) return false;
        if (signatures_[given].is_negated) std::swap(given, asked);
        const Bits &needs = signatures_[asked].needs, &offers = signatures_[given].offers;
        return ((needs[0] & ~offers[0]) | (needs[1] & ~offers[1]) | (needs[2] & ~offers[2]) |
                (needs[3] & ~offers[3])) == 0;
    }

    std::vector<Signature> signatures_;
    std::vector<Lists> lists_;
    size_t length_ = 0;
};

}  // namespace twigcast::cover
