// A hash table from pairs of numbers to numbers, from which nothing is taken out but all.
#pragma once

#include <cstdint>
#include <vector>

#include "_document.hpp"

namespace twigcast {

class PairTable {
public:
    PairTable() { clear(); }

    void clear() {
        slots_.assign(64, {});
        used_ = 0;
    }

    std::uint32_t find(std::uint32_t one, std::uint32_t other) const {
        const std::uint64_t key = std::uint64_t{one} << 32 | other;
        for (std::size_t slot = place_of(key);; slot = (slot + 1) & (slots_.size() - 1)) {
            if (slots_[slot].value == NONE) return NONE;
            if (slots_[slot].key == key) return slots_[slot].value;
        }
    }

    void add(std::uint32_t one, std::uint32_t other, std::uint32_t value) {
        if (++used_ * 2 > slots_.size()) {
            std::vector<Slot> wider(slots_.size() * 2);
            slots_.swap(wider);
            for (const Slot& slot : wider) {
                if (slot.value != NONE) place(slot);
            }
        }
        place({std::uint64_t{one} << 32 | other, value});
    }

    std::size_t byte_size() const { return slots_.size() * sizeof(Slot); }

private:
    struct Slot {
        std::uint64_t key = 0;
        std::uint32_t value = NONE;
    };

    std::size_t place_of(std::uint64_t key) const {
        return mix(key, 0x9E3779B97F4A7C15) & (slots_.size() - 1);
    }
    void place(const Slot& slot) {
        std::size_t at = place_of(slot.key);
        while (slots_[at].value != NONE) at = (at + 1) & (slots_.size() - 1);
        slots_[at] = slot;
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace twigcast
