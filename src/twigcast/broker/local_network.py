"""An overlay of brokers on this machine, each a process of its own.

    Overlay ──waves──► LocalBroker … ──► addresses
                           │
                           └──► Status: does each see what is to be seen in its units?

Of two neighbours one calls the other, and has to know its address, which the system chooses.  So
brokers start in waves: no two of a wave are neighbours, and each calls those of its neighbours that
came in earlier waves.  A tree takes two waves, whatever its size.  A broker that starts again
listens where it did before and calls the same neighbours; the others call it.

Invariant: no process is left once :meth:`LocalNetwork.stop` has returned, or the process that
started them is gone.  Cost: a second of one processor and some 60 MB for each broker.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple, Self

from twigcast.broker.config import BrokerConfig
from twigcast.broker.local_broker import LocalBroker, end_all, wait_until_ready
from twigcast.errors import NetworkError
from twigcast.hierarchy import depth_of, own_name, require_units, unit_at, unit_of, units_of
from twigcast.routing import Link, Overlay

MOST_BROKERS: Final = 100
"""Processes that one machine is asked for; larger overlays are for the simulation."""

_HOST: Final = "127.0.0.1"
_MOST_PORT: Final = 65_535
_EACH: Final = 0.05


class LocalNetwork:
    """The brokers of an overlay as processes; ``with`` starts them, waits, and stops them.

    Each broker writes its log to ``NAME.log`` in ``folder``, and with ``store`` keeps its documents
    in ``NAME.store`` there, so that a network of the same folder goes on with them.  Of a broker in
    a unit, ``+`` stands for the ``/`` of its name, since no name has a ``+``.  With
    ``base_port`` the brokers listen at that port and those that follow, in the order of the
    overlay, and HTTP ports come after them all; otherwise the system chooses.  Gateways send
    outside, and hear from there, ``most_patterns`` at most; 0 is no limit.  The
    ``extra_arguments`` are those of ``twigcast broker``, for every broker; so
    ``("--config", path)`` gives what has no flag.
    """

    def __init__(
        self,
        overlay: Overlay,
        folder: str | os.PathLike[str],
        *,
        store: bool = True,
        http: bool = False,
        strategy: str = "covering",
        most_patterns: int = 0,
        base_port: int = 0,
        extra_arguments: Sequence[str] = (),
    ) -> None:
        if not 0 < len(overlay) <= MOST_BROKERS:
            raise NetworkError(
                f"a network of processes has 1 to {MOST_BROKERS} brokers, not {len(overlay):,}; "
                "twigcast simulate takes more"
            )
        if overlay.gateways and not store:
            raise NetworkError("gateways take documents over on their disks; leave store on")
        require_units(overlay)
        last_port = base_port + (1 + http) * len(overlay) - 1
        if base_port and last_port > _MOST_PORT:
            raise NetworkError(f"there are too few ports from {base_port} on; choose a lower one")
        for broker in overlay:  # refuses what a broker would refuse
            name = own_name(broker)
            BrokerConfig(name=name, unit=unit_of(broker), strategy=strategy)
        self.overlay = overlay
        self.folder = Path(folder).absolute()
        self._has_store = store
        self._has_http = http
        self._strategy = strategy
        self._most_patterns = most_patterns
        self._base_port = base_port
        self._extra = tuple(extra_arguments)
        self._waves = _waves(overlay)
        self._brokers: dict[str, LocalBroker] = {}
        """The latest life of each broker that has been started."""

    def __repr__(self) -> str:
        count = f"{len(self.running)} of {len(self.overlay)} brokers running"
        return f"<LocalNetwork in {self.folder}: {count}>"

    # --- what is there ----------------------------------------------------------------------------

    @property
    def addresses(self) -> Mapping[str, str]:
        """Where each broker that has been started listens; the same in all its lives."""
        return {name: each.address for name, each in self._in_order()}

    @property
    def http_addresses(self) -> Mapping[str, str]:
        """The HTTP side port of each broker; empty without ``http``."""
        return {name: each.http_address for name, each in self._in_order() if each.http_address}

    @property
    def processes(self) -> Mapping[str, subprocess.Popen[bytes]]:
        """The process of each broker, the latest where there were several."""
        return {name: each.process for name, each in self._in_order()}

    @property
    def running(self) -> tuple[str, ...]:
        """The brokers whose processes have not ended."""
        return tuple(name for name, each in self._in_order() if each.is_running)

    def status(self, name: str, timeout: float = 2.0) -> dict[str, Any] | None:
        """What a broker knows of itself; None if it does not answer in time."""
        return self._broker(name).status(timeout)

    # --- starting and ending ----------------------------------------------------------------------

    def start(self, show: Callable[[int], object] = bool) -> None:
        """Start all brokers; returns when clients can connect to each.

        ``show`` is called with the number of those that can be connected to, as it grows.
        Links may still be coming up: see :meth:`wait_until_whole`.  Raises NetworkError, with the
        last lines of its log, if a broker does not start; then none is left running.
        """
        if self._brokers:
            raise NetworkError("the network has been started already; restart single brokers")
        self.folder.mkdir(parents=True, exist_ok=True)
        try:
            for wave in self._waves:
                self._start(wave, show)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End all brokers, by force those that do not end within some seconds."""
        end_all(self._brokers.values())

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a broker; returns when it has ended, if that is what the signal means.

        Raises NetworkError if it has ended before, or does not end in time.
        """
        self._broker(name).send(number)

    def restart(self, name: str) -> None:
        """Start a broker anew with its port and its store, after ending it if it still runs."""
        end_all([self._broker(name)])
        self._start([name])

    def __enter__(self) -> Self:
        self.start()
        try:
            self.wait_until_whole()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        self.stop()

    # --- watching ---------------------------------------------------------------------------------

    def wait_until_whole(self, timeout: float = 30.0) -> None:
        """Wait until every running broker sees what there is to be seen in its units.

        That is all running brokers to which links of the unit lead; and for a gateway the same in
        the units around, with the parts of the units below.

        Raises NetworkError if that takes longer, or if a broker ends meanwhile by itself.
        """
        deadline = time.monotonic() + timeout
        while True:
            for broker in self.take_died():
                raise NetworkError(broker.last_words())
            running = self.running
            wrong = {name: links for name in running if (links := self._wrong(name, running))}
            if not wrong:
                return
            if time.monotonic() > deadline:
                name, links = next(iter(wrong.items()))
                raise NetworkError(
                    f"after {timeout:g} seconds the network is not whole for {len(wrong)} brokers: "
                    f"{name} is wrong about {', '.join(sorted(links))}; see "
                    f"{self._broker(name).log}"
                )
            time.sleep(_EACH)

    def command(self, name: str) -> list[str]:
        """The command that brings a broker back: its name, port, store and links."""
        return ["twigcast", "broker", *self._arguments(self._broker(name).name)]

    def take_died(self) -> tuple[LocalBroker, ...]:
        """The brokers that have ended by themselves; each is named once."""
        died = tuple(
            each for each in self._brokers.values() if not each.is_end_known and not each.is_running
        )
        for broker in died:
            broker.is_end_known = True
        return died

    # --- inside -----------------------------------------------------------------------------------

    def _in_order(self) -> list[tuple[str, LocalBroker]]:
        return [(name, self._brokers[name]) for name in self.overlay if name in self._brokers]

    def _broker(self, name: str) -> LocalBroker:
        broker = self._brokers.get(name)
        if broker is None:
            there = ", ".join(self._brokers) or "none, for the network has not been started"
            raise NetworkError(f"there is no broker {name!r}; there are: {there}")
        return broker

    def _start(self, names: Sequence[str], show: Callable[[int], object] = bool) -> None:
        started = []
        for name in names:
            former = self._brokers.get(name)
            broker = LocalBroker(name, self._arguments(name), self._file(name, "log"))
            if former is not None:
                broker.address, broker.http_address = former.address, former.http_address
            self._brokers[name] = broker
            started.append(broker)
        before = len(self._brokers) - len(started)
        wait_until_ready(started, lambda count: show(before + count))

    def _arguments(self, name: str) -> list[str]:
        index = self.overlay.brokers.index(name)
        former = self._brokers.get(name)
        listen = former.address if former else self._new_address(index)
        arguments = [*self._extra, f"--name={own_name(name)}", f"--listen={listen}"]
        arguments.append(f"--strategy={self._strategy}")
        if unit := unit_of(name):
            arguments.append(f"--unit={unit}")
        if name in self.overlay.gateways:
            arguments.append(f"--gateway={self.overlay.gateways[name]}")
            arguments.append(f"--most-patterns={self._most_patterns}")
        if self._has_http:
            http = former.http_address if former else self._new_address(len(self.overlay) + index)
            arguments.append(f"--http={http}")
        if self._has_store:
            arguments.append(f"--store={self._file(name, 'store')}")
        for neighbour in self._called(name):
            cost = self.overlay.neighbours(name)[neighbour].cost
            arguments.append(f"--link={self._brokers[neighbour].address}={cost!r}")
        return arguments

    def _file(self, name: str, kind: str) -> Path:
        """Where a broker has something of its own; no two brokers share a file."""
        return self.folder / f"{name.replace('/', '+')}.{kind}"

    def _called(self, name: str) -> Iterator[str]:
        """The neighbours that a broker calls: those of earlier waves."""
        for wave in self._waves:
            if name in wave:
                return
            yield from (each for each in self.overlay.neighbours(name) if each in wave)

    def _new_address(self, index: int) -> str:
        return f"{_HOST}:{self._base_port + index if self._base_port else 0}"

    def _wrong(self, name: str, running: Sequence[str]) -> set[str]:
        """What a broker does not see though it should, or the reverse."""
        units = units_of(name, self.overlay.gateways.get(name))
        expected = {unit: self._expected(name, unit, running) for unit in units}
        known = self.status(name)
        if known is None:
            return set().union(*(each.names for each in expected.values())) or {name}
        seen = {level["unit"]: _seen(name, level) for level in known["levels"]}
        return {
            wrong
            for unit, each in expected.items()
            for wrong in each.names ^ (seen[unit].names if unit in seen else set())
        }

    def _expected(self, name: str, unit: str, running: Sequence[str]) -> _Seen:
        """What a broker should see in a unit."""
        links = self._links_in(unit, running)
        reached = _reached_from(name, links)
        parts: dict[str, set[tuple[str, ...]]] = {}
        for broker in reached:
            if unit_of(broker) != unit:
                below = unit_at(broker, depth_of(unit) + 1)
                inside = self._links_in(below, running)
                part = _reached_from(broker, inside) & reached
                parts.setdefault(below, set()).add(tuple(sorted(part)))
        return _Seen(_links_among(reached, links), parts)

    def _links_in(self, unit: str, running: Sequence[str]) -> dict[str, list[str]]:
        """The neighbours in a unit of the brokers that run and take part in it."""
        gateways = self.overlay.gateways
        members = {each for each in running if unit in units_of(each, gateways.get(each))}
        return {
            each: [other for other in self.overlay.neighbours(each) if other in members]
            for each in running
            if each in members
        }


class _Seen(NamedTuple):
    """What a broker sees in a unit: links, and the gateways of each part of the units below."""

    links: set[Link]
    parts: Mapping[str, Collection[tuple[str, ...]]]

    @property
    def names(self) -> set[str]:
        """Each thing, as an error names it."""
        return {str(link) for link in self.links} | {
            f"{unit} by {' and '.join(gateways)}"
            for unit, parts in self.parts.items()
            for gateways in parts
        }


def _seen(name: str, level: Mapping[str, Any]) -> _Seen:
    reached = _reached_from(name, level["topology"])
    parts = {
        unit: [tuple(each["gateways"]) for each in parts] for unit, parts in level["units"].items()
    }
    return _Seen(_links_among(reached, level["topology"]), parts)


def _waves(overlay: Overlay) -> list[list[str]]:
    """The brokers in groups without neighbours; each joins the first group that it can."""
    waves: list[list[str]] = []
    numbers: dict[str, int] = {}
    for broker in overlay:
        taken = {numbers.get(neighbour) for neighbour in overlay.neighbours(broker)}
        number = next(each for each in range(len(waves) + 1) if each not in taken)
        if number == len(waves):
            waves.append([])
        waves[number].append(broker)
        numbers[broker] = number
    return waves


def _reached_from(broker: str, neighbours: Mapping[str, Iterable[str]]) -> set[str]:
    """The brokers to which links lead from one, and that one."""
    reached = {broker}
    waiting = [broker]
    while waiting:
        for neighbour in neighbours.get(waiting.pop(), ()):
            if neighbour not in reached:
                reached.add(neighbour)
                waiting.append(neighbour)
    return reached


def _links_among(brokers: Iterable[str], neighbours: Mapping[str, Iterable[str]]) -> set[Link]:
    """All links of some brokers."""
    return {
        Link.between(each, neighbour) for each in brokers for neighbour in neighbours.get(each, ())
    }
