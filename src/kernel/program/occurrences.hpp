// Which of many string-values contain a text, asked in document order.
//
// Values are ranges of one buffer with ascending beginnings, and they may nest: the text of
// `<a><a><a>…` would be searched once for each level.  So the search remembers up to which byte no
// occurrence starts, and the next occurrence if there is one: every byte of the buffer is searched
// once.
#pragma once

#include <cstring>

#include "base/common.hpp"

namespace twigcast::program {

class Occurrences {
public:
    explicit Occurrences(std::string_view wanted) : wanted_(wanted) {}

    bool is_in(std::string_view value) {
        const char* const end = value.data() + value.size();
        if (clear_ == nullptr || value.data() > clear_) {
            clear_ = value.data();
            starts_here_ = false;
        }
        if (!starts_here_ && fits(end)) {
            const void* hit =
                memmem(clear_, static_cast<size_t>(end - clear_), wanted_.data(), wanted_.size());
            starts_here_ = hit != nullptr;
            clear_ = starts_here_ ? static_cast<const char*>(hit) : end - wanted_.size() + 1;
        }
        return starts_here_ && fits(end);
    }

private:
    bool fits(const char* end) const {
        return end >= clear_ && static_cast<size_t>(end - clear_) >= wanted_.size();
    }

    std::string_view wanted_;
    const char* clear_ = nullptr;  // no occurrence starts before this and behind the last beginning
    bool starts_here_ = false;     // one starts right there
};

}  // namespace twigcast::program
