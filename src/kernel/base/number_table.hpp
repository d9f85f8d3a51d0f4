// A hash table from numbers of 64 bits to numbers of 32 bits: linear probing, no tombstones.
#pragma once

#include "base/common.hpp"

namespace twigcast::base {

// The key of two numbers together.
inline uint64_t pair_of(uint32_t one, uint32_t other) { return uint64_t{one} << 32 | other; }

class NumberTable {
public:
    void clear() {
        slots_.assign(SMALLEST, {});
        used_ = 0;
    }

    uint32_t find(uint64_t key) const {
        for (size_t at = home(key);; at = next(at)) {
            if (slots_[at].value == NONE) return NONE;
            if (slots_[at].key == key) return slots_[at].value;
        }
    }

    // The value of a key that is there.
    uint32_t& edit(uint64_t key) {
        size_t at = home(key);
        while (slots_[at].key != key || slots_[at].value == NONE) at = next(at);
        return slots_[at].value;
    }

    void prefetch(uint64_t key) const { __builtin_prefetch(&slots_[home(key)]); }

    void add(uint64_t key, uint32_t value) {
        if (++used_ * 2 > slots_.size()) {
            std::vector<Slot> wider(slots_.size() * 2);
            slots_.swap(wider);
            for (const Slot& slot : wider) {
                if (slot.value != NONE) put(slot);
            }
        }
        put({key, value});
    }

    void remove(uint64_t key) {
        size_t hole = home(key);
        while (slots_[hole].key != key || slots_[hole].value == NONE) hole = next(hole);
        --used_;
        // What was pushed past the hole moves back into it.
        for (size_t at = next(hole); slots_[at].value != NONE; at = next(at)) {
            const size_t wanted = home(slots_[at].key);
            if (((at - wanted) & mask()) >= ((at - hole) & mask())) {
                slots_[hole] = slots_[at];
                hole = at;
            }
        }
        slots_[hole] = {};
    }

    size_t byte_size() const { return slots_.size() * sizeof(Slot); }

private:
    static constexpr size_t SMALLEST = 64;

    struct Slot {
        uint64_t key = 0;
        uint32_t value = NONE;
    };

    size_t mask() const { return slots_.size() - 1; }
    size_t next(size_t at) const { return (at + 1) & mask(); }
    size_t home(uint64_t key) const {
        key *= 0x9E3779B97F4A7C15;
        return (key ^ key >> 32) & mask();
    }

    void put(const Slot& slot) {
        size_t at = home(slot.key);
        while (slots_[at].value != NONE) at = next(at);
        slots_[at] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(SMALLEST);
    size_t used_ = 0;
};

}  // namespace twigcast::base
