// A hash table from numbers of 64 bits to numbers of 32 bits: linear probing, no tombstones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/common.hpp"

namespace twigcast::base {

// The key of two numbers together.
inline std::uint64_t pair_of(std::uint32_t one, std::uint32_t other) {
    return std::uint64_t{one} << 32 | other;
}

class NumberTable {
public:
    void clear() {
        slots_.assign(SMALLEST, {});
        used_ = 0;
    }

    std::uint32_t find(std::uint64_t key) const {
        for (std::size_t at = home(key);; at = next(at)) {
            if (slots_[at].value == NONE) return NONE;
            if (slots_[at].key == key) return slots_[at].value;
        }
    }

    void prefetch(std::uint64_t key) const { __builtin_prefetch(&slots_[home(key)]); }

    void add(std::uint64_t key, std::uint32_t value) {
        if (++used_ * 2 > slots_.size()) {
            std::vector<Slot> wider(slots_.size() * 2);
            slots_.swap(wider);
            for (const Slot& slot : wider) {
                if (slot.value != NONE) put(slot);
            }
        }
        put({key, value});
    }

    void remove(std::uint64_t key) {
        std::size_t hole = home(key);
        while (slots_[hole].key != key || slots_[hole].value == NONE) hole = next(hole);
        --used_;
        // What was pushed past the hole moves back into it.
        for (std::size_t at = next(hole); slots_[at].value != NONE; at = next(at)) {
            const std::size_t wanted = home(slots_[at].key);
            if (((at - wanted) & mask()) >= ((at - hole) & mask())) {
                slots_[hole] = slots_[at];
                hole = at;
            }
        }
        slots_[hole] = {};
    }

    std::size_t byte_size() const { return slots_.size() * sizeof(Slot); }

private:
    static constexpr std::size_t SMALLEST = 64;

    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = NONE;
    };

    std::size_t mask() const { return slots_.size() - 1; }
    std::size_t next(std::size_t at) const { return (at + 1) & mask(); }
    std::size_t home(std::uint64_t key) const {
        key *= 0x9E3779B97F4A7C15;
        return (key ^ key >> 32) & mask();
    }

    void put(const Slot& slot) {
        std::size_t at = home(slot.key);
        while (slots_[at].value != NONE) at = next(at);
        slots_[at] = slot;
    }

    std::vector<Slot> slots_ = std::vector<Slot>(SMALLEST);
    std::size_t used_ = 0;
};

}  // namespace twigcast::base
