// Atomic values as texts, and values of one type as values of another.
//
//     text, untyped ──► any type, where the text is of its lexical form
//     numbers, booleans ──► each other;  dates, times ──► each other;  durations ──► each other
//     anything ──► text
//
// A cast that cannot be done is false here; the caller decides whether that is an error.
#pragma once

#include <limits>

#include "program/calendar.hpp"
#include "program/characters.hpp"
#include "program/number_spelling.hpp"

namespace twigcast::program {

using namespace base;

// The lexical form of xs:double: unlike XPath 1.0's, with INF, NaN and a leading plus.
inline bool read_double(std::string_view text, double& number) {
    text = trimmed(text);
    constexpr double INFINITE = std::numeric_limits<double>::infinity();
    number = std::numeric_limits<double>::quiet_NaN();
    if (text == "NaN") return true;
    if (text == "INF" || text == "+INF" || text == "-INF") {
        number = text[0] == '-' ? -INFINITE : INFINITE;
        return true;
    }
    if (text.empty() || !(is_digit(text.back()) || text.back() == '.')) return false;
    if (text[0] == '+') {
        text.remove_prefix(1);
        if (!text.empty() && text[0] == '-') return false;
    }
    number = to_number(text);
    return !std::isnan(number);
}

// The number of a number, a boolean or a text.
inline bool to_double(const Item& item, double& number) {
    if (item.type == Type::real || item.type == Type::real_32) {
        number = item.number;
    } else if (item.is_exact()) {
        number = Decimal::of(item).number();
    } else if (item.type == Type::boolean) {
        number = item.boolean;
    } else {
        return item.is_text() && item.type != Type::uri && read_double(item.view(), number);
    }
    return true;
}

// By the rules of XPath 2.0.
inline std::string_view spell(const Item& item, Work& work) {
    switch (item.type) {
        case Type::untyped:
        case Type::text:
        case Type::uri: return item.view();
        case Type::boolean: return item.boolean ? "true" : "false";
        case Type::integer:
        case Type::decimal: {
            char spelled[96];
            const char* const end = Decimal::of(item).spell(spelled);
            return work.keep({spelled, static_cast<size_t>(end - spelled)});
        }
        case Type::real: return work.keep(spell_as_xpath_2(item.number).view());
        case Type::real_32:
            return work.keep(spell_as_xpath_2(static_cast<float>(item.number)).view());
        case Type::date:
        case Type::date_time:
        case Type::time: return work.keep(spell_moment(item));
        case Type::duration:
        case Type::day_time:
        case Type::year_month: return work.keep(spell_duration(item));
        case Type::node: break;
    }
    return {};
}

// The type that a constructor makes, without the bounds of a derived one.
inline Type type_of(Function constructor) {
    if (constructor == Function::xs_string || constructor == Function::xs_normalizedString ||
        constructor == Function::xs_token) {
        return Type::text;
    }
    if (constructor == Function::xs_boolean) return Type::boolean;
    if (constructor == Function::xs_decimal) return Type::decimal;
    if (constructor == Function::xs_double) return Type::real;
    if (constructor == Function::xs_float) return Type::real_32;
    if (constructor == Function::xs_date) return Type::date;
    if (constructor == Function::xs_dateTime) return Type::date_time;
    if (constructor == Function::xs_time) return Type::time;
    if (constructor == Function::xs_duration) return Type::duration;
    if (constructor == Function::xs_dayTimeDuration) return Type::day_time;
    if (constructor == Function::xs_yearMonthDuration) return Type::year_month;
    if (constructor == Function::xs_anyURI) return Type::uri;
    if (constructor == Function::xs_untypedAtomic) return Type::untyped;
    return Type::integer;
}

// Whether an integer is within the bounds of a derived type.
inline bool is_within(Function constructor, Wide value) {
    const auto fits = [&](int bits) {
        return value >= -(Wide{1} << (bits - 1)) && value < Wide{1} << (bits - 1);
    };
    const auto fits_unsigned = [&](int bits) { return value >= 0 && value < Wide{1} << bits; };
    if (constructor == Function::xs_long) return fits(64);
    if (constructor == Function::xs_int) return fits(32);
    if (constructor == Function::xs_short) return fits(16);
    if (constructor == Function::xs_byte) return fits(8);
    if (constructor == Function::xs_unsignedLong) return fits_unsigned(64);
    if (constructor == Function::xs_unsignedInt) return fits_unsigned(32);
    if (constructor == Function::xs_unsignedShort) return fits_unsigned(16);
    if (constructor == Function::xs_unsignedByte) return fits_unsigned(8);
    if (constructor == Function::xs_nonNegativeInteger) return value >= 0;
    if (constructor == Function::xs_positiveInteger) return value > 0;
    if (constructor == Function::xs_nonPositiveInteger) return value <= 0;
    if (constructor == Function::xs_negativeInteger) return value < 0;
    return true;
}

inline bool cast_to_boolean(const Item& from, Item& to) {
    if (from.type == Type::boolean) {
        to = from;
    } else if (from.is_numeric()) {
        const bool is_zero = from.is_exact() ? from.wide == 0 : !(std::fabs(from.number) > 0);
        to = Item::of(!is_zero);
    } else if (from.is_text() && from.type != Type::uri) {
        const std::string_view text = trimmed(from.view());
        if (text != "true" && text != "1" && text != "false" && text != "0") return false;
        to = Item::of(text == "true" || text == "1");
    } else {
        return false;
    }
    return true;
}

inline bool cast_to_exact(const Item& from, bool as_integer, Item& to) {
    constexpr double LARGEST = 1e37;
    Decimal value;
    if (from.is_exact()) {
        value = Decimal::of(from);
    } else if (from.is_numeric()) {
        if (!(std::fabs(from.number) < LARGEST)) return false;
        value = Decimal::nearest(as_integer ? std::trunc(from.number) : from.number);
    } else if (from.type == Type::boolean) {
        value.digits = from.boolean;
    } else if (from.is_text() && from.type != Type::uri) {
        const std::string_view text = trimmed(from.view());
        if (as_integer && text.find('.') != std::string_view::npos) return false;
        if (!Decimal::read(text, value)) return false;
    } else {
        return false;
    }
    if (as_integer) value = {value.whole(), 0};
    to = value.item(as_integer);
    return true;
}

inline bool cast_to_moment(const Item& from, Type type, Item& to) {
    if (from.is_text() && from.type != Type::uri) {
        return MomentReader::read(trimmed(from.view()), type, to);
    }
    const bool same = from.type == type;
    const bool widens = from.type == Type::date && type == Type::date_time;
    const bool narrows = from.type == Type::date_time;
    if (!same && !widens && !narrows) return false;
    to = from;
    to.type = type;
    if (narrows && type == Type::date) to.wide -= time_of(to.wide);
    if (narrows && type == Type::time) to.wide = time_of(to.wide);
    return true;
}

inline bool cast_to_duration(const Item& from, Type type, Item& to) {
    if (from.is_text() && from.type != Type::uri) {
        return MomentReader::read_duration(trimmed(from.view()), type, to);
    }
    if (!from.is_duration()) return false;
    to = from;
    to.type = type;
    if (type == Type::day_time) to.months = 0;
    if (type == Type::year_month) to.wide = 0;
    return true;
}

// The value as one of the type that a constructor makes.
inline bool cast(const Item& from, Function constructor, Item& to, Work& work) {
    const Type type = type_of(constructor);
    switch (type) {
        case Type::text:
        case Type::untyped:
        case Type::uri: {
            if (type == Type::uri && !from.is_text()) return false;
            std::string_view text = spell(from, work);
            if (constructor == Function::xs_token) text = normalize_space(text, work);
            if (type == Type::uri) text = normalize_space(text, work);
            if (constructor == Function::xs_normalizedString) {
                char* const begin = work.make(text.size());
                std::replace_copy_if(text.begin(), text.end(), begin, is_space, ' ');
                text = {begin, text.size()};
            }
            to = Item::of_text(text, type);
            break;
        }
        case Type::boolean:
            if (!cast_to_boolean(from, to)) return false;
            break;
        case Type::integer:
        case Type::decimal:
            if (!cast_to_exact(from, type == Type::integer, to)) return false;
            if (!is_within(constructor, to.wide) && type == Type::integer) return false;
            break;
        case Type::real:
        case Type::real_32: {
            double number = 0;
            if (!to_double(from, number)) return false;
            if (type == Type::real_32) number = static_cast<double>(static_cast<float>(number));
            to = Item::of(number);
            to.type = type;
            break;
        }
        case Type::date:
        case Type::date_time:
        case Type::time:
            if (!cast_to_moment(from, type, to)) return false;
            break;
        case Type::duration:
        case Type::day_time:
        case Type::year_month:
            if (!cast_to_duration(from, type, to)) return false;
            break;
        case Type::node: return false;
    }
    to.subtype = static_cast<uint8_t>(constructor);
    return true;
}

}  // namespace twigcast::program
