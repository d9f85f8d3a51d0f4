// Dates, times and durations: read, spelled, taken apart.
//
//     date_time    nanoseconds since 1970 by the clock of its zone, and the zone
//     date         the same at midnight
//     time         nanoseconds since midnight, and the zone
//     durations    months, and nanoseconds; one of the two is 0 but for xs:duration
//
// The calendar is the Gregorian one, without a beginning.  What names no zone is compared as if its
// zone were UTC, which is also the zone of current-dateTime(): the same document gives the same
// answer on every machine.
#pragma once

#include "program/decimal.hpp"

namespace twigcast::program {

using namespace base;

constexpr Wide SECOND = 1'000'000'000;
constexpr Wide MINUTE = 60 * SECOND, HOUR = 60 * MINUTE, DAY = 24 * HOUR;

inline Wide divide_down(Wide one, Wide two) {
    const Wide quotient = one / two;
    return one % two < 0 ? quotient - 1 : quotient;
}

struct Day {
    int64_t year;
    int32_t month, day;  // from 1

    static bool is_leap(int64_t year) {
        return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    }
    static int32_t days_in(int64_t year, int32_t month) {
        constexpr int32_t DAYS[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
        return month == 2 && is_leap(year) ? 29 : DAYS[month - 1];
    }

    // Days since 1970: years begin in March, so that the leap day is the last of one.
    int64_t number() const {
        const int64_t shifted = month <= 2 ? year - 1 : year;
        const int64_t era = (shifted >= 0 ? shifted : shifted - 399) / 400;
        const int64_t of_era = shifted - era * 400;
        const int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
        return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
    }
    static Day of(int64_t number) {
        number += 719468;
        const int64_t era = (number >= 0 ? number : number - 146096) / 146097;
        const int64_t of_era = number - era * 146097;
        const int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
        const int64_t of_year = of_era - (365 * year + year / 4 - year / 100);
        const int64_t shifted = (5 * of_year + 2) / 153;
        const int32_t month = static_cast<int32_t>(shifted < 10 ? shifted + 3 : shifted - 9);
        return {year + era * 400 + (month <= 2), month,
                static_cast<int32_t>(of_year - (153 * shifted + 2) / 5 + 1)};
    }
    static Day of_moment(Wide moment) { return of(static_cast<int64_t>(divide_down(moment, DAY))); }
};

inline Wide time_of(Wide moment) { return moment - divide_down(moment, DAY) * DAY; }

// The same moment by the clock of UTC.
inline Wide in_utc(const Item& item) {
    return item.zone == NO_ZONE ? item.wide : item.wide - item.zone * MINUTE;
}

// --- reading ------------------------------------------------------------------------------------

class MomentReader {
public:
    // Of a date, date_time or time, without white space around it.
    static bool read(std::string_view text, Type type, Item& item) {
        MomentReader reader(text);
        item = Item::of_wide(type, 0);
        if (type != Type::time) {
            Day day;
            if (!reader.day(day)) return false;
            item.wide = Wide{day.number()} * DAY;
        }
        if (type == Type::date_time && !reader.take('T')) return false;
        if (type != Type::date) {
            Wide time = 0;
            if (!reader.time(time)) return false;
            item.wide += time;
            if (type == Type::time) item.wide = time_of(item.wide);
        }
        return reader.zone(item.zone) && reader.rest_.empty();
    }

    static bool read_duration(std::string_view text, Type type, Item& item) {
        MomentReader reader(text);
        item = Item::of_wide(type, 0);
        const bool negative = reader.take('-');
        if (!reader.take('P')) return false;
        Wide months = 0, nanoseconds = 0;
        bool any = false, in_time = false, any_time = false;
        constexpr std::string_view DATE_UNITS = "YMD", TIME_UNITS = "HMS";
        size_t next = 0;
        while (!reader.rest_.empty()) {
            if (!in_time && reader.take('T')) {
                in_time = true;
                next = 0;
                continue;
            }
            Wide count = 0, fraction = 0;
            if (!reader.number(count, 1, 18)) return false;
            const bool has_fraction = reader.take('.');
            if (has_fraction && !reader.fraction(fraction)) return false;
            if (reader.rest_.empty()) return false;
            const std::string_view units = in_time ? TIME_UNITS : DATE_UNITS;
            const size_t unit = units.find(reader.rest_[0]);
            if (unit == std::string_view::npos || unit < next) return false;
            if (has_fraction && !(in_time && unit == 2)) return false;
            reader.rest_.remove_prefix(1);
            next = unit + 1;
            any = true;
            any_time |= in_time;
            if (in_time) {
                constexpr Wide UNITS[] = {HOUR, MINUTE, SECOND};
                nanoseconds += count * UNITS[unit] + fraction;
            } else if (unit == 2) {
                nanoseconds += count * DAY;
            } else {
                months += count * (unit == 0 ? 12 : 1);
            }
        }
        if (!any || (in_time && !any_time) || months > 0x7FFFFFFF) return false;
        if (type == Type::day_time && text.find_first_of("YM") < text.find('T')) return false;
        if (type == Type::year_month && (in_time || text.find('D') != std::string_view::npos)) {
            return false;
        }
        item.months = static_cast<int32_t>(negative ? -months : months);
        item.wide = negative ? -nanoseconds : nanoseconds;
        return true;
    }

private:
    explicit MomentReader(std::string_view text) : rest_(text) {}

    bool take(char byte) {
        if (rest_.empty() || rest_[0] != byte) return false;
        rest_.remove_prefix(1);
        return true;
    }

