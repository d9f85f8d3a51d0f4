// A growing array of numbers that others write into before they say how many they wrote.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "base/common.hpp"

namespace twigcast::base {

class NumberBuffer {
public:
    const uint32_t* data() const { return memory_.get(); }
    uint32_t operator[](size_t at) const { return memory_.get()[at]; }
    size_t size() const { return size_; }
    uint32_t* end() { return memory_.get() + size_; }

    // Let `count` numbers be written behind the end.
    void make_room(size_t count) {
        if (count <= capacity_ - size_) return;
        const size_t wanted = std::max(size_ + count, capacity_ * 2);
        void* const larger = std::realloc(memory_.get(), wanted * sizeof(uint32_t));
        if (larger == nullptr) throw std::bad_alloc();
        (void)memory_.release();
        memory_.reset(static_cast<uint32_t*>(larger));
        capacity_ = wanted;
        advise();
    }
    void extend_to(const uint32_t* end) { size_ = static_cast<size_t>(end - memory_.get()); }
    void add(uint32_t number) {
        make_room(1);
        *end() = number;
        ++size_;
    }
    void shrink(size_t size) { size_ = size; }

private:
    // Pages of memory that was never used cost more than what is written to them, the large ones
    // much less.
    void advise() {
#ifdef __linux__
        constexpr uintptr_t LARGE_PAGE = uintptr_t{2} << 20;
        const uintptr_t begin = reinterpret_cast<uintptr_t>(memory_.get());
        const uintptr_t first = (begin + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
        const uintptr_t last = (begin + capacity_ * sizeof(uint32_t)) / LARGE_PAGE * LARGE_PAGE;
        if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
    }

    struct Free {
        void operator()(uint32_t* memory) const { std::free(memory); }
    };

    std::unique_ptr<uint32_t, Free> memory_;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace twigcast::base
