// Comparisons of string-values with constants: XPath 1.0's rules.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace twigcast::base {

enum class Comparison : std::uint8_t {
    equal_text,
    unequal_text,
    contains,
    starts_with,
    equal,
    unequal,
    less,
    at_most,
    greater,
    at_least,
};

inline bool is_numeric(Comparison comparison) { return comparison >= Comparison::equal; }

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

inline bool contains(std::string_view whole, std::string_view part) {
    return memmem(whole.data(), whole.size(), part.data(), part.size()) != nullptr;
}

inline bool compare_text(std::string_view value, Comparison comparison, std::string_view operand) {
    switch (comparison) {
        case Comparison::equal_text: return value == operand;
        case Comparison::unequal_text: return value != operand;
        case Comparison::contains: return contains(value, operand);
        default: return value.substr(0, operand.size()) == operand;
    }
}

}  // namespace twigcast::base
