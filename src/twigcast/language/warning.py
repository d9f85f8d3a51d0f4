"""What looks like a mistake in a subscription, but is none by the language.

Two things are noticed: a comparison that never holds (``Descent`` notices it), and a binding that
no expression uses.  A binding may serve many expressions, so :class:`Notices` takes in all of them
before it says that none uses it.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Final

from twigcast.errors import SubscriptionWarning

if TYPE_CHECKING:
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


def unused_binding(prefix: str, uri: str, text: str = "", where: str = "") -> SubscriptionWarning:
    """The warning for a binding that nothing uses."""
    if prefix:
        reason = f"the prefix {prefix} is bound to {uri} and not used"
    else:
        reason = f"no element name without a prefix is there for the default namespace {uri}"
    return SubscriptionWarning(reason, text, where=where)


class Notices:
    """What was noticed in many expressions that belong together, such as those of a file.

    A binding is a pair of prefix and namespace; it is unused when no expression uses it.  Memory
    and output are bounded: after the first few expressions with warnings, the rest is counted.
    """

    def __init__(self) -> None:
        self._unused: dict[tuple[str, str], str] = {}
        self._used: set[tuple[str, str]] = set()
        self._warnings: list[SubscriptionWarning] = []
        self._more = 0

    def bind(self, namespaces: Mapping[str, str], where: str = "") -> None:
        """Take in bindings that stand at ``where``."""
        for binding in namespaces.items():
            if binding[1] and binding[0] != "xml" and binding not in self._used:
                self._unused.setdefault(binding, where)

    def add(self, reading: Reading, namespaces: Mapping[str, str], where: str = "") -> None:
        """Take in what was noticed in an expression that was read with these bindings."""
        for prefix in reading.prefixes:
            binding = prefix, namespaces.get(prefix, "")
            self._used.add(binding)
            self._unused.pop(binding, None)
        for each in reading.warnings:
            if len(self._warnings) < _MOST_WARNINGS:
                named = SubscriptionWarning(each.reason, each.text, each.position, where)
                self._warnings.append(named)
            else:
                self._more += 1

    def issue(self, where: str = "") -> None:
        """Issue all of it as Python warnings; ``where`` is the file."""
        issue(self._warnings)
        if self._more:
            reason = f"{self._more:,} more comparisons like these never hold"
            issue((SubscriptionWarning(reason, where=where),))
        for (prefix, uri), at in islice(self._unused.items(), _MOST_WARNINGS):
            issue((unused_binding(prefix, uri, where=at),))
