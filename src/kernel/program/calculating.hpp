// Arithmetic with two atomic values by the rules of XPath 2.0: integers and decimals stay exact,
// doubles and floats are those of C++, dates move by durations.
#pragma once

#include "program/comparing.hpp"

namespace twigcast::program {

using namespace base;

inline double calculate_doubles(Operator operation, double one, double two) {
    if (operation == Operator::plus) return one + two;
    if (operation == Operator::minus) return one - two;
    if (operation == Operator::times) return one * two;
    if (operation == Operator::divide) return one / two;
    return std::fmod(one, two);
}

inline Item whole_quotient(double one, double two) {
    if (two == 0) throw DynamicError{"a number is divided by zero"};
    const double quotient = std::trunc(one / two);
    if (!(std::fabs(quotient) < 1e37)) throw DynamicError{"a quotient that is no integer"};
    return Item::of_integer(static_cast<Wide>(quotient));
}

inline Item calculate_exactly(Operator operation, const Item& one, const Item& two) {
    const Decimal left = Decimal::of(one), right = Decimal::of(two);
    const bool whole = one.type == Type::integer && two.type == Type::integer;
    if (operation == Operator::plus) return (left + right).item(whole);
    if (operation == Operator::minus) return (left - right).item(whole);
    if (operation == Operator::times) return (left * right).item(whole);
    if (operation == Operator::divide) return (left / right).item();
    if (operation == Operator::divide_whole) return Item::of_integer(left.divided_whole(right));
    return left.modulo(right).item(whole);
}

inline Item calculate_with_numbers(Operator operation, const Item& one, const Item& two) {
    if (one.is_exact() && two.is_exact()) return calculate_exactly(operation, one, two);
    double left = 0, right = 0;
    to_double(one, left);
    to_double(two, right);
    if (operation == Operator::divide_whole) return whole_quotient(left, right);
    const bool is_float = one.type != Type::real && two.type != Type::real;
    double result = 0;
    if (is_float) {
        const float small = static_cast<float>(
            calculate_doubles(operation, static_cast<float>(left), static_cast<float>(right)));
        result = static_cast<double>(small);
    } else {
        result = calculate_doubles(operation, left, right);
    }
    Item item = Item::of(result);
    if (is_float) item.type = Type::real_32;
    return item;
}

// A date or date_time some months later; the day is at most the last of its month.
inline Item later_by_months(Item moment, int64_t months) {
    Day day = Day::of_moment(moment.wide);
    const Wide time = time_of(moment.wide);
    const int64_t all = day.year * 12 + (day.month - 1) + months;
    day.year = static_cast<int64_t>(divide_down(all, 12));
    day.month = static_cast<int32_t>(all - day.year * 12) + 1;
    day.day = std::min(day.day, Day::days_in(day.year, day.month));
    moment.wide = Wide{day.number()} * DAY + time;
    moment.subtype = 0;
    return moment;
}

inline Item later(Item moment, const Item& duration, int sign) {
    if (duration.type == Type::year_month && moment.type != Type::time) {
        return later_by_months(moment, int64_t{duration.months} * sign);
    }
    if (duration.type != Type::day_time) throw DynamicError{"a date and a duration do not add"};
    moment.wide = Decimal::add(moment.wide, duration.wide * sign);
    if (moment.type == Type::time) moment.wide = time_of(moment.wide);
    if (moment.type == Type::date) moment.wide -= time_of(moment.wide);
    moment.subtype = 0;
    return moment;
}

// A duration of so many months or nanoseconds, rounded to whole ones.
inline Item scaled(const Item& duration, double factor) {
    const bool by_months = duration.type == Type::year_month;
    const double old = by_months ? duration.months : static_cast<double>(duration.wide);
    const double value = old * factor;
    const double most = by_months ? 2e9 : 1e30;
    if (!(std::fabs(value) < most)) throw DynamicError{"a duration that is too long"};
    Item item = Item::of_wide(duration.type, 0);
    if (by_months) {
        item.months = static_cast<int32_t>(std::floor(value + 0.5));
    } else {
        item.wide = static_cast<Wide>(value < 0 ? value - 0.5 : value + 0.5);
    }
    return item;
}

inline Item calculate_with_durations(Operator operation, const Item& one, const Item& two) {
    const bool adds = operation == Operator::plus || operation == Operator::minus;
    const int sign = operation == Operator::minus ? -1 : 1;
    if (one.is_duration() && two.is_duration() && one.type == two.type &&
        one.type != Type::duration) {
        if (adds) {
            Item item = Item::of_wide(one.type, Decimal::add(one.wide, two.wide * sign));
            const int64_t months = int64_t{one.months} + int64_t{two.months} * sign;
            if (months != static_cast<int32_t>(months)) Decimal::overflow();
            item.months = static_cast<int32_t>(months);
            return item;
        }
        if (operation == Operator::divide) {
            const bool by_months = one.type == Type::year_month;
            const Decimal left{by_months ? Wide{one.months} : one.wide, 0};
            const Decimal right{by_months ? Wide{two.months} : two.wide, 0};
            return left.divided(right, 20).item();
        }
    }
    const bool scales = operation == Operator::times || operation == Operator::divide;
    const Item& duration = one.is_duration() ? one : two;
    const Item& other = one.is_duration() ? two : one;
    if (duration.is_duration() && duration.type != Type::duration && other.is_numeric() && scales &&
        (operation == Operator::times || one.is_duration())) {
        double factor = 0;
        to_double(other, factor);
        if (operation == Operator::divide && factor == 0) {
            throw DynamicError{"a duration is divided by zero"};
        }
        return scaled(duration, operation == Operator::divide ? 1 / factor : factor);
    }
    throw DynamicError{"values with which this cannot be calculated"};
}

inline Item calculate(Operator operation, const Item& one, const Item& two) {
    if (one.is_numeric() && two.is_numeric()) return calculate_with_numbers(operation, one, two);
    const auto is_moment = [](const Item& item) {
        return item.type == Type::date || item.type == Type::date_time || item.type == Type::time;
    };
    if (is_moment(one) && one.type == two.type && operation == Operator::minus) {
        return Item::of_wide(Type::day_time, in_utc(one) - in_utc(two));
    }
    if (is_moment(one) && two.is_duration() &&
        (operation == Operator::plus || operation == Operator::minus)) {
        return later(one, two, operation == Operator::plus ? 1 : -1);
    }
    if (is_moment(two) && one.is_duration() && operation == Operator::plus) {
        return later(two, one, 1);
    }
    return calculate_with_durations(operation, one, two);
}

inline Item negated(const Item& item) {
    Item result = item;
    result.subtype = 0;
    if (item.is_exact()) {
        result.wide = Decimal::multiply(item.wide, -1);
    } else if (item.is_numeric()) {
        result.number = -item.number;
    } else {
        throw DynamicError{"a value that is no number has no negative"};
    }
    return result;
}

}  // namespace twigcast::program
