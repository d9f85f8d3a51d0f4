// Memory for one parser at a time, all of it taken back at once.
//
// Expat asks for some thirty small pieces for every document and gives them back at its end; from
// one warm stretch of memory that costs nothing.  Pieces are cut off the stretch one behind the
// other and never taken back singly: what a small piece leaves when it grows is lost until the
// document ends, which at worst triples what expat holds.  Large pieces, and all that come when the
// stretch is used up, are the ordinary allocator's.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/common.hpp"

namespace twigcast::xml {

class Arena {
public:
    // The table of functions that expat is given; they serve the arena that the thread uses now.
    struct Functions {
        void* (*allocate)(size_t);
        void* (*reallocate)(void*, size_t);
        void (*release)(void*);
    };
    static const Functions* functions() {
        static const Functions table{allocate, reallocate, release};
        return &table;
    }

    // While it lives, the thread's parser takes its memory from an arena.
    class Use {
    public:
        explicit Use(Arena& arena) : before_(current_) {
            if (arena.memory_ == nullptr) arena.memory_.reset(new char[SIZE]);
            arena.used_ = 0;
            current_ = &arena;
        }
        ~Use() { current_ = before_; }
        Use(const Use&) = delete;

    private:
        Arena* before_;
    };

private:
    static constexpr size_t SIZE = size_t{1} << 18;
    static constexpr size_t LARGE = size_t{1} << 14;
    static constexpr size_t ALIGNMENT = alignof(std::max_align_t);

    static bool is_cut(const void* piece) {
        const char* const start = current_->memory_.get();
        return start <= piece && piece < start + SIZE;
    }
    static size_t& size_of(void* piece) {
        return *reinterpret_cast<size_t*>(static_cast<char*>(piece) - ALIGNMENT);
    }

    static void* allocate(size_t size) {
        Arena& arena = *current_;
        const size_t whole = ALIGNMENT + (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        if (size > LARGE || whole > SIZE - arena.used_) return std::malloc(size);
        void* const piece = arena.memory_.get() + arena.used_ + ALIGNMENT;
        size_of(piece) = size;
        arena.used_ += whole;
        return piece;
    }

    static void* reallocate(void* piece, size_t size) {
        if (piece == nullptr) return allocate(size);
        if (!is_cut(piece)) return std::realloc(piece, size);
        if (size <= size_of(piece)) return piece;
        void* const larger = allocate(size);
        if (larger != nullptr) std::memcpy(larger, piece, size_of(piece));
        return larger;
    }

    static void release(void* piece) {
        if (piece != nullptr && !is_cut(piece)) std::free(piece);
    }

    static inline thread_local Arena* current_ = nullptr;

    std::unique_ptr<char[]> memory_;  // made when first used
    size_t used_ = 0;
};

}  // namespace twigcast::xml
