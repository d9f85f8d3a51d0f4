// Exact decimals: up to 38 digits and where the point stands.
//
//     1.25  =  125 / 10^2          digits 125, scale 2
//
// Trailing zeros behind the point are dropped, so equal decimals have equal digits and an integer
// has the scale 0.  A result with more digits than fit is a dynamic error, as XPath allows; a
// quotient is rounded to 18 places behind the point, as Saxon rounds it.
#pragma once

#include <charconv>
#include <cmath>
#include <system_error>

#include "base/number_text.hpp"
#include "program/item.hpp"
#include "program/work.hpp"

namespace twigcast::program {

using namespace base;

struct Decimal {
    Wide digits = 0;
    uint32_t scale = 0;

    static constexpr uint32_t MOST_SCALE = 37;
    static constexpr uint32_t QUOTIENT_SCALE = 18;

    static Decimal of(const Item& item) { return {item.wide, item.scale}; }
    Item item(bool as_integer = false) const {
        Item item = Item::of_integer(digits);
        item.type = as_integer ? Type::integer : Type::decimal;
        item.scale = static_cast<uint8_t>(scale);
        return item;
    }

    static Wide power(uint32_t exponent) {
        Wide result = 1;
        while (exponent-- > 0) result *= 10;
        return result;
    }

    [[noreturn]] static void overflow() { throw DynamicError{"a number has too many digits"}; }

    static Wide multiply(Wide one, Wide two) {
        Wide result;
        if (__builtin_mul_overflow(one, two, &result)) overflow();
        return result;
    }
    static Wide add(Wide one, Wide two) {
        Wide result;
        if (__builtin_add_overflow(one, two, &result)) overflow();
        return result;
    }

    Decimal trimmed() const {
        Decimal result = *this;
        while (result.scale > 0 && result.digits % 10 == 0) {
            result.digits /= 10;
            --result.scale;
        }
        return result;
    }

    // The digits with `places` behind the point, of which there are no more than that.
    Wide with_places(uint32_t places) const { return multiply(digits, power(places - scale)); }

    Decimal operator+(const Decimal& other) const {
        const uint32_t places = std::max(scale, other.scale);
        return Decimal{add(with_places(places), other.with_places(places)), places}.trimmed();
    }
    Decimal operator-() const { return {multiply(digits, -1), scale}; }
    Decimal operator-(const Decimal& other) const { return *this + -other; }
    Decimal operator*(const Decimal& other) const {
        Decimal result{multiply(digits, other.digits), scale + other.scale};
        result = result.trimmed();
        while (result.scale > MOST_SCALE) {
            result.digits /= 10;
            --result.scale;
        }
        return result.trimmed();
    }
    Decimal operator/(const Decimal& other) const { return divided(other, QUOTIENT_SCALE); }
    Decimal divided(const Decimal& other, uint32_t least_places) const {
        if (other.digits == 0) throw DynamicError{"a number is divided by zero"};
        const bool negative = (digits < 0) != (other.digits < 0);
        const Wide divisor = other.digits < 0 ? multiply(other.digits, -1) : other.digits;
        Wide rest = digits < 0 ? multiply(digits, -1) : digits;
        Wide quotient = rest / divisor;
        rest %= divisor;
        const uint32_t places = std::max({least_places, scale, other.scale});
        // The quotient of the digits has scale - other.scale places.
        int64_t made = static_cast<int64_t>(scale) - other.scale;
        for (; made < 0 || (made < places && rest != 0); ++made) {
            rest = multiply(rest, 10);
            quotient = add(multiply(quotient, 10), rest / divisor);
            rest %= divisor;
        }
        if (rest > divisor / 2 && rest * 2 > divisor) quotient = add(quotient, 1);
        const Decimal result{negative ? -quotient : quotient, static_cast<uint32_t>(made)};
        if (result.scale > MOST_SCALE) overflow();
        return result.trimmed();
    }

    // Towards zero.
    Wide whole() const { return digits / power(scale); }
    Wide divided_whole(const Decimal& other) const {
        if (other.digits == 0) throw DynamicError{"a number is divided by zero"};
        const uint32_t places = std::max(scale, other.scale);
        return with_places(places) / other.with_places(places);
    }
    Decimal modulo(const Decimal& other) const {
        if (other.digits == 0) throw DynamicError{"a number is divided by zero"};
        const uint32_t places = std::max(scale, other.scale);
        return Decimal{with_places(places) % other.with_places(places), places}.trimmed();
    }

    Wide floor() const { return digits < 0 && digits % power(scale) != 0 ? whole() - 1 : whole(); }
    Wide ceiling() const { return -Decimal{-digits, scale}.floor(); }