    bool number(Wide& value, size_t least, size_t most) {
        size_t count = 0;
        value = 0;
        while (count < rest_.size() && is_digit(rest_[count])) {
            if (count == most) return false;
            value = value * 10 + (rest_[count++] - '0');
        }
        rest_.remove_prefix(count);
        return count >= least;
    }
    bool two(int32_t& value, int32_t least, int32_t most) {
        Wide wide = 0;
        if (!number(wide, 2, 2)) return false;
        value = static_cast<int32_t>(wide);
        return value >= least && value <= most;
    }
    // Nanoseconds; what is smaller is dropped.
    bool fraction(Wide& nanoseconds) {
        Wide unit = SECOND;
        size_t count = 0;
        while (count < rest_.size() && is_digit(rest_[count])) {
            unit /= 10;
            nanoseconds += unit * (rest_[count++] - '0');
        }
        rest_.remove_prefix(count);
        return count > 0;
    }

    bool day(Day& day) {
        const bool negative = take('-');
        const std::string_view digits = rest_;
        Wide year = 0;
        if (!number(year, 4, 9)) return false;
        if (digits[0] == '0' && digits.size() - rest_.size() > 4) return false;
        day.year = static_cast<int64_t>(negative ? -year : year);
        return take('-') && two(day.month, 1, 12) && take('-') && two(day.day, 1, 31) &&
               day.day <= Day::days_in(day.year, day.month);
    }

    bool time(Wide& time) {
        int32_t hours = 0, minutes = 0, seconds = 0;
        if (!two(hours, 0, 24) || !take(':') || !two(minutes, 0, 59) || !take(':') ||
            !two(seconds, 0, 59)) {
            return false;
        }
        Wide behind = 0;
        if (take('.') && !fraction(behind)) return false;
        time = hours * HOUR + minutes * MINUTE + seconds * SECOND + behind;
        return time <= DAY;
    }

    bool zone(int16_t& zone) {
        zone = NO_ZONE;
        if (rest_.empty()) return true;
        if (take('Z')) {
            zone = 0;
            return true;
        }
        const bool negative = rest_[0] == '-';
        int32_t hours = 0, minutes = 0;
        if ((!take('+') && !take('-')) || !two(hours, 0, 14) || !take(':') ||
            !two(minutes, 0, 59)) {
            return false;
        }
        const int32_t offset = hours * 60 + minutes;
        zone = static_cast<int16_t>(negative ? -offset : offset);
        return offset <= 14 * 60;
    }

    std::string_view rest_;
};

// --- spelling -----------------------------------------------------------------------------------

inline void put_padded(std::string& text, Wide value, size_t width) {
    char digits[48];
    const char* const end = Decimal::spell_digits(value, digits);
    const size_t count = static_cast<size_t>(end - digits);
    if (count < width) text.append(width - count, '0');
    text.append(digits, count);
}

inline void put_seconds(std::string& text, Wide nanoseconds, size_t width) {
    put_padded(text, nanoseconds / SECOND, width);
    Wide rest = nanoseconds % SECOND;
    if (rest == 0) return;
    text.push_back('.');
    for (Wide unit = SECOND / 10; rest != 0; unit /= 10) {
        text.push_back(static_cast<char>('0' + static_cast<int>(rest / unit)));
        rest %= unit;
    }
}

inline std::string spell_moment(const Item& item) {
    std::string text;
    if (item.type != Type::time) {
        const Day day = Day::of_moment(item.wide);
        if (day.year < 0) text.push_back('-');
        put_padded(text, day.year < 0 ? -day.year : day.year, 4);
        text.push_back('-');
        put_padded(text, day.month, 2);
        text.push_back('-');
        put_padded(text, day.day, 2);
    }
    if (item.type == Type::date_time) text.push_back('T');
    if (item.type != Type::date) {
        const Wide time = time_of(item.wide);
        put_padded(text, time / HOUR, 2);
        text.push_back(':');
        put_padded(text, time / MINUTE % 60, 2);
        text.push_back(':');
        put_seconds(text, time % MINUTE, 2);
    }
    if (item.zone == NO_ZONE) return text;
    if (item.zone == 0) return text + "Z";
    const int32_t offset = item.zone < 0 ? -item.zone : item.zone;
    text.push_back(item.zone < 0 ? '-' : '+');
    put_padded(text, offset / 60, 2);
    text.push_back(':');
    put_padded(text, offset % 60, 2);
    return text;
}

inline std::string spell_duration(const Item& item) {
    std::string text;
    const bool negative = item.months < 0 || item.wide < 0;
    const int64_t months = item.months < 0 ? -int64_t{item.months} : item.months;
    const Wide time = item.wide < 0 ? -item.wide : item.wide;
    if (negative) text.push_back('-');
    text.push_back('P');
    const auto put = [&](Wide value, char unit) {
        if (value == 0) return;
        put_padded(text, value, 1);
        text.push_back(unit);
    };
    put(months / 12, 'Y');
    put(months % 12, 'M');
    put(time / DAY, 'D');
    if (time % DAY != 0) {
        text.push_back('T');
        put(time / HOUR % 24, 'H');
        put(time / MINUTE % 60, 'M');
        if (time % MINUTE != 0) {
            put_seconds(text, time % MINUTE, 1);
            text.push_back('S');
        }
    }
    if (months == 0 && time == 0) text += item.type == Type::year_month ? "0M" : "T0S";
    return text;
}

}  // namespace twigcast::program
