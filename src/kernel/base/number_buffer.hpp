// A growing array of numbers that others write into before they say how many they wrote.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>

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
    }
    void extend_to(const uint32_t* end) { size_ = static_cast<size_t>(end - memory_.get()); }
    void shrink(size_t size) { size_ = size; }

private:
    struct Free {
        void operator()(uint32_t* memory) const { std::free(memory); }
    };

    std::unique_ptr<uint32_t, Free> memory_;
    size_t size_ = 0, capacity_ = 0;
};

}  // namespace twigcast::base
