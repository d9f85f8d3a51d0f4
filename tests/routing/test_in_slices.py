"""A router that does its work in slices ends where one ends that does it at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from random import Random

import pytest

import twigcast
from twigcast.covering import Change
from twigcast.routing import (
    ANYTHING,
    Advertise,
    LinkDown,
    LinkKind,
    LinkUp,
    Message,
    Router,
    Send,
    Subscribe,
    Unsubscribe,
)

PATTERNS = [
    twigcast.parse(text)
    for text in ("/a", "/a/b", "/a/c", "//b", "//c", "/a[b]", "/a[b>5]", "/a[b>7]", "/d//e", "/d")
]
LINKS = (("a", "b"), ("b", "c"), ("a", "c"), ("c", "d"))


class Brokers:
    """Routers and the messages in transit; ``random`` is None where work is done at once."""

    def __init__(self, strategy: str, random: Random | None) -> None:
        self.routers = {name: Router(name, strategy) for name in "abcd"}
        self._random = random
        self._transit: deque[tuple[str, str, Message]] = deque()

    def tell(self, to: str, message: Message, link: str) -> None:
        router = self.routers[to]
        take = router.handle if self._random is None else router.begin
        self._queue(to, take(message, link))

    def _queue(self, sender: str, sends: Iterable[Send]) -> None:
        self._transit.extend((sender, to, message) for to, message in sends)

    def settle(self, steps: int) -> None:
        """Deliver messages and do slices of work, up to so many."""
        for _ in range(steps):
            behind = [name for name, each in self.routers.items() if each.is_behind]
            news = [name for name, each in self.routers.items() if each.has_news]
            if self._random is not None and behind and self._is_likely(0.5):
                name = self._random.choice(behind)
                self.routers[name].go_on(self._random.randint(1, 3))
            elif news and (not self._transit or self._is_likely(0.3)):
                self._queue(news[0], self.routers[news[0]].flush())
            elif self._transit:
                sender, to, message = self._transit.popleft()
                if sender in self.routers[to].neighbours:
                    self.tell(to, message, sender)
            elif not behind:
                return

    def _is_likely(self, probability: float) -> bool:
        return self._random is not None and self._random.random() < probability

    def cut(self, one: str, other: str) -> None:
        self.tell(one, LinkDown(), other)
        self.tell(other, LinkDown(), one)
        # What was in transit on the link is lost with it.
        self._transit = deque(each for each in self._transit if set(each[:2]) != {one, other})

    def tables(self) -> dict[tuple[str, str], list[list[str]]]:
        """By broker and neighbour, what each channel says is wanted, as both of its ends see it."""
        found = {}
        for name, router in self.routers.items():
            for neighbour, each in router.neighbours.items():
                sent = sorted(sorted(map(str, one.sent)) for one in each.outgoing.values())
                theirs = self.routers[neighbour]
                known = sorted(
                    sorted(
                        str(pattern)
                        for pattern, count in theirs.patterns_by_source()[one.source].items()
                        for _ in range(count)
                    )
                    for one in theirs.neighbours[name].incoming.values()
                )
                assert sent == known
                found[name, neighbour] = sent
        return found


def play(strategy: str, seed: int, *, in_slices: bool) -> dict[tuple[str, str], list[list[str]]]:
    """A history of links and clients that come and go; the tables at its end."""
    random = Random(seed)
    brokers = Brokers(strategy, Random(seed + 1) if in_slices else None)
    for name in brokers.routers:
        brokers.tell(name, LinkUp(LinkKind.CLIENT), "client")
        brokers.tell(name, Advertise("all", ANYTHING), "client")
    up: set[tuple[str, str]] = set()
    wanted: list[tuple[str, str]] = []
    for number in range(60):
        link = random.choice(LINKS)
        name, pattern = random.choice("abcd"), random.choice(PATTERNS)
        choice = random.random()
        if choice < 0.2 and link in up:
            up.remove(link)
            brokers.cut(*link)
        elif choice < 0.5 and link not in up:
            up.add(link)
            brokers.tell(link[0], LinkUp(LinkKind.BROKER), link[1])
            brokers.tell(link[1], LinkUp(LinkKind.BROKER), link[0])
        elif choice < 0.6 and wanted:
            name, key = wanted.pop(random.randrange(len(wanted)))
            brokers.tell(name, Unsubscribe((key,)), "client")
        else:
            wanted.append((name, str(number)))
            brokers.tell(name, Subscribe({str(number): pattern}), "client")
        brokers.settle(random.randint(0, 12))
    brokers.settle(1_000_000)
    return brokers.tables()


@pytest.mark.parametrize("strategy", ["flooding", "covering", "advertisements", "xnet"])
@pytest.mark.parametrize("seed", range(12))
def test_slices_end_where_the_whole_ends(strategy: str, seed: int) -> None:
    assert play(strategy, seed, in_slices=True) == play(strategy, seed, in_slices=False)


def test_a_link_that_comes_up_is_a_matter_of_many_small_steps() -> None:
    router = Router("a", "covering")
    router.handle(LinkUp(LinkKind.CLIENT), "client")
    many = {str(number): twigcast.parse(f"/a/b{number}") for number in range(1_000)}
    router.handle(Subscribe(many), "client")
    router.begin(LinkUp(LinkKind.BROKER), "b")
    other = Router("b", "covering")
    for _, message in other.handle(LinkUp(LinkKind.BROKER), "a"):
        router.begin(message, "b")
    assert not any(getattr(update, "changes", ()) for _, update in router.flush())
    steps = 0
    while router.is_behind:
        router.go_on(10)
        steps += 1
        for _, update in router.flush():
            assert sum(len(change.forward) for _, change in getattr(update, "changes", ())) <= 10
    assert steps >= 100
    (channel,) = router.neighbours["b"].outgoing.values()
    assert len(channel.sent) == 1_000


def test_a_home_is_noted_in_slices_and_forgotten_at_once() -> None:
    router = Router("a", "covering")
    router.handle(LinkUp(LinkKind.CLIENT), "client")
    documents = router.documents
    documents.begin_home("rome", Change(tuple(PATTERNS)))
    documents.begin_home("rome", Change(withdraw=tuple(PATTERNS[1:])))
    assert documents.publish(b"<a/>", "client").homes == []
    assert router.go_on(3)
    assert documents.publish(b"<a/>", "client").homes == ["rome"]
    while router.go_on(3):
        pass
    assert router.table_size == 1
    documents.begin_home("rome", Change(tuple(PATTERNS[1:])))
    documents.drop_home("rome")
    assert not router.is_behind
    assert router.table_size == 0


def test_a_client_that_is_gone_gets_nothing_while_what_it_wanted_is_forgotten() -> None:
    router = Router("a", "covering")
    for name in ("here", "gone"):
        router.handle(LinkUp(LinkKind.CLIENT), name)
        router.handle(Subscribe(dict(zip("pqrs", PATTERNS, strict=False))), name)
    both = router.documents.publish(b"<a><b/></a>", "here")
    assert [name for name, _ in both.recipients.deliveries] == ["here", "gone"]
    router.begin(LinkDown(), "gone")
    router.begin(LinkUp(LinkKind.CLIENT), "gone")  # another one of that name
    router.begin(Subscribe({"new": twigcast.parse("/only")}), "gone")
    steps = 0
    while router.is_behind:
        routed = router.documents.publish(b"<a><b/></a>", "here")
        assert [name for name, _ in routed.recipients.deliveries] == ["here"]
        router.go_on(1)
        steps += 1
    assert steps >= 4
    assert [each.last_hop for each in router.subscriptions()] == ["here"] * 4 + ["gone"]
    assert router.table_size == 5


def test_many_new_interests_are_taken_in_before_a_document_comes() -> None:
    router = Router("a", "covering")
    router.handle(LinkUp(LinkKind.CLIENT), "client")
    many = {str(number): twigcast.parse(f"/a/b{number}") for number in range(1_000)}
    router.begin(Subscribe(many), "client")
    steps = 0
    while router.is_behind:
        router.go_on(10)
        steps += 1
    assert 2 <= steps <= 20
    [(_, ids)] = router.documents.publish(b"<a><b7/></a>", "client").recipients.deliveries
    assert ids == ("7",)
