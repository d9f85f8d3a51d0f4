// A hash table from the edges of a tree to the places that they lead to.
#pragma once

#include <cstdint>
#include <vector>

#include "_terms.hpp"

namespace twigcast {

// The edges of the tree by parent, label and kind of edge; linear probing, no tombstones.
class EdgeTable {
public:
    EdgeTable() : slots_(64) {}

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
                if (slot.value != NONE) place(slot);
            }
        }
        place({key, value});
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

private:
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
    void place(const Slot& slot) {
        std::size_t at = home(slot.key);
        while (slots_[at].value != NONE) at = next(at);
        slots_[at] = slot;
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

}  // namespace twigcast
