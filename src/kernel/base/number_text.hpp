// The number that a text stands for: XPath 1.0's grammar, libxml2's exponents.
#pragma once

#include <charconv>
#include <limits>
#include <system_error>

#include "base/common.hpp"

namespace twigcast::base {

inline bool is_space(char byte) {
    return byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n';
}
inline bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// The value of a decimal spelling that from_chars calls too large or too small for a double.
// The position of the first digit other than 0 decides between zero and infinity.
inline double beyond_double(std::string_view spelling) {
    const bool negative = spelling.front() == '-';
    const size_t mark = spelling.find_first_of("eE");
    const std::string_view mantissa = spelling.substr(0, mark);
    const size_t point = std::min(mantissa.find('.'), mantissa.size());
    const size_t first = mantissa.find_first_of("123456789");
    int64_t exponent = 0;
    if (mark != std::string_view::npos) {
        std::string_view digits = spelling.substr(mark + 1);
        const bool below = digits.front() == '-';
        if (!is_digit(digits.front())) digits.remove_prefix(1);
        for (const char digit : digits) {
            if (exponent < int64_t{1} << 40) exponent = exponent * 10 + (digit - '0');
        }
        if (below) exponent = -exponent;
    }
    const int64_t order = static_cast<int64_t>(point) - static_cast<int64_t>(first);
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
    ptrdiff_t digits = at - whole;
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
        return beyond_double({begin, static_cast<size_t>(finish - begin)});
    }
    return number;
}

}  // namespace twigcast::base
