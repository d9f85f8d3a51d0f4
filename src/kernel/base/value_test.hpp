// A comparison of a node's string-value with a constant, and what it says about another one.
//
// These are `value_implies` of twigcast.language.value_implication, and `with_consequences` of two
// tests in value_consequences; tests compare them.  Cost: constant, but for the length of texts.
#pragma once

#include <cmath>
#include <limits>

#include "base/comparison.hpp"

namespace twigcast::base {

struct ValueTest {
    Comparison comparison = Comparison::equal;
    bool is_no_number = false;  // only texts that are no numbers pass
    double number = 0;          // what the text is as a number, where the operand is a text
    std::string text;           // the operand, where it is a text

    bool is_text() const { return !is_numeric(comparison); }
    bool is_function() const {
        return comparison == Comparison::contains || comparison == Comparison::starts_with ||
               comparison == Comparison::ends_with;
    }
};

inline bool compare(double left, Comparison comparison, double right) {
    return compare_numbers(left, number_comparison(comparison), right);
}

// Whether a text, which is that of `value`, passes a comparison.
inline bool passes(const ValueTest& value, const ValueTest& test) {
    if (!test.is_text()) return compare(value.number, test.comparison, test.number);
    return compare_text(value.text, text_comparison(test.comparison), test.text);
}

inline bool number_implies(const ValueTest& given, const ValueTest& asked) {
    const double known = given.number, wanted = asked.number;
    if (given.comparison == Comparison::equal) return compare(known, asked.comparison, wanted);
    if (asked.comparison == Comparison::unequal) {
        if (given.comparison == Comparison::unequal) return known == wanted;
        return !compare(wanted, given.comparison, known);
    }
    const int side = bounds_of(given.comparison);
    if (side == 0 || side != bounds_of(asked.comparison)) return false;
    // The outermost number that passes.  Between a double and the next there is none: `.<5` is
    // `.<=` the one before 5.
    const double inwards = side * std::numeric_limits<double>::infinity();
    const bool is_included = compare(known, given.comparison, known);
    const double outermost = is_included ? known : std::nextafter(known, inwards);
    return compare(outermost, asked.comparison, wanted);
}

inline bool text_implies(const ValueTest& given, const ValueTest& asked) {
    if (asked.comparison == Comparison::unequal_text) {
        if (given.comparison == Comparison::unequal_text) return given.text == asked.text;
        return !passes(asked, given);
    }
    return may_imply(given.comparison, asked.comparison) && passes(given, asked);
}

// Whether every text that passes one test passes another; equal tests aside.
inline bool value_implies(const ValueTest& given, const ValueTest& asked) {
    if (given.comparison == Comparison::equal_text) return passes(given, asked);
    if (given.is_text()) {
        if (asked.is_text()) return text_implies(given, asked);
        return given.is_no_number && asked.comparison == Comparison::unequal;
    }
    if (asked.is_text()) {
        return asked.comparison == Comparison::unequal_text && !passes(asked, given);
    }
    return number_implies(given, asked);
}

// Whether a text can begin, or end, as both ask for.
inline bool ends_agree(const ValueTest& one, const ValueTest& other) {
    if (one.comparison != other.comparison) return true;
    if (one.comparison != Comparison::starts_with && one.comparison != Comparison::ends_with) {
        return true;
    }
    return one.text.size() > other.text.size() ? passes(one, other) : passes(other, one);
}

inline bool have_common_number(const ValueTest& one, const ValueTest& other) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double low = -infinity, high = infinity;
    for (const ValueTest* test : {&one, &other}) {
        if (test->comparison == Comparison::unequal) continue;
        const int side = bounds_of(test->comparison);
        const bool is_included = compare(test->number, test->comparison, test->number);
        const double outermost =
            is_included ? test->number : std::nextafter(test->number, side * infinity);
        if (side >= 0) low = std::max(low, outermost);
        if (side <= 0) high = std::min(high, outermost);
    }
    for (const ValueTest* test : {&one, &other}) {
        if (test->comparison != Comparison::unequal) continue;
        if (low == test->number) low = std::nextafter(low, infinity);
        if (high == test->number) high = std::nextafter(high, -infinity);
    }
    return low <= high;
}

// Whether no text passes both: with_consequences of two tests, in values.py.
inline bool exclude(const ValueTest& one, const ValueTest& other) {
    if (one.comparison == Comparison::equal_text) return !passes(one, other);
    if (other.comparison == Comparison::equal_text) return !passes(other, one);
    if (one.is_text() && other.is_text()) return !ends_agree(one, other);
    if (one.is_text()) return one.is_no_number && other.comparison != Comparison::unequal;
    if (other.is_text()) return other.is_no_number && one.comparison != Comparison::unequal;
    if (one.comparison == Comparison::unequal && other.comparison == Comparison::unequal) {
        return false;
    }
    return !have_common_number(one, other);
}

}  // namespace twigcast::base
