"""Whether a client of a broker wants a path publication that it is not given.

A client gets a document once, however many of its paths match.  Whether a further path was wanted
where it arrived, so that it crossed links for a purpose, does not show in what the broker does.

What clients subscribe to is noted as brokers handle it.  A matcher for the clients of a broker is
built when it is first asked, and again after a change; answers are remembered by content, since
the paths of documents of one schema are few.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from twigcast.documents import Source
from twigcast.language import Pattern
from twigcast.matching import Matcher

_MOST_ANSWERS: Final = 10_000


class _Clients:
    """The clients of one broker."""

    __slots__ = ("answers", "matcher", "wanted")

    def __init__(self) -> None:
        self.wanted: dict[str, dict[str, Pattern]] = {}
        self.matcher: Matcher | None = None
        self.answers: dict[Source, bool] = {}

    def change(self) -> None:
        self.matcher = None
        self.answers.clear()


class LocalInterests:
    """What the clients of each broker want."""

    def __init__(self) -> None:
        self._brokers: dict[str, _Clients] = {}

    def add(self, broker: str, client: str, subscriptions: Mapping[str, Pattern]) -> None:
        """Note subscriptions; a subscription under an id that is in use is ignored."""
        clients = self._brokers.setdefault(broker, _Clients())
        wanted = clients.wanted.setdefault(client, {})
        for key, pattern in subscriptions.items():
            wanted.setdefault(key, pattern)
        clients.change()

    def remove(self, broker: str, client: str, ids: tuple[str, ...]) -> None:
        """Note the end of subscriptions."""
        clients = self._brokers.setdefault(broker, _Clients())
        for key in ids:
            clients.wanted.get(client, {}).pop(key, None)
        clients.change()

    def forget(self, broker: str, client: str) -> None:
        """Note that a client begins anew, or is gone."""
        clients = self._brokers.get(broker)
        if clients is not None and clients.wanted.pop(client, None) is not None:
            clients.change()

    def wants(self, broker: str, content: Source) -> bool:
        """Whether a client of a broker wants a document."""
        clients = self._brokers.get(broker)
        if clients is None:
            return False
        answer = clients.answers.get(content)
        if answer is None:
            if clients.matcher is None:
                clients.matcher = _matcher(clients.wanted)
            if len(clients.answers) >= _MOST_ANSWERS:
                clients.answers.clear()
            answer = clients.answers[content] = bool(clients.matcher.match(content))
        return answer


def _matcher(wanted: Mapping[str, Mapping[str, Pattern]]) -> Matcher:
    matcher = Matcher()
    patterns = {pattern for each in wanted.values() for pattern in each.values()}
    for pattern in patterns:
        matcher.add(str(pattern), pattern)
    return matcher
