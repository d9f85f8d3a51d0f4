// A hash table and linked lists of numbers, without pointers in them.
//
// Slots is an open-addressing table of numbers: what a number stands for, and its hash, are the
// owner's business.  Nothing is ever taken out of Slots: owners leave the dead in, put others in
// their place where they can, and are rebuilt when there are too many.
#pragma once

#include "base/common.hpp"
#include "base/flat_array.hpp"

namespace twigcast::base {

class Slots {
public:
    // The number for which `is_it` holds among those with this hash, or NONE.
    template <class IsIt>
    uint32_t find(uint64_t hash, IsIt is_it) const {
        if (table_.empty()) return NONE;
        const size_t mask = table_.size() - 1;
        for (size_t slot = hash & mask;; slot = (slot + 1) & mask) {
            const Slot& entry = table_[slot];
            if (entry.number == NONE) return NONE;
            if (entry.tag == tag_of(hash) && is_it(entry.number)) return entry.number;
        }
    }

    // Ask for the memory that `find` will look at.
    void prefetch(uint64_t hash) const {
        if (!table_.empty()) __builtin_prefetch(&table_[hash & (table_.size() - 1)]);
    }

    // The first number that `find` would ask about; NONE if there is none.
    uint32_t guess(uint64_t hash) const {
        return find(hash, [](uint32_t) { return true; });
    }

    // `hash_of_number` gives the hash of any number in the table, for when it grows.
    template <class HashOfNumber>
    void add(uint64_t hash, uint32_t number, HashOfNumber hash_of_number) {
        if (table_.size() * 2 < (used_ + 1) * 3) widen(hash_of_number);
        put(hash, number);
        ++used_;
    }

    // Put a number in the place of one with this hash for which `is_it` holds; false without one.
    template <class IsIt>
    bool replace(uint64_t hash, uint32_t number, IsIt is_it) {
        if (table_.empty()) return false;
        const size_t mask = table_.size() - 1;
        for (size_t slot = hash & mask; table_[slot].number != NONE; slot = (slot + 1) & mask) {
            if (table_[slot].tag == tag_of(hash) && is_it(table_[slot].number)) {
                table_.edit(slot).number = number;
                return true;
            }
        }
        return false;
    }

    template <class Visit>
    void each_array(Visit visit) {
        visit(table_);
    }

    // Whether all numbers are below `count`, after a file was read; counts them anew.
    bool is_sound(size_t count) {
        if ((table_.size() & (table_.size() - 1)) != 0) return false;
        used_ = 0;
        for (size_t slot = 0; slot < table_.size(); ++slot) {
            if (table_[slot].number == NONE) continue;
            if (table_[slot].number >= count) return false;
            ++used_;
        }
        return table_.empty() || used_ < table_.size();
    }

private:
    struct Slot {
        uint32_t number = NONE;
        uint32_t tag = 0;  // the upper half of the hash
    };

    static uint32_t tag_of(uint64_t hash) { return static_cast<uint32_t>(hash >> 32); }

    void put(uint64_t hash, uint32_t number) {
        const size_t mask = table_.size() - 1;
        size_t slot = hash & mask;
        while (table_[slot].number != NONE) slot = (slot + 1) & mask;
        table_.edit(slot) = {number, tag_of(hash)};
    }

    template <class HashOfNumber>
    void widen(HashOfNumber hash_of_number) {
        std::vector<Slot> wider(table_.empty() ? 16 : table_.size() * 2);
        table_.swap_with(wider);
        for (const Slot& slot : wider) {
            if (slot.number != NONE) put(hash_of_number(slot.number), slot.number);
        }
    }

    FlatArray<Slot> table_;  // a power of two of them, at most two thirds full
    size_t used_ = 0;
};

// Lists of numbers that share one array; the newest comes first.
struct Link {
    uint32_t value;
    uint32_t next;  // an older one, or NONE
};

}  // namespace twigcast::base
