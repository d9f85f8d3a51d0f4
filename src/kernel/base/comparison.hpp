// Comparisons of string-values with constants: XPath 1.0's rules.
//
// `base/operators.hpp` has the operators.  The build makes it of `twigcast/language/operators.py`:
//
//     enum class Comparison                            all operators, by code
//     enum class NumberComparison, TextComparison      those of each kind of operand, same codes
//     COMPARISON_COUNT, NUMBER_COUNT                   how many there are; numbers come first
//     BOUNDS[code]                                     -1, 1: numbers below, above the operand pass
//     IMPLIED[code]                                    the functions it may imply, as bits
//     SPELLINGS[code]                                  what stands in an expression
//     OPERATORS_CHECKSUM                               changes with the table
//
// A switch over one of the enumerations names all members, so that the compiler finds each that a
// new operator concerns.
#pragma once

#include <cstring>

#include "base/common.hpp"
#include "base/operators.hpp"

namespace twigcast::base {

inline bool is_numeric(Comparison comparison) {
    return static_cast<uint8_t>(comparison) < NUMBER_COUNT;
}
inline NumberComparison number_comparison(Comparison comparison) {
    return static_cast<NumberComparison>(comparison);
}
inline TextComparison text_comparison(Comparison comparison) {
    return static_cast<TextComparison>(comparison);
}

inline int bounds_of(Comparison comparison) { return BOUNDS[static_cast<uint8_t>(comparison)]; }
inline bool may_imply(Comparison given, Comparison asked) {
    const uint8_t asked_code = static_cast<uint8_t>(asked);
    return (IMPLIED[static_cast<uint8_t>(given)] >> asked_code & 1) != 0;
}

template <class Number>
bool compare_numbers(Number left, NumberComparison comparison, Number right) {
    switch (comparison) {
        case NumberComparison::equal: return left == right;
        case NumberComparison::unequal: return left != right;
        case NumberComparison::less: return left < right;
        case NumberComparison::at_most: return left <= right;
        case NumberComparison::greater: return left > right;
        case NumberComparison::at_least: return left >= right;
    }
    __builtin_unreachable();
}

// A text in ASCII with its words in lower case and one blank between them; false for any other.
inline bool fold(std::string_view text, std::string& folded) {
    folded.clear();
    bool pending = false;
    for (const char byte : text) {
        if (static_cast<unsigned char>(byte) >= 0x80) return false;
        if (byte == ' ' || byte == '\t' || byte == '\r' || byte == '\n') {
            pending = true;
            continue;
        }
        if (pending && !folded.empty()) folded.push_back(' ');
        pending = false;
        folded.push_back(byte >= 'A' && byte <= 'Z' ? static_cast<char>(byte + 32) : byte);
    }
    return true;
}

inline bool resembles(std::string_view value, std::string_view operand) {
    std::string one, other;
    return !fold(value, one) || (fold(operand, other) && one == other);
}

inline bool compare_text(std::string_view value, TextComparison comparison,
                         std::string_view operand) {
    switch (comparison) {
        case TextComparison::equal_text: return value == operand;
        case TextComparison::unequal_text: return value != operand;
        case TextComparison::contains:
            return memmem(value.data(), value.size(), operand.data(), operand.size()) != nullptr;
        case TextComparison::starts_with: return value.substr(0, operand.size()) == operand;
        case TextComparison::ends_with:
            return value.size() >= operand.size() &&
                   value.substr(value.size() - operand.size()) == operand;
        case TextComparison::resembles: return resembles(value, operand);
    }
    __builtin_unreachable();
}

}  // namespace twigcast::base
