// Two atomic values compared: equality, and order where the type has one.
#pragma once

#include "program/casting.hpp"

namespace twigcast::program {

using namespace base;

inline bool is_order(Operator operation) {
    return operation != Operator::equal && operation != Operator::unequal &&
           operation != Operator::value_equal && operation != Operator::value_unequal;
}

// The operator with its sides exchanged.
inline Operator mirrored(Operator operation) {
    if (operation == Operator::less) return Operator::greater;
    if (operation == Operator::at_most) return Operator::at_least;
    if (operation == Operator::greater) return Operator::less;
    if (operation == Operator::at_least) return Operator::at_most;
    return operation;
}

// Of any two things of a C++ type that has an order.
template <class Value>
bool values_compare(Operator operation, const Value& one, const Value& two) {
    if (operation == Operator::equal || operation == Operator::value_equal) return one == two;
    if (operation == Operator::unequal || operation == Operator::value_unequal) return one != two;
    if (operation == Operator::less || operation == Operator::value_less) return one < two;
    if (operation == Operator::at_most || operation == Operator::value_at_most) return one <= two;
    if (operation == Operator::greater || operation == Operator::value_greater) return one > two;
    return one >= two;
}

inline bool numbers_compare(Operator operation, const Item& one, const Item& two) {
    if (one.is_exact() && two.is_exact()) {
        return values_compare(operation, Decimal::of(one).compare(Decimal::of(two)), 0);
    }
    double left = 0, right = 0;
    to_double(one, left);
    to_double(two, right);
    if (one.type != Type::real && two.type != Type::real) {
        return values_compare(operation, static_cast<float>(left), static_cast<float>(right));
    }
    return values_compare(operation, left, right);
}

// False in `known` where values of these types do not compare so.
inline bool atoms_compare(Operator operation, const Item& one, const Item& two, bool& known) {
    known = true;
    if (one.is_numeric() && two.is_numeric()) return numbers_compare(operation, one, two);
    if (one.is_text() && two.is_text()) return values_compare(operation, one.view(), two.view());
    if (one.type == two.type && one.type == Type::boolean) {
        return values_compare(operation, one.boolean, two.boolean);
    }
    const bool is_moment = one.type == Type::date || one.type == Type::date_time;
    if (one.type == two.type && (is_moment || one.type == Type::time)) {
        return values_compare(operation, in_utc(one), in_utc(two));
    }
    if (one.is_duration() && two.is_duration()) {
        if (!is_order(operation)) {
            const bool same = one.months == two.months && one.wide == two.wide;
            return values_compare(operation, same, true);
        }
        if (one.type == two.type && one.type == Type::day_time) {
            return values_compare(operation, one.wide, two.wide);
        }
        if (one.type == two.type && one.type == Type::year_month) {
            return values_compare(operation, one.months, two.months);
        }
    }
    known = false;
    return false;
}

// The constructor of the type that an untyped value takes beside another.
inline Function type_beside(Type type) {
    switch (type) {
        case Type::boolean: return Function::xs_boolean;
        case Type::integer:
        case Type::decimal:
        case Type::real_32:
        case Type::real: return Function::xs_double;
        case Type::date: return Function::xs_date;
        case Type::date_time: return Function::xs_dateTime;
        case Type::time: return Function::xs_time;
        case Type::duration: return Function::xs_duration;
        case Type::day_time: return Function::xs_dayTimeDuration;
        case Type::year_month: return Function::xs_yearMonthDuration;
        case Type::untyped:
        case Type::text:
        case Type::uri:
        case Type::node: break;
    }
    return Function::xs_string;
}

}  // namespace twigcast::program
