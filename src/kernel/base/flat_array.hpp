// An array without pointers in it, so that a file can be mapped and used as it is.
//
// A FlatArray either owns its elements or views those of a mapped file; the first change copies
// them.
#pragma once

#include <type_traits>

#include "base/common.hpp"

namespace twigcast::base {

template <class T>
class FlatArray {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    using Element = T;

    FlatArray() = default;
    FlatArray(const FlatArray&) = delete;
    FlatArray& operator=(const FlatArray&) = delete;

    const T& operator[](size_t at) const { return data_[at]; }
    const T* data() const { return data_; }
    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    uint32_t count() const { return static_cast<uint32_t>(size_); }
    size_t byte_size() const { return (viewing_ ? size_ : own_.capacity()) * sizeof(T); }

    // Look at somebody else's elements, which stay where they are.
    void view(const T* data, size_t size) {
        own_ = {};
        data_ = data;
        size_ = size;
        viewing_ = true;
    }

    // Take a copy of somebody else's elements.
    void copy(const T* data, size_t size) {
        own_.assign(data, data + size);
        viewing_ = false;
        settle();
    }

    T& edit(size_t at) {
        own();
        return own_[at];
    }

    uint32_t add(const T& value) {
        grow(1);
        own_.push_back(value);
        settle();
        return static_cast<uint32_t>(size_ - 1);
    }

    // The index of the first of the values added.
    size_t append(const T* values, size_t count) {
        const size_t begin = size_;
        grow(count);
        own_.insert(own_.end(), values, values + count);
        settle();
        return begin;
    }

    void resize(size_t size, const T& fill) {
        own();
        own_.resize(size, fill);
        settle();
    }

    void swap_with(std::vector<T>& values) {
        own();
        own_.swap(values);
        settle();
    }

private:
    // Large arrays grow by a quarter: a million subscriptions should not wait for two.
    void grow(size_t count) {
        own();
        const size_t wanted = own_.size() + count;
        if (wanted <= own_.capacity()) return;
        const size_t share = own_.size() < LARGE ? own_.size() : own_.size() / 4;
        own_.reserve(wanted + share);
    }

    void own() {
        if (!viewing_) return;
        own_.assign(data_, data_ + size_);
        viewing_ = false;
        settle();
    }

    void settle() {
        data_ = own_.data();
        size_ = own_.size();
    }

    static constexpr size_t LARGE = size_t{1} << 16;

    const T* data_ = nullptr;
    size_t size_ = 0;
    bool viewing_ = false;
    std::vector<T> own_;
};

}  // namespace twigcast::base
