// Numbers as texts: libxml2's spelling, and that of XPath 2.0.
//
//     number        libxml2                XPath 2.0
//     1000000000    1000000000             1.0E9
//     0.1 + 0.2     0.3                    0.30000000000000004
//     1 div 3       0.333333333333333      0.3333333333333333
//     1e-6          1e-06                  0.000001
//     -0            0                      -0
//     infinite      Infinity               INF
//
// libxml2 shows 15 digits, and an exponent from 1e9 upwards (integers from
// 2147483647) and below 1e-5.  XPath 2.0 shows as
// many as tell the number from its neighbours, and an exponent from 1e6 upwards and below 1e-6.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdio>

#include "base/common.hpp"

namespace twigcast::program {

using namespace base;

// Room for any number.
struct Spelling {
    char bytes[64];
    size_t size = 0;

    std::string_view view() const { return {bytes, size}; }
    void add(char byte) {
        if (size < sizeof bytes) bytes[size++] = byte;
    }
    void set(std::string_view text) {
        size = text.size();
        std::copy(text.begin(), text.end(), bytes);
    }
};

// Drop the zeros at the end of a fraction, and the point where nothing is left behind it; an
// exponent moves up.
inline void drop_zeros(Spelling& spelling) {
    const std::string_view text = spelling.view();
    const size_t mark = std::min(text.find('e'), text.size());
    if (text.substr(0, mark).find('.') == std::string_view::npos) return;
    size_t end = mark;
    while (spelling.bytes[end - 1] == '0') --end;
    if (spelling.bytes[end - 1] == '.') --end;
    std::copy(spelling.bytes + mark, spelling.bytes + text.size(), spelling.bytes + end);
    spelling.size -= mark - end;
}

inline Spelling spell_as_libxml2(double number) {
    constexpr double UPPER = 1e9, LOWER = 1e-5;
    constexpr double WHOLE = 2147483647;
    constexpr int DIGITS = 15;
    Spelling spelling;
    if (std::isnan(number)) {
        spelling.set("NaN");
        return spelling;
    }
    if (std::isinf(number)) {
        spelling.set(number > 0 ? "Infinity" : "-Infinity");
        return spelling;
    }
    if (number == 0) {
        spelling.set("0");
        return spelling;
    }
    const double size = std::fabs(number);
    int length = 0;
    if (number > -WHOLE - 1 && number < WHOLE && number == std::trunc(number)) {
        length = std::snprintf(spelling.bytes, sizeof spelling.bytes, "%.0f", number);
    } else if (size > UPPER || size < LOWER) {
        length = std::snprintf(spelling.bytes, sizeof spelling.bytes, "%.*e", DIGITS - 1, number);
    } else {
        const int whole = static_cast<int>(std::log10(size));
        const int behind = DIGITS - whole - (whole > 0);
        length = std::snprintf(spelling.bytes, sizeof spelling.bytes, "%.*f", behind, number);
    }
    spelling.size = static_cast<size_t>(length);
    drop_zeros(spelling);
    return spelling;
}

// Of a double or, where it is one, of a float.
template <class Number>
Spelling spell_as_xpath_2(Number number) {
    constexpr Number UPPER = 1000000, LOWER = static_cast<Number>(0.000001);
    Spelling spelling;
    if (std::isnan(number)) {
        spelling.set("NaN");
        return spelling;
    }
    if (std::isinf(number)) {
        spelling.set(number > 0 ? "INF" : "-INF");
        return spelling;
    }
    if (number == 0) {
        spelling.set(std::signbit(number) ? "-0" : "0");
        return spelling;
    }
    char* const end = spelling.bytes + sizeof spelling.bytes;
    const Number size = std::fabs(number);
    if (size >= LOWER && size < UPPER) {
        const char* const last =
            std::to_chars(spelling.bytes, end, number, std::chars_format::fixed).ptr;
        spelling.size = static_cast<size_t>(last - spelling.bytes);
        return spelling;
    }
    char shortest[64];
    const char* const last =
        std::to_chars(shortest, shortest + sizeof shortest, number, std::chars_format::scientific)
            .ptr;
    bool has_point = false, in_exponent = false, leads = false;
    for (const char* at = shortest; at != last; ++at) {  // 1e+06 becomes 1.0E6
        has_point |= *at == '.';
        if (*at == 'e') {
            if (!has_point) {
                spelling.add('.');
                spelling.add('0');
            }
            spelling.add('E');
            in_exponent = leads = true;
        } else if (!(in_exponent && (*at == '+' || (*at == '0' && leads)))) {
            leads = in_exponent && *at == '-';
            spelling.add(*at);
        }
    }
    return spelling;
}

}  // namespace twigcast::program
