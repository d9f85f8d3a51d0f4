"""A network whose brokers do what takes long in slices, as live ones do.

Here a broker begins what it is asked, and each time that it would flush it does some of what is
left instead, or flushes some of what it has gathered.  So everything that may come between two
slices comes there sooner or later.  Links are late, too.
"""

from __future__ import annotations

import sys
from random import Random

from lab.histories.late_links import LateNetwork
from twigcast.routing import Flush, Message, Router, Send


class SlicedNetwork(LateNetwork):
    """A network in which nothing that takes long is done at once."""

    _random: Random

    def _start(self) -> None:
        self._random = Random(1)
        super()._start()

    def _drive(self, router: Router, message: Message | Flush, link: str) -> list[Send]:
        if not isinstance(message, Flush):
            return router.begin(message, link)
        if router.is_behind and self._random.random() < 0.7:
            router.go_on(self._random.choice((1, 3, 20)))
            return []
        return router.begin_flush(self._random.choice((1, 3, sys.maxsize)))

    def _is_to_flush(self, router: Router) -> bool:
        return router.has_news or router.is_behind
