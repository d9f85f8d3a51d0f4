// What an evaluation may cost, how it ends early, and where the texts that it makes are kept.
//
// Three ways out of an evaluation, all by exception, at most once for a pattern and a document:
//
//     DynamicError      XPath's own: a value that cannot be cast, two items where one is wanted
//     BudgetExceeded    too many steps, or too much memory: the pattern is not decided
//     std::bad_alloc    as everywhere
//
// Texts are cut off large blocks, one behind the other, and taken back down to a mark: a predicate
// that is asked of a million nodes makes its texts in the same place each time.
#pragma once

#include <cstring>
#include <memory>

#include "base/common.hpp"

namespace twigcast::program {

using namespace base;

struct DynamicError {
    const char* reason;
};
struct BudgetExceeded {};

class Work {
public:
    static constexpr uint64_t MOST_STEPS = 50'000'000;      // visits of nodes, items, bytes / 16
    static constexpr size_t MOST_BYTES = size_t{64} << 20;  // of the texts of one pattern
    static constexpr size_t MOST_ITEMS = size_t{4} << 20;   // of one sequence

    void spend(uint64_t steps) {
        steps_ += steps;
        if (steps_ > MOST_STEPS) throw BudgetExceeded{};
    }
    static void bound_items(size_t count) {
        if (count > MOST_ITEMS) throw BudgetExceeded{};
    }

    struct Mark {
        size_t block, used;
    };
    Mark mark() const { return {block_, used_}; }
    void release(const Mark& mark) {
        while (block_ > mark.block) held_ -= sizes_[block_--];
        used_ = mark.used;
    }

    // Room for a text.
    char* make(size_t size) {
        spend(size / 16);
        if (blocks_.empty() || size > sizes_[block_] - used_) next_block(size);
        char* const begin = blocks_[block_].get() + used_;
        used_ += size;
        return begin;
    }
    std::string_view keep(std::string_view text) {
        char* const begin = make(text.size());
        if (!text.empty()) std::memcpy(begin, text.data(), text.size());
        return {begin, text.size()};
    }
    // Give back the end of the last text made.
    void shorten(const char* end) { used_ = static_cast<size_t>(end - blocks_[block_].get()); }

private:
    static constexpr size_t BLOCK = size_t{1} << 12;

    void next_block(size_t least) {
        if (held_ + least > MOST_BYTES) throw BudgetExceeded{};
        const size_t at = blocks_.empty() ? 0 : block_ + 1;
        const size_t usual = std::min(BLOCK << std::min<size_t>(at, 8), MOST_BYTES);
        if (at < blocks_.size() && sizes_[at] < least) {
            blocks_.resize(at);
            sizes_.resize(at);
        }
        if (at == blocks_.size()) {
            const size_t size = std::max(usual, least);
            blocks_.emplace_back(new char[size]);
            sizes_.push_back(size);
        }
        held_ += sizes_[at];
        block_ = at;
        used_ = 0;
    }

    uint64_t steps_ = 0;
    std::vector<std::unique_ptr<char[]>> blocks_;
    std::vector<size_t> sizes_;
    size_t block_ = 0, used_ = 0, held_ = 0;
};

}  // namespace twigcast::program
