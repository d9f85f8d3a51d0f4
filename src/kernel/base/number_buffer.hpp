// A growing array of numbers that others write into before they say how many they wrote.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

#include "base/common.hpp"
#include "base/large_memory.hpp"

namespace twigcast::base {

struct FreeNumbers {
    size_t large = 0;  // the bytes of large memory

    void operator()(uint32_t* numbers) const {
#ifdef __linux__
        if (large != 0) return LargeMemory::give_back(numbers, large);
#endif
        std::free(numbers);
    }
};

class NumberBuffer {
public:
    const uint32_t* data() const { return memory_.get(); }
    uint32_t operator[](size_t at) const { return memory_.get()[at]; }
    size_t size() const { return size_; }
    uint32_t* end() { return memory_.get() + size_; }

    // Let `count` numbers be written behind the end.
    void make_room(size_t count) {
        if (count <= capacity_ - size_) return;
        size_t bytes = std::max(size_ + count, capacity_ * 2) * sizeof(uint32_t);
#ifdef __linux__
        if (bytes >= LargeMemory::LEAST) {
            void* const memory = LargeMemory::take(bytes);  // first, since it changes `bytes`
            Memory larger(static_cast<uint32_t*>(memory), FreeNumbers{bytes});
            std::copy_n(memory_.get(), size_, larger.get());
            memory_ = std::move(larger);
            capacity_ = bytes / sizeof(uint32_t);
            return;
        }
#endif
        void* const larger = std::realloc(memory_.get(), bytes);
        if (larger == nullptr) throw std::bad_alloc();
        (void)memory_.release();
        memory_.reset(static_cast<uint32_t*>(larger));
        capacity_ = bytes / sizeof(uint32_t);
    }
    void extend_to(const uint32_t* end) { size_ = static_cast<size_t>(end - memory_.get()); }
    void append(const uint32_t* first, const uint32_t* last) {
        make_room(static_cast<size_t>(last - first));
        extend_to(std::copy(first, last, end()));
    }
    void add(uint32_t number) {
        make_room(1);
        *end() = number;
        ++size_;
    }
    void shrink(size_t size) { size_ = size; }
    // Give back what was taken for much more than there is.
    void trim() {
        if (capacity_ < 4 * size_ + 1024) return;
        NumberBuffer fitting;
        fitting.append(data(), data() + size_);
        *this = std::move(fitting);
    }

private:
    using Memory = std::unique_ptr<uint32_t, FreeNumbers>;

    Memory memory_;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace twigcast::base
