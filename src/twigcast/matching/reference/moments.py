"""Dates, times and durations, with years and time zones that Python's ``datetime`` lacks.

A :class:`Moment` is a date, a time of day or both.  Two moments compare by the seconds of
:meth:`Moment.instant`; one without a time zone is in UTC.  A :class:`Duration` is a number of
months and a number of seconds, which have no fixed relation; its two subtypes use one of them.

Calendar arithmetic counts days by Howard Hinnant's ``days_from_civil``, which holds for all years.
Years are those of XML Schema 1.1: the year before 1 is 0.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Final, Literal, TypeAlias

MomentType: TypeAlias = Literal["xs:date", "xs:dateTime", "xs:time"]
DurationType: TypeAlias = Literal["xs:duration", "xs:dayTimeDuration", "xs:yearMonthDuration"]

_DAY: Final = 86_400

_DATE = r"(?P<year>-?(?:[1-9][0-9]{3,8}|0[0-9]{3}))-(?P<month>[0-9]{2})-(?P<day>[0-9]{2})"
_TIME = r"(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2}):(?P<second>[0-9]{2}(?:\.[0-9]+)?)"
_ZONE = r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?"
_MOMENTS: Final = {
    "xs:date": re.compile(_DATE + _ZONE),
    "xs:dateTime": re.compile(f"{_DATE}T{_TIME}{_ZONE}"),
    "xs:time": re.compile(_TIME + _ZONE),
}
_YEARS = r"(?:(?P<years>[0-9]{1,12})Y)?(?:(?P<months>[0-9]{1,12})M)?"
_DAYS = r"(?:(?P<days>[0-9]{1,12})D)?"
_CLOCK = (
    r"(?P<clock>T(?:(?P<hours>[0-9]{1,12})H)?(?:(?P<minutes>[0-9]{1,12})M)?"
    r"(?:(?P<seconds>[0-9]{1,12}(?:\.[0-9]+)?)S)?)?"
)
_DURATIONS: Final = {
    "xs:duration": re.compile(f"(?P<sign>-?)P{_YEARS}{_DAYS}{_CLOCK}"),
    "xs:yearMonthDuration": re.compile(f"(?P<sign>-?)P{_YEARS}"),
    "xs:dayTimeDuration": re.compile(f"(?P<sign>-?)P{_DAYS}{_CLOCK}"),
}


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time.  ``day`` counts days from 1970-01-01, ``second`` the seconds of that day.

    Both are local time; ``zone`` is how many minutes that is ahead of UTC, if it is said.
    """

    type: MomentType
    day: int
    second: Decimal
    zone: int | None = None

    def instant(self) -> Decimal:
        """The seconds since 1970 in UTC."""
        return self.day * _DAY + self.second - 60 * (self.zone or 0)

    @property
    def civil(self) -> tuple[int, int, int]:
        """Year, month and day of the month."""
        return civil_from_days(self.day)

    @property
    def clock(self) -> tuple[int, int, Decimal]:
        """Hours, minutes and seconds."""
        hour, rest = divmod(self.second, 3600)
        minute, second = divmod(rest, 60)
        return int(hour), int(minute), second

    def __str__(self) -> str:
        year, month, day = self.civil
        hour, minute, second = self.clock
        sign = "-" if year < 0 else ""
        date = f"{sign}{abs(year):04}-{month:02}-{day:02}"
        time = f"{hour:02}:{minute:02}:{_two_digits(second)}"
        body = {"xs:date": date, "xs:time": time, "xs:dateTime": f"{date}T{time}"}[self.type]
        return body + _zone_text(self.zone)


@dataclass(frozen=True, slots=True)
class Duration:
    """A length of time; months and seconds are both negative or both not."""

    type: DurationType
    months: int
    seconds: Decimal

    def __str__(self) -> str:
        sign = "-" if self.months < 0 or self.seconds < 0 else ""
        years, months = divmod(abs(self.months), 12)
        days, rest = divmod(abs(self.seconds), _DAY)
        hours, rest = divmod(rest, 3600)
        minutes, seconds = divmod(rest, 60)
        date = _units((years, "Y"), (months, "M"), (int(days), "D"))
        clock = _units((int(hours), "H"), (int(minutes), "M"))
        clock += f"{plain(seconds)}S" if seconds else ""
        body = date + (f"T{clock}" if clock else "")
        return f"{sign}P{body or ('0M' if self.type == 'xs:yearMonthDuration' else 'T0S')}"


