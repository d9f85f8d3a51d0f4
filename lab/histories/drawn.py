"""Random histories of networks for the fuzzer of routing.

Three kinds of things must come together for a mistake to show, and are drawn more often than they
would come by chance: links that return while documents are in transit, in rings; siblings that
can be merged, with documents of their schema; and rests, at which documents are published that
must go exactly where they should.
"""

from __future__ import annotations

from random import Random
from typing import Final

from lab.histories.steps import (
    Advertise,
    Arrive,
    Attach,
    Crash,
    Cut,
    Detach,
    Heal,
    History,
    Publish,
    Restart,
    Settle,
    Step,
    Subscribe,
    Unadvertise,
    Unsubscribe,
)
from lab.histories.vocabulary import (
    DEFINITIONS,
    PATHS,
    SCHEMAS,
    draw_any,
    draw_document,
    draw_linear,
    draw_paths,
    draw_pattern,
    draw_siblings,
)
from twigcast.hierarchy import depth_of, unit_of, units_around

STRATEGIES: Final = (
    "flooding",
    "covering",
    "advertisements",
    "advertisements-covering",
    "perfect-merging",
    "imperfect-merging",
    "imperfect-merging:0.3",
    "imperfect-merging:1",
    "xnet",
)

# --- overlays ------------------------------------------------------------------------------------


Links = tuple[tuple[str, str, float], ...]


def draw_ring(random: Random) -> tuple[tuple[str, ...], Links]:
    """Brokers in a circle: every link that fails or returns changes most trees."""
    brokers = [f"b{number}" for number in range(random.choice((3, 3, 4, 5)))]
    pairs = zip(brokers, (*brokers[1:], brokers[0]), strict=True)
    return tuple(brokers), tuple(
        (one, other, random.choice((1.0, 2.0, 4.0))) for one, other in pairs
    )


def draw_overlay(random: Random) -> tuple[tuple[str, ...], Links]:
    """Some brokers, linked as a tree, perhaps with more links than it takes."""
    count = random.choice((1, 2, 2, 3, 3, 4, 4, 5, 6, 8))
    brokers = [f"b{number}" for number in range(count)]
    random.shuffle(brokers)
    links = {
        (brokers[random.randrange(max(0, number - 3), number)], brokers[number])
        for number in range(1, count)
    }
    for _ in range(random.choice((0, 0, 1, 2, 4))):
        one, other = random.choice(brokers), random.choice(brokers)
        if one != other and (other, one) not in links:
            links.add((one, other))
    costs = random.choice(((1.0,), (1.0, 2.0), (1.0, 1.5, 2.0, 4.0)))
    return tuple(brokers), tuple((one, other, random.choice(costs)) for one, other in sorted(links))


# --- histories -----------------------------------------------------------------------------------