    // To that many places behind the point, or before it where there are less than none; halves go
    // up, or to the even neighbour.
    Decimal rounded(int64_t places, bool half_to_even) const {
        if (places >= static_cast<int64_t>(scale)) return *this;
        const int64_t dropped = static_cast<int64_t>(scale) - places;
        if (dropped > 38) return {};
        const Wide unit = power(static_cast<uint32_t>(dropped));
        Wide quotient = digits / unit, rest = digits % unit;
        if (rest < 0) {
            rest += unit;
            --quotient;
        }
        const Wide other = unit - rest;
        if (rest > other || (rest == other && (!half_to_even || quotient % 2 != 0))) ++quotient;
        if (places >= 0) return Decimal{quotient, static_cast<uint32_t>(places)}.trimmed();
        return {multiply(quotient, power(static_cast<uint32_t>(-places))), 0};
    }

    int compare(const Decimal& other) const {
        const Wide left = floor(), right = other.floor();
        if (left != right) return left < right ? -1 : 1;
        const uint32_t places = std::max(scale, other.scale);
        const Wide one = fraction() * power(places - scale);
        const Wide two = other.fraction() * power(places - other.scale);
        return one == two ? 0 : one < two ? -1 : 1;
    }

    // What is above floor(), in units of the last place.
    Wide fraction() const {
        const Wide unit = power(scale), rest = digits % unit;
        return rest < 0 ? rest + unit : rest;
    }

    // The nearest double.
    double number() const {
        constexpr Wide EXACT = Wide{1} << 53;
        constexpr uint32_t EXACT_POWER = 22;  // 10^22 is a double, too
        if (scale <= EXACT_POWER && digits <= EXACT && digits >= -EXACT) {
            return static_cast<double>(digits) / static_cast<double>(power(scale));
        }
        char spelled[64];
        char* end = spell_digits(digits, spelled);
        *end++ = 'e';
        *end++ = '-';
        end = std::to_chars(end, spelled + sizeof spelled, scale).ptr;
        double result = 0;
        std::from_chars(spelled, end, result);
        return result;
    }

    static char* spell_digits(Wide digits, char* at) {
        if (digits < 0) *at++ = '-';
        char reversed[40];
        size_t count = 0;
        do {
            const int digit = static_cast<int>(digits % 10);
            reversed[count++] = static_cast<char>('0' + (digit < 0 ? -digit : digit));
            digits /= 10;
        } while (digits != 0);
        while (count > 0) *at++ = reversed[--count];
        return at;
    }

    // At most 80 bytes.
    char* spell(char* at) const {
        if (scale == 0) return spell_digits(digits, at);
        if (digits < 0) *at++ = '-';
        const Wide unit = power(scale);
        Wide whole = digits / unit, rest = digits % unit;
        if (whole < 0) whole = -whole;
        if (rest < 0) rest = -rest;
        at = spell_digits(whole, at);
        *at++ = '.';
        char behind[40];
        const size_t count = static_cast<size_t>(spell_digits(rest, behind) - behind);
        for (size_t zeros = count; zeros < scale; ++zeros) *at++ = '0';
        for (size_t digit = 0; digit < count; ++digit) *at++ = behind[digit];
        return at;
    }

    // Of the lexical form of xs:decimal, without white space around it.  False where it is none,
    // or has too many digits.
    static bool read(std::string_view text, Decimal& result) {
        bool negative = false;
        if (!text.empty() && (text[0] == '-' || text[0] == '+')) {
            negative = text[0] == '-';
            text.remove_prefix(1);
        }
        result = {};
        bool point = false, any = false;
        for (const char byte : text) {
            if (byte == '.' && !point) {
                point = true;
                continue;
            }
            if (!is_digit(byte)) return false;
            any = true;
            if (point && result.scale == MOST_SCALE) continue;
            if (__builtin_mul_overflow(result.digits, Wide{10}, &result.digits) ||
                __builtin_add_overflow(result.digits, Wide{byte - '0'}, &result.digits)) {
                return false;
            }
            result.scale += point;
        }
        if (negative) result.digits = -result.digits;
        result = result.trimmed();
        return any;
    }

    // Of a double below 1e37: all its digits, as far as there is room for them.
    static Decimal nearest(double number) {
        const double size = std::fabs(number);
        const int whole = size < 1 ? 0 : static_cast<int>(std::log10(size));
        const int places = std::max(0, static_cast<int>(MOST_SCALE) - 1 - whole);
        char spelled[400];
        const std::to_chars_result result = std::to_chars(spelled, spelled + sizeof spelled, number,
                                                          std::chars_format::fixed, places);
        Decimal decimal;
        read({spelled, static_cast<size_t>(result.ptr - spelled)}, decimal);
        return decimal;
    }
};

}  // namespace twigcast::program
