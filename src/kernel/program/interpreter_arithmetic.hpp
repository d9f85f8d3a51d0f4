// Arithmetic, ranges and rounding: doubles by the rules of XPath 1.0, by those of version 2 in the
// type of the operands.
#pragma once

#include "program/calculating.hpp"
#include "program/interpreter_comparisons.hpp"

namespace twigcast::program {

// False where there is no value, and hence no result.
inline bool Interpreter::take_operand(uint32_t number, const Focus& focus, Item& item) {
    const bool is_there = take_atom(number, focus, item);
    if (!is_version_2_) {
        const bool is_moment = is_there && item.type >= Type::date;
        if (!is_moment) {
            item = Item::of(is_there ? number_of(item) : std::numeric_limits<double>::quiet_NaN());
        }
        return true;
    }
    if (is_there && item.type == Type::untyped) {
        double value = 0;
        if (!to_double(item, value)) fail("a text that is no number");
        item = Item::of(value);
    }
    return is_there;
}

inline Sequence Interpreter::arithmetic(Part one, const Focus& focus) {
    Item left, right;
    if (!take_operand(child(one, 0), focus, left)) return {};
    if (count(one) == 1) return negated(left);
    if (!take_operand(child(one, 1), focus, right)) return {};
    return calculate(operator_of(one), left, right);
}

inline Sequence Interpreter::range(Part one, const Focus& focus) {
    Wide bounds[2];
    for (uint32_t at = 0; at < 2; ++at) {
        Item item;
        if (!take_atom(child(one, at), focus, item)) return {};
        const bool fits = item.type == Type::integer || item.type == Type::untyped ||
                          (!is_version_2_ && item.is_numeric());
        if (!fits || !cast(item, Function::xs_integer, item, work_)) fail("a range of no integers");
        bounds[at] = item.wide;
    }
    if (bounds[0] > bounds[1]) return {};
    if (bounds[1] - bounds[0] >= Wide{Work::MOST_ITEMS}) throw BudgetExceeded{};
    work_.spend(static_cast<uint64_t>(bounds[1] - bounds[0]));
    std::vector<Item> items;
    items.reserve(static_cast<size_t>(bounds[1] - bounds[0]) + 1);
    for (Wide value = bounds[0]; value <= bounds[1]; ++value) {
        items.push_back(Item::of_integer(value));
    }
    return Sequence(std::move(items));
}

// A double at so many places; halves go up, or to the even neighbour.
inline double rounded_double(double number, int64_t places, bool half_to_even) {
    if (!std::isfinite(number) || number == 0) return number;
    if (places == 0 && !half_to_even) return round_half_up(number);
    if (places == 0) return std::nearbyint(number);
    if (places > 300 || std::fabs(number) >= 1e37) return number;
    const Decimal rounded = Decimal::nearest(number).rounded(places, half_to_even);
    return std::copysign(rounded.number(), number);
}

// floor, ceiling, round, abs and round-half-to-even.
inline Sequence Interpreter::rounded(Part one, const Focus& focus) {
    Item item;
    if (!number_item_at(child(one, 0), focus, item)) return {};
    int64_t places = 0;
    if (count(one) == 2) {
        Item wanted;
        if (!take_atom(child(one, 1), focus, wanted)) return {};
        const bool may_be = wanted.type == Type::integer || wanted.type == Type::untyped;
        if (!may_be || !cast(wanted, Function::xs_integer, wanted, work_)) {
            fail("places that are no integer");
        }
        places = static_cast<int64_t>(std::min(std::max(wanted.wide, Wide{-400}), Wide{400}));
    }
    const Function function = function_of(one);
    const bool half_to_even = function == Function::round_half_to_even;
    item.subtype = 0;
    if (item.is_exact()) {
        const Decimal value = Decimal::of(item);
        const bool whole = item.type == Type::integer;
        if (function == Function::abs) return (value.digits < 0 ? -value : value).item(whole);
        if (function == Function::floor) return Decimal{value.floor(), 0}.item(whole);
        if (function == Function::ceiling) return Decimal{value.ceiling(), 0}.item(whole);
        return value.rounded(places, half_to_even).item(whole);
    }
    if (function == Function::abs) {
        item.number = std::fabs(item.number);
    } else if (function == Function::floor) {
        item.number = std::floor(item.number);
    } else if (function == Function::ceiling) {
        item.number = std::ceil(item.number);
    } else {
        item.number = rounded_double(item.number, places, half_to_even);
    }
    return item;
}

}  // namespace twigcast::program