class Drawing:
    """Draws steps that mostly make sense where they stand."""

    def __init__(self, random: Random, *, in_units: bool) -> None:
        self._random = random
        self.gateways: tuple[tuple[str, str], ...] = ()
        self._is_ring = not in_units and random.random() < 0.2
        if in_units:
            self.brokers, self.links, self.gateways = draw_units(random)
        else:
            self.brokers, self.links = (draw_ring if self._is_ring else draw_overlay)(random)
        self.strategy = random.choice(STRATEGIES)
        draw = draw_linear if random.random() < 0.2 else draw_pattern
        self._patterns = [draw(random) for _ in range(random.choice((2, 5, 12)))]
        self._schemas = random.sample(sorted(SCHEMAS), random.choice((1, 1, 2, 4)))
        self._only_schemas = "merging" in self.strategy and random.random() < 0.7
        if self._only_schemas or random.random() < 0.2:
            del self._patterns[random.choice((0, 2)) :]
            for _ in range(3):
                self._patterns += draw_siblings(random, random.choice(self._schemas))
        elif self._is_ring:  # many documents have to go everywhere
            self._patterns[1:] = ["//b", "//c", "//*"]
        self._clients = {
            f"c{number}": random.choice(self.brokers) for number in range(random.choice((2, 4, 6)))
        }
        self._wanted: dict[str, list[str]] = {client: [] for client in self._clients}
        self._promised: dict[str, dict[str, str]] = {client: {} for client in self._clients}
        self._is_calm = random.random() < 0.3  # no faults
        self._has_scopes = in_units and random.random() < 0.7
        self._next = 0

    def history(self) -> History:
        """A history."""
        random = self._random
        steps: list[Step] = [Attach(client, broker) for client, broker in self._clients.items()]
        if self._is_ring or self._only_schemas:
            steps += [self._subscribe(client) for client in self._clients]
            steps += [self._advertise(client) for client in self._clients]
        for _ in range(random.choice((10, 25, 60))):
            steps += self._some_steps()
        return History(
            self.brokers,
            self.links,
            self.strategy,
            tuple(steps),
            tuple((name, DEFINITIONS[name]) for name in self._schemas),
            is_late=random.random() < 0.4,
            in_slices=random.random() < 0.4,
            gateways=self.gateways,
            most_patterns=random.choice((None, None, 1, 3)) if self.gateways else None,
        )

    def _some_steps(self) -> list[Step]:
        random = self._random
        client = random.choice(sorted(self._clients))
        kind = random.randrange(100)
        if kind < 22:
            return [self._subscribe(client)]
        if kind < 32 and self._wanted[client]:
            return [self._unsubscribe(client)]
        if kind < 44:
            return [self._advertise(client)]
        if kind < 49 and self._promised[client]:
            key = random.choice(sorted(self._promised[client]))
            del self._promised[client][key]
            return [Unadvertise(client, key)]
        if kind < 54:
            self._wanted[client] = []
            self._promised[client] = {}
            return [Detach(client), *self._arrive(), Attach(client, random.choice(self.brokers))]
        if kind < 64 and not self._is_calm:
            if random.random() < 0.25:
                return self._reboot()
            if random.random() < (0.8 if self._is_ring else 0.2) and self.links:
                return self._flap()
            return self._storm() if random.random() < 0.5 else [self._fault()]
        if kind < 70 and self._is_ring and not self._is_calm:
            return self._flap()
        if kind < 82:
            return [Settle(), *(self._publish() for _ in range(random.choice((1, 3)))), Settle()]
        if kind < 90:
            return [self._publish()]
        return self._arrive()

    def _storm(self) -> list[Step]:
        """Documents are in transit while the trees change."""
        random = self._random
        steps: list[Step] = []
        for _ in range(random.choice((1, 3))):
            steps += [self._publish(), Arrive(random.randrange(4))]
            steps += [self._fault() for _ in range(random.randrange(3))]
            steps += [Arrive(random.randrange(12))]
        return steps

    def _reboot(self) -> list[Step]:
        """A broker returns, and its clients have something to say."""
        random = self._random
        broker = random.choice(self.brokers)
        steps: list[Step] = [Crash(broker), *self._arrive(), Restart(broker), *self._arrive()]
        steps += [Settle()] if random.random() < 0.7 else []
        return [*steps, *(self._publish() for _ in range(3))]

    def _flap(self) -> list[Step]:
        """A link comes back, and documents follow before everybody knows."""
        random = self._random
        one, other, _ = random.choice(self.links)
        steps: list[Step] = [Cut(one, other), Settle(), Heal(one, other)]
        for _ in range(random.choice((1, 4, 12))):
            steps += [Arrive(random.randrange(4)), self._publish()]
        return steps

    def _arrive(self) -> list[Step]:
        return [Arrive(self._random.choice((1, 2, 5, 15)))] if self._random.random() < 0.8 else []

    def _fault(self) -> Step:
        random = self._random
        broker = random.choice(self.brokers)
        if random.random() < 0.35 or not self.links:
            return random.choice((Crash(broker), Restart(broker), Restart(broker)))
        one, other, _ = random.choice(self.links)
        return random.choice((Cut(one, other), Heal(one, other), Heal(one, other)))

    def _subscribe(self, client: str) -> Step:
        subscriptions = []
        for _ in range(self._random.choice((2, 6) if self._only_schemas else (1, 2, 4))):
            self._next += 1
            subscriptions.append((f"s{self._next}", self._random.choice(self._patterns)))
        self._wanted[client] += [key for key, _ in subscriptions]
        return Subscribe(client, tuple(subscriptions), self._scope())

    def _unsubscribe(self, client: str) -> Step:
        wanted = self._wanted[client]
        ids = self._random.sample(wanted, self._random.randint(1, min(3, len(wanted))))
        self._wanted[client] = [key for key in wanted if key not in ids]
        return Unsubscribe(client, tuple(ids))

    def _advertise(self, client: str) -> Step:
        random = self._random
        kind = random.random()
        if self._only_schemas:  # or else there is nothing to count mergers by
            promise = random.choice(self._schemas)
        elif kind < 0.1:
            promise = "anything"
        else:
            promise = random.choice(self._schemas) if kind < 0.7 else random.choice(PATHS)
        self._next += 1
        key = random.choice((f"p{self._next}", "p"))
        self._promised[client].setdefault(key, promise)
        return Advertise(client, key, promise, self._scope() if random.random() < 0.5 else 0)

    def _publish(self) -> Step:
        random = self._random
        producers = [client for client, promised in self._promised.items() if promised]
        if not producers or random.random() < 0.1:
            producers = sorted(self._clients)
        client = random.choice(producers)
        promised = sorted(set(self._promised[client].values()))
        if promised and random.random() < 0.95:
            promises: tuple[str, ...] = (random.choice(promised),)
            content = self._document(promises[0])
            others = tuple(each for each in promised if each.startswith("/"))
            if promises[0].startswith("/") and len(others) > 1:
                both = draw_paths(random, others[:2])
                if both is not None:
                    promises, content = others[:2], both
        else:
            promises, content = (
                (),
                random.choice((draw_any(random), draw_any(random), "<a><b></a>")),
            )
        return Publish(client, content, promises, self._scope())

    def _scope(self) -> int:
        return self._random.choice((0, 0, 1, 1, 2, 3)) if self._has_scopes else 0

    def _document(self, promise: str) -> str:
        if promise == "anything":
            return draw_any(self._random)
        if promise.startswith("/"):
            paths = draw_paths(self._random, (promise,))
            assert paths is not None
            return paths
        return draw_document(self._random, promise)


