// The functions of dates, times and durations.
#pragma once

#include "program/interpreter_types.hpp"

namespace twigcast::program {

// A component of a moment: which, and of what type of value.
struct Component {
    Type type;
    char unit;  // Y M D h m s
};

inline Component component_of(Function function) {
    if (function == Function::year_from_date) return {Type::date, 'Y'};
    if (function == Function::month_from_date) return {Type::date, 'M'};
    if (function == Function::day_from_date) return {Type::date, 'D'};
    if (function == Function::year_from_dateTime) return {Type::date_time, 'Y'};
    if (function == Function::month_from_dateTime) return {Type::date_time, 'M'};
    if (function == Function::day_from_dateTime) return {Type::date_time, 'D'};
    if (function == Function::hours_from_dateTime) return {Type::date_time, 'h'};
    if (function == Function::minutes_from_dateTime) return {Type::date_time, 'm'};
    if (function == Function::seconds_from_dateTime) return {Type::date_time, 's'};
    if (function == Function::hours_from_time) return {Type::time, 'h'};
    if (function == Function::minutes_from_time) return {Type::time, 'm'};
    if (function == Function::seconds_from_time) return {Type::time, 's'};
    if (function == Function::years_from_duration) return {Type::duration, 'Y'};
    if (function == Function::months_from_duration) return {Type::duration, 'M'};
    if (function == Function::days_from_duration) return {Type::duration, 'D'};
    if (function == Function::hours_from_duration) return {Type::duration, 'h'};
    if (function == Function::minutes_from_duration) return {Type::duration, 'm'};
    if (function == Function::seconds_from_duration) return {Type::duration, 's'};
    return {Type::node, 0};
}

inline Item seconds_item(Wide nanoseconds) { return Decimal{nanoseconds, 9}.trimmed().item(); }

inline Item part_of_moment(const Item& moment, char unit) {
    const Day day = Day::of_moment(moment.wide);
    const Wide time = time_of(moment.wide);
    if (unit == 'Y') return Item::of_integer(day.year);
    if (unit == 'M') return Item::of_integer(day.month);
    if (unit == 'D') return Item::of_integer(day.day);
    if (unit == 'h') return Item::of_integer(time / HOUR);
    if (unit == 'm') return Item::of_integer(time / MINUTE % 60);
    return seconds_item(time % MINUTE);
}

// Of a negative duration all parts are negative.
inline Item part_of_duration(const Item& duration, char unit) {
    if (unit == 'Y') return Item::of_integer(duration.months / 12);
    if (unit == 'M') return Item::of_integer(duration.months % 12);
    if (unit == 'D') return Item::of_integer(duration.wide / DAY);
    if (unit == 'h') return Item::of_integer(duration.wide / HOUR % 24);
    if (unit == 'm') return Item::of_integer(duration.wide / MINUTE % 60);
    return seconds_item(duration.wide % MINUTE);
}

inline Sequence Interpreter::call_on_moments(Part one, const Focus& focus) {
    const Function function = function_of(one);
    if (count(one) == 0) {
        Item item = Item::of_wide(Type::date_time, now_);
        item.zone = 0;
        if (function == Function::current_dateTime) return item;
        item.type = function == Function::current_date ? Type::date : Type::time;
        item.wide = item.type == Type::date ? now_ - time_of(now_) : time_of(now_);
        return item;
    }
    const Component component = component_of(function);
    Item moment;
    if (!take_atom(child(one, 0), focus, moment)) return {};
    if (moment.type == Type::untyped && !cast(moment, type_beside(component.type), moment, work_)) {
        fail("a text that is no date, time or duration");
    }
    const bool is_duration = component.type == Type::duration;
    if (is_duration ? !moment.is_duration() : moment.type != component.type) {
        fail("a value that is no date, time or duration of the kind that is wanted");
    }
    return is_duration ? part_of_duration(moment, component.unit)
                       : part_of_moment(moment, component.unit);
}

}  // namespace twigcast::program
