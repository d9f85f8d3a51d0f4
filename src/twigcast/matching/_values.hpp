// Comparisons of string-values with constants: XPath 1.0's rules, libxml2's numbers.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>

#include "_program.hpp"

namespace twigcast {

inline bool is_space(char byte) { return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n'; }
inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// The value of a decimal spelling that from_chars finds too large or too small for a double.
// Zero and infinity are told apart by where the first digit that counts stands.
inline double beyond_double(std::string_view spelling) {
    const bool negative = spelling.front() == '-';
    const std::size_t mark = spelling.find_first_of("eE");
    const std::string_view mantissa = spelling.substr(0, mark);
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    const std::size_t first = mantissa.find_first_of("123456789");
    std::int64_t exponent = 0;
    if (mark != std::string_view::npos) {
        std::string_view digits = spelling.substr(mark + 1);
        const bool below = digits.front() == '-';
        if (!is_digit(digits.front())) digits.remove_prefix(1);
        for (const char digit : digits) {
            if (exponent < std::int64_t{1} << 40) exponent = exponent * 10 + (digit - '0');
        }
        if (below) exponent = -exponent;
    }
    const std::int64_t order = static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first);
    const double size = order + exponent > 0 ? std::numeric_limits<double>::infinity() : 0.0;
    return negative ? -size : size;
}

// The number that a text stands for, or NaN; the grammar of `twigcast.language.numbers`.
inline double to_number(std::string_view text) {
    constexpr double NO_NUMBER = std::numeric_limits<double>::quiet_NaN();
    const char* at = text.data();
    const char* const end = at + text.size();
    while (at != end && is_space(*at)) ++at;
    const char* const begin = at;
    if (at != end && *at == '-') ++at;
    const char* const whole = at;
    while (at != end && is_digit(*at)) ++at;
    std::ptrdiff_t digits = at - whole;
    if (at != end && *at == '.') {
        const char* const fraction = ++at;
        while (at != end && is_digit(*at)) ++at;
        digits += at - fraction;
    }
    if (digits == 0) return NO_NUMBER;
    const char* finish = at;
    if (at != end && (*at == 'e' || *at == 'E')) {
        ++at;
        if (at != end && (*at == '+' || *at == '-')) ++at;
        const char* const power = at;
        while (at != end && is_digit(*at)) ++at;
        if (at != power) finish = at;  // an exponent without digits counts for nothing
    }
    while (at != end && is_space(*at)) ++at;
    if (at != end) return NO_NUMBER;
    double number = 0;
    const std::from_chars_result result = std::from_chars(begin, finish, number);
    if (result.ec == std::errc::result_out_of_range) {
        return beyond_double({begin, static_cast<std::size_t>(finish - begin)});
    }
    return number;
}

inline bool compare_number(double left, Comparison comparison, double right) {
    switch (comparison) {
        case Comparison::equal: return left == right;
        case Comparison::unequal: return left != right;
        case Comparison::less: return left < right;
        case Comparison::at_most: return left <= right;
        case Comparison::greater: return left > right;
        default: return left >= right;
    }
}

// Which of many string-values contain a text, asked in document order.
//
// Values are ranges of one buffer with ascending beginnings, and they may nest: the text of
// `<a><a><a>…` would be searched once for each level.  So the search remembers up to where no
// occurrence starts, and the next one if found: every byte of the buffer is searched once.
class Occurrences {
public:
    explicit Occurrences(std::string_view wanted) : wanted_(wanted) {}

    bool is_in(std::string_view value) {
        const char* const end = value.data() + value.size();
        if (clear_ == nullptr || value.data() > clear_) {
            clear_ = value.data();
            found_ = false;
        }
        if (!found_ && fits(end)) {
            const void* hit = memmem(clear_, static_cast<std::size_t>(end - clear_), wanted_.data(),
                                     wanted_.size());
            found_ = hit != nullptr;
            clear_ = found_ ? static_cast<const char*>(hit) : end - wanted_.size() + 1;
        }
        return found_ && fits(end);
    }

private:
    bool fits(const char* end) const {
        return end >= clear_ && static_cast<std::size_t>(end - clear_) >= wanted_.size();
    }

    std::string_view wanted_;
    const char* clear_ = nullptr;  // no occurrence starts before this and behind the last beginning
    bool found_ = false;           // one starts right there
};

}  // namespace twigcast
