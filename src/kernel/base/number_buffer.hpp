// A growing array of numbers that others write into before they say how many they wrote.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

namespace twigcast::base {

class NumberBuffer {
public:
    const std::uint32_t* data() const { return memory_.get(); }
    std::uint32_t operator[](std::size_t at) const { return memory_.get()[at]; }
    std::size_t size() const { return size_; }
    std::uint32_t* end() { return memory_.get() + size_; }

    // Let `count` numbers be written behind the end.
    void make_room(std::size_t count) {
        if (count <= capacity_ - size_) return;
        const std::size_t wanted = std::max(size_ + count, capacity_ * 2);
        void* const larger = std::realloc(memory_.get(), wanted * sizeof(std::uint32_t));
        if (larger == nullptr) throw std::bad_alloc();
        (void)memory_.release();
        memory_.reset(static_cast<std::uint32_t*>(larger));
        capacity_ = wanted;
    }
    void extend_to(const std::uint32_t* end) {
        size_ = static_cast<std::size_t>(end - memory_.get());
    }
    void shrink(std::size_t size) { size_ = size; }

private:
    struct Free {
        void operator()(std::uint32_t* memory) const { std::free(memory); }
    };

    std::unique_ptr<std::uint32_t, Free> memory_;
    std::size_t size_ = 0, capacity_ = 0;
};

}  // namespace twigcast::base
