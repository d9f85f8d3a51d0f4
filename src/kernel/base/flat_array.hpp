// An array without pointers in it, so that a file can be mapped and used as it is.
//
// A FlatArray either owns its elements or views those of a mapped file; the first change copies
// them.
//
// When an array grows it moves, and leaves the old memory to whoever still holds it: an array that
// is only ever appended to can be looked at without a copy for as long as one likes.
#pragma once

#include <memory>
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
    size_t byte_size() const { return (own_ ? own_->capacity() : size_) * sizeof(T); }

    // What keeps the elements at `data()`; nothing where they are of a mapped file.
    std::shared_ptr<const void> memory() const { return own_; }

    // Look at somebody else's elements, which stay where they are.
    void view(const T* data, size_t size) {
        own_.reset();
        data_ = data;
        size_ = size;
    }

    // Take a copy of somebody else's elements.
    void copy(const T* data, size_t size) {
        view(data, size);
        own();
    }

    T& edit(size_t at) {
        own();
        return (*own_)[at];
    }

    uint32_t add(const T& value) {
        grow(1);
        own_->push_back(value);
        settle();
        return static_cast<uint32_t>(size_ - 1);
    }

    // The index of the first of the values added.
    size_t append(const T* values, size_t count) {
        const size_t begin = size_;
        grow(count);
        own_->insert(own_->end(), values, values + count);
        settle();
        return begin;
    }

    // The same value so many times.
    size_t extend(size_t count, const T& value) {
        const size_t begin = size_;
        grow(count);
        own_->resize(begin + count, value);
        settle();
        return begin;
    }

    void swap_with(std::vector<T>& values) {
        own();
        own_->swap(values);
        settle();
    }

private:
    // Large arrays grow by a quarter: a million subscriptions should not wait for two.
    void grow(size_t count) {
        own();
        const size_t wanted = size_ + count;
        if (wanted <= own_->capacity()) return;
        auto larger = std::make_shared<std::vector<T>>();
        larger->reserve(wanted + (size_ < LARGE ? size_ : size_ / 4));
        larger->assign(own_->begin(), own_->end());
        own_ = std::move(larger);
    }

    void own() {
        if (own_) return;
        own_ = std::make_shared<std::vector<T>>(data_, data_ + size_);
        settle();
    }

    void settle() {
        data_ = own_->data();
        size_ = own_->size();
    }

    static constexpr size_t LARGE = size_t{1} << 16;

    const T* data_ = nullptr;
    size_t size_ = 0;
    std::shared_ptr<std::vector<T>> own_;  // none while they are somebody else's
};

}  // namespace twigcast::base
