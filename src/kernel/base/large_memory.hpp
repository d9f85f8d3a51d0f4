// Memory for large arrays that come and go, in large pages.
//
// The system fills new pages with zeros, which takes as long as writing numbers to them.  So what
// was given back last is kept for whoever asks next.  Until then, the system may take its pages
// away if it needs memory.  What is kept begins with its size.
#pragma once

#ifdef __linux__

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "base/common.hpp"

namespace twigcast::base {

class LargeMemory {
public:
    static constexpr size_t LEAST = size_t{16} << 20;

    // At least so many bytes; `bytes` is how many there are.
    static void* take(size_t& bytes) {
        bytes = (bytes + PAGE - 1) / PAGE * PAGE;
        if (void* const memory = kept_.exchange(nullptr)) {
            const size_t size = *static_cast<size_t*>(memory);
            if (size >= bytes) {
                bytes = size;
                return memory;
            }
            munmap(memory, size);
        }
        // Memory for one page more, without what lies before the first and behind the last.
        void* const more =
            mmap(nullptr, bytes + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (more == MAP_FAILED) throw std::bad_alloc();
        char* const begin = static_cast<char*>(more);
        char* const first = begin + (PAGE - reinterpret_cast<uintptr_t>(begin) % PAGE) % PAGE;
        if (first != begin) munmap(begin, first - begin);
        munmap(first + bytes, begin + PAGE - first);
        madvise(first, bytes, MADV_HUGEPAGE);
        return first;
    }

    static void give_back(void* memory, size_t bytes) {
        if (bytes <= MOST_KEPT) {
            madvise(memory, bytes, MADV_FREE);
            *static_cast<size_t*>(memory) = bytes;
            memory = kept_.exchange(memory);
            if (memory == nullptr) return;
            bytes = *static_cast<size_t*>(memory);
        }
        munmap(memory, bytes);
    }

private:
    static constexpr size_t PAGE = size_t{2} << 20, MOST_KEPT = size_t{128} << 20;

    static inline std::atomic<void*> kept_{nullptr};
};

}  // namespace twigcast::base

#endif