def draw_history(seed: int, number: int, *, in_units: bool = False) -> History:
    """The history of a round."""
    return Drawing(Random(f"{seed} {number}"), in_units=in_units).history()


def draw_units(random: Random) -> tuple[tuple[str, ...], Links, tuple[tuple[str, str], ...]]:
    """Brokers in units, some with several gateways, and more links than it takes."""
    inner = random.choice(
        (("x", "y"), ("x", "y", "z"), ("x/p", "x/q", "y"), ("x/p", "x/q", "y/r", "y/s"), ("x/p/i",))
    )
    brokers = [
        f"{unit}/b{number}" for unit in inner for number in range(random.choice((1, 2, 2, 3)))
    ]
    brokers += random.choice(((), (), ("w",), ("x/v",)))
    gateways: dict[str, str] = {}
    members: dict[str, list[str]] = {}
    for broker in brokers:
        members.setdefault(unit_of(broker), []).append(broker)
    links: dict[tuple[str, str], float] = {}
    costs = random.choice(((1.0,), (1.0, 2.0), (1.0, 1.5, 2.0, 4.0)))
    units = {unit for broker in brokers for unit in units_around(broker)}
    for unit in sorted(units, key=lambda unit: (-depth_of(unit), unit)):
        here = members.get(unit, [])
        random.shuffle(here)
        pairs = [(here[random.randrange(each)], here[each]) for each in range(1, len(here))]
        pairs += [
            (random.choice(here), random.choice(here)) for _ in range(random.choice((0, 1, 2)))
        ]
        for one, other in pairs:
            if one != other and not {(one, other), (other, one)} & links.keys():
                links[one, other] = random.choice(costs)
        if unit:
            for gateway in random.sample(here, min(len(here), random.choice((1, 1, 2, 3)))):
                gateways[gateway] = unit
                members.setdefault(unit_of(unit), []).append(gateway)
    return tuple(brokers), tuple((*pair, links[pair]) for pair in links), tuple(gateways.items())
