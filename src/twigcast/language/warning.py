"""What looks like a mistake in a subscription, but is none by the language.

Two things are noticed: a comparison that never holds (``lowering`` notices it), and a binding of a
prefix or a variable that no expression uses.  A binding may serve many expressions, so
:class:`Notices` takes in all of them before it says that none uses it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final

from twigcast.errors import SubscriptionWarning

if TYPE_CHECKING:
    from twigcast.language.bindings import Bindings
    from twigcast.language.parser import Reading

_MOST_WARNINGS: Final = 10
_PACKAGE: Final = __name__.partition(".")[0]


def issue(noticed: Iterable[SubscriptionWarning]) -> None:
    """Issue Python warnings at the line that called into this package."""
    for warning in noticed:
        warnings.warn(warning, stacklevel=_frames_within() + 1)


def _frames_within() -> int:
    """How many of the innermost frames, the caller's first, belong to this package."""
    count, frame = 0, sys._getframe(1)
    while frame.f_globals.get("__name__", "").partition(".")[0] == _PACKAGE:
        if frame.f_back is None:
            break
        count, frame = count + 1, frame.f_back
    return count


def unused_binding(name: str, value: str, text: str = "", where: str = "") -> SubscriptionWarning:
    """The warning for a binding that nothing uses; the name of a variable begins with ``$``."""
    if name.startswith("$"):
        reason = f"the variable {name} is bound and not used"
    elif name:
        reason = f"the prefix {name} is bound to {value} and not used"
    else:
        reason = f"no element name without a prefix is there for the default namespace {value}"
    return SubscriptionWarning(reason, text, where=where)


def unused_bindings(
    bindings: Bindings, reading: Reading, text: str
) -> Iterator[SubscriptionWarning]:
    """The warnings for the bindings that an expression does not use."""
    used = set(_used(bindings, reading))
    for name, value in _bound(bindings):
        if (name, value) not in used:
            yield unused_binding(name, value, text)


def _bound(bindings: Bindings) -> Iterator[tuple[str, str]]:
    """Names and what they stand for; a variable's value as Python writes it."""
    for prefix, uri in bindings.namespaces.items():
        if uri and prefix != "xml":
            yield prefix, uri
    for name, value in bindings.variables.items():
        yield f"${name}", repr(value)


def _used(bindings: Bindings, reading: Reading) -> Iterator[tuple[str, str]]:
    for prefix in reading.prefixes:
        yield prefix, bindings.namespaces.get(prefix, "")
    for name in reading.variables:
        yield f"${name}", repr(bindings.variables[name])


class Notices:
    """What was noticed in many expressions that belong together, such as those of a file.

    A binding is a pair of a name and what it stands for; it is unused when no expression uses it.
    Memory and output are bounded: after the first few expressions with warnings, the rest is
    counted.
    """

    def __init__(self) -> None:
        self._unused: dict[tuple[str, str], str] = {}
        self._used: set[tuple[str, str]] = set()
        self._warnings: list[SubscriptionWarning] = []
        self._more = 0

    def bind(self, bindings: Bindings, where: str = "") -> None:
        """Take in bindings; those that are new stand at ``where``."""
        for each in _bound(bindings):
            if each not in self._used:
                self._unused.setdefault(each, where)

    def add(self, reading: Reading, bindings: Bindings, where: str = "") -> None:
        """Take in what was noticed in an expression that was read with these bindings."""
        for each in _used(bindings, reading):
            self._used.add(each)
            self._unused.pop(each, None)
        for warning in reading.warnings:
            if len(self._warnings) < _MOST_WARNINGS:
                named = SubscriptionWarning(warning.reason, warning.text, warning.position, where)
                self._warnings.append(named)
            else:
                self._more += 1

    def issue(self, where: str = "") -> None:
        """Issue all of it as Python warnings; ``where`` is the file."""
        issue(self._warnings)
        if self._more:
            reason = f"{self._more:,} more comparisons like these never hold"
            issue((SubscriptionWarning(reason, where=where),))
        for (name, value), at in islice(self._unused.items(), _MOST_WARNINGS):
            issue((unused_binding(name, value, where=at),))
