"""Functions of dates, times and durations."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Final

from twigcast.language import FUNCTIONS_BY_NAME
from twigcast.matching.reference.definitions import define
from twigcast.matching.reference.moments import Duration, Moment, convert_moment
from twigcast.matching.reference.setting import Setting


@define("current-dateTime", needs_setting=True)
def current_date_time(setting: Setting) -> Moment:
    return setting.now


@define("current-date", needs_setting=True)
def current_date(setting: Setting) -> Moment:
    return convert_moment(setting.now, "xs:date")


@define("current-time", needs_setting=True)
def current_time(setting: Setting) -> Moment:
    return convert_moment(setting.now, "xs:time")


_OF_MOMENTS: Final[dict[str, Callable[[Moment], int | Decimal]]] = {
    "year": lambda moment: moment.civil[0],
    "month": lambda moment: moment.civil[1],
    "day": lambda moment: moment.civil[2],
    "hours": lambda moment: moment.clock[0],
    "minutes": lambda moment: moment.clock[1],
    "seconds": lambda moment: moment.clock[2],
}

_OF_DURATIONS: Final[dict[str, Callable[[Duration], int | Decimal]]] = {
    "years": lambda duration: _signed(duration, abs(duration.months) // 12),
    "months": lambda duration: _signed(duration, abs(duration.months) % 12),
    "days": lambda duration: _signed(duration, int(abs(duration.seconds) // 86_400)),
    "hours": lambda duration: _signed(duration, int(abs(duration.seconds) % 86_400 // 3600)),
    "minutes": lambda duration: _signed(duration, int(abs(duration.seconds) % 3600 // 60)),
    "seconds": lambda duration: _signed(duration, abs(duration.seconds) % 60),
}


def _signed(duration: Duration, size: int | Decimal) -> int | Decimal:
    return -size if duration.months < 0 or duration.seconds < 0 else size


def _define_part(name: str, part: str, whole: str) -> None:
    """Define ``year-from-date`` and its like."""

    @define(name, f"xs:{whole}?")
    def part_of(value: Moment | Duration | None) -> int | Decimal | None:
        if isinstance(value, Moment):
            return _OF_MOMENTS[part](value)
        return None if value is None else _OF_DURATIONS[part](value)


for _name in FUNCTIONS_BY_NAME:
    _part, _from, _whole = _name.partition("-from-")
    if _from:
        _define_part(_name, _part, _whole)