def read_moment(text: str, type_name: MomentType) -> Moment | None:
    """The moment that a text without white space around it says; None if none."""
    match = _MOMENTS[type_name].fullmatch(text)
    if match is None:
        return None
    fields = match.groupdict()
    day, second = 0, Decimal(0)
    if type_name != "xs:time":
        year, month, day_of_month = int(fields["year"]), int(fields["month"]), int(fields["day"])
        if not 1 <= month <= 12 or not 1 <= day_of_month <= days_in_month(year, month):
            return None
        day = days_from_civil(year, month, day_of_month)
    if type_name != "xs:date":
        hour, minute, second = (
            int(fields["hour"]),
            int(fields["minute"]),
            Decimal(fields["second"]),
        )
        is_midnight = (hour, minute, second) == (24, 0, Decimal(0))
        if not is_midnight and (hour > 23 or minute > 59 or second >= 60):
            return None
        second += 3600 * hour + 60 * minute
        if is_midnight:
            day, second = day + (type_name == "xs:dateTime"), Decimal(0)
    zone = read_zone(fields["zone"])
    if zone is not None and abs(zone) > 14 * 60:
        return None
    return Moment(type_name, day, second, zone)


def read_zone(text: str | None) -> int | None:
    """The minutes ahead of UTC; far too many for what is no time zone."""
    if not text:
        return None
    if text == "Z":
        return 0
    hours, minutes = int(text[1:3]), int(text[4:])
    size = 60 * hours + minutes if minutes < 60 else 10_000
    return -size if text[0] == "-" else size


def read_duration(text: str, type_name: DurationType) -> Duration | None:
    """The duration that a text without white space around it says; None if none."""
    match = _DURATIONS[type_name].fullmatch(text)
    if match is None or text.endswith(("P", "T")):
        return None
    fields = match.groupdict()
    sign = -1 if fields["sign"] else 1

    def number(name: str) -> Decimal:
        return Decimal(fields.get(name) or 0)

    months = 12 * number("years") + number("months")
    seconds = number("days") * _DAY + number("hours") * 3600
    seconds += number("minutes") * 60 + number("seconds")
    return Duration(type_name, sign * int(months), sign * seconds)


def convert_moment(moment: Moment, type_name: MomentType) -> Moment:
    """The date or the time of a moment; the first second of a date."""
    day = 0 if type_name == "xs:time" else moment.day
    second = Decimal(0) if type_name == "xs:date" else moment.second
    return Moment(type_name, day, second, moment.zone)


def shift(moment: Moment, duration: Duration) -> Moment:
    """The moment so much later; the day of the month becomes smaller where a month is short."""
    day, second = moment.day, moment.second
    if duration.months:
        year, month, day_of_month = moment.civil
        year, month = divmod(12 * year + month - 1 + duration.months, 12)
        day = days_from_civil(year, month + 1, min(day_of_month, days_in_month(year, month + 1)))
    days, second = _floor_divide(second + duration.seconds, _DAY)
    if moment.type == "xs:time":
        return replace(moment, second=second)
    kept = moment.second if moment.type == "xs:date" else second
    return replace(moment, day=day + days, second=kept)


def _floor_divide(value: Decimal, by: int) -> tuple[int, Decimal]:
    """Quotient and remainder, the remainder not negative; Decimal's own divmod truncates."""
    quotient = int(value // by)
    remainder = value - quotient * by
    return (quotient - 1, remainder + by) if remainder < 0 else (quotient, remainder)


def days_from_civil(year: int, month: int, day: int) -> int:
    """The days since 1970-01-01 in the proleptic Gregorian calendar."""
    year -= month <= 2
    era, year_of_era = divmod(year, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    day_of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year
    return era * 146_097 + day_of_era - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Year, month and day of the month: the inverse."""
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524) - day_of_era // 146_096
    year_of_era //= 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted = (5 * day_of_year + 2) // 153
    day = day_of_year - (153 * shifted + 2) // 5 + 1
    month = shifted + 3 if shifted < 10 else shifted - 9
    return year_of_era + era * 400 + (month <= 2), month, day


def days_in_month(year: int, month: int) -> int:
    """How many days a month has in a year."""
    if month == 2:
        return 29 if year % 4 == 0 and (year % 100 != 0 or year % 400 == 0) else 28
    return 30 if month in (4, 6, 9, 11) else 31


def plain(value: Decimal) -> str:
    """A decimal without exponent and without zeros at its end."""
    text = format(value, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text in ("-0", "") else text


def _two_digits(second: Decimal) -> str:
    whole, point, fraction = plain(second).partition(".")
    return f"{int(whole):02}{point}{fraction}"


def _units(*numbers: tuple[int, str]) -> str:
    return "".join(f"{number}{unit}" for number, unit in numbers if number)


def _zone_text(zone: int | None) -> str:
    if not zone:
        return "" if zone is None else "Z"
    hours, minutes = divmod(abs(zone), 60)
    return f"{'-' if zone < 0 else '+'}{hours:02}:{minutes:02}"
