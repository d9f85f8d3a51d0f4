"""A link that comes back carries what has changed, and nothing that both ends know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

import twigcast
from lab.histories.checks import wrong_at_rest
from lab.histories.late_links import LateNetwork
from lab.histories.oracle import Oracle, World
from lab.histories.shuffled import ShuffledTransport
from twigcast.covering import Change
from twigcast.hierarchy import Network as UnitNetwork
from twigcast.routing import (
    ANYTHING,
    STRATEGIES,
    Envelope,
    InstantTransport,
    LinkDown,
    LinkKind,
    LinkUp,
    Mark,
    Network,
    Observer,
    Overlay,
    Refused,
    Router,
    Send,
    Serve,
    Subscribe,
    Transport,
    Unsubscribe,
    Update,
)
from twigcast.routing.journal import SPARE
from twigcast.routing.spreading import MOST_REMEMBERED

MANY = 120


class Counting(Observer):
    """Counts the patterns that each broker is sent, and withdrawn, by its neighbours."""

    def __init__(self) -> None:
        self.sent: Counter[tuple[str, str]] = Counter()

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Update):
            for _, change in envelope.message.changes:
                count = len(change.forward) + len(change.withdraw)
                self.sent[envelope.sender, envelope.receiver] += count

    def take(self) -> dict[tuple[str, str], int]:
        sent, self.sent = self.sent, Counter()
        return {ends: count for ends, count in sent.items() if count}


def network_of(
    strategy: str,
    links: list[tuple[str, str]],
    *,
    transport: Transport | None = None,
    make: Callable[..., Network] = Network,
) -> tuple[Network, Counting]:
    """A network at rest with a producer and a client at each broker, who want very different."""
    counting = Counting()
    brokers = list(dict.fromkeys(name for link in links for name in link))
    overlay = Overlay(brokers, links)
    network = make(overlay, strategy, transport=transport, observer=counting)
    for broker in brokers:
        network.attach(f"at {broker}", broker)
        network.advertise(f"at {broker}", "all", ANYTHING)
        network.subscribe_all(f"at {broker}", wanted(broker, MANY))
    network.settle()
    counting.take()
    return network, counting


def wanted(broker: str, count: int) -> dict[str, str]:
    return {str(number): f"/{broker}/a{number}" for number in range(count)}


def change(network: Network, broker: str, count: int, name: str = "new") -> None:
    """Let a client want so many other things than before."""
    network.unsubscribe(f"at {broker}", *(str(number) for number in range(count)))
    added = {str(number): f"/{broker}/{name}{number}" for number in range(count)}
    network.subscribe_all(f"at {broker}", added)


def assert_right(network: Network) -> None:
    """Everything is as the observer says who knows everything."""
    assert list(wrong_at_rest(network, Oracle(World.of(network)), ())) == []
    assert network.refusals == ()


RING = [("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_link_carries_what_has_changed_while_it_was_down(strategy: str) -> None:
    network, counting = network_of(strategy, [("a", "b")])
    for changed in (0, 7, 20):
        network.cut("a", "b")
        network.settle()
        change(network, "a", changed, f"x{changed}y")
        network.settle()
        assert counting.take() == {}
        network.heal("a", "b")
        network.settle()
        assert counting.take() == ({("a", "b"): 2 * changed} if changed else {})
        assert_right(network)


@pytest.mark.parametrize("strategy", ["flooding", "advertisements-covering", "perfect-merging"])
def test_channels_that_go_on_are_as_many_as_trees_differ(strategy: str) -> None:
    """In a ring the trees of four producers run differently, and a cut turns them all."""
    network, counting = network_of(strategy, RING)
    before = {name: router.subscriptions() for name, router in network.routers.items()}
    network.cut("a", "b")
    network.settle()
    assert_right(network)
    counting.take()
    change(network, "a", 3)
    network.heal("a", "b")
    network.settle()
    assert_right(network)
    neighbours = network.routers["a"].neighbours.values()
    assert strategy == "flooding" or any(len(each.outgoing) > 1 for each in neighbours)
    after = {name: router.subscriptions() for name, router in network.routers.items()}
    assert {name: len(rows) for name, rows in after.items()} == {
        name: len(rows) for name, rows in before.items()
    }


class LossyTransport(InstantTransport):
    """Holds back what is on a link, so that a cut loses it."""

    def __init__(self) -> None:
        super().__init__()
        self.held: tuple[str, str] | None = None
        self.after = 0

    def put(self, envelope: Envelope) -> None:
        if self.held == envelope[:2] and isinstance(envelope.message, Update):
            if self.after <= 0:
                return
            self.after -= 1
        super().put(envelope)


@pytest.mark.parametrize("strategy", ["flooding", "covering", "advertisements-covering"])
def test_what_was_lost_with_the_link_is_sent_again_and_nothing_else(strategy: str) -> None:
    transport = LossyTransport()
    network, counting = network_of(strategy, [("a", "b")], transport=transport)
    change(network, "a", 5, "arrives")
    network.settle()
    transport.held = ("a", "b")
    change(network, "a", 7, "lost")
    network.settle()
    counting.take()
    network.cut("a", "b")
    transport.held = None
    change(network, "a", 2, "later")  # two of the lost ones are sent no more
    network.heal("a", "b")
    network.settle()
    # Each of seven is exchanged for another: those that b has for those that it should have.
    assert counting.take() == {("a", "b"): 14}
    assert_right(network)


@pytest.mark.parametrize("kept", range(5))
def test_a_link_may_go_again_at_any_step_of_its_return(kept: int) -> None:
    """Whichever updates arrive before the link goes again: nothing is lost, and little is sent."""
    for held in (("a", "b"), ("b", "a")):
        transport = LossyTransport()
        network, counting = network_of("covering", [("a", "b")], transport=transport)
        for number in range(3):
            change(network, "a", 3, f"x{number}y")
            network.cut("a", "b")
            change(network, "b", 4, f"x{number}y")
            transport.held, transport.after = held, kept
            network.heal("a", "b")
            network.settle()
        network.cut("a", "b")
        transport.held = None
        network.heal("a", "b")
        network.settle()
        assert_right(network)
        sent = counting.take()
        assert sum(sent.values()) < MANY / 2


@pytest.mark.parametrize("strategy", ["covering", "advertisements-covering"])
@pytest.mark.parametrize("seed", range(10))
def test_the_ends_of_a_link_may_learn_late_of_all_this(strategy: str, seed: int) -> None:
    network, counting = network_of(
        strategy, [("a", "b"), ("b", "c")], transport=ShuffledTransport(seed), make=LateNetwork
    )
    for number in range(6):
        network.cut("a", "b")
        change(network, "abc"[number % 3], 2, f"x{number}y")
        for _ in range(seed):
            network.step()
        network.heal("a", "b")
        for _ in range(number):
            network.step()
    network.settle()
    assert_right(network)
    assert counting.take().get(("a", "b"), 0) < MANY


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("broker", ["a", "b"])
def test_a_broker_that_has_restarted_is_sent_everything(strategy: str, broker: str) -> None:
    network, counting = network_of(strategy, [("a", "b")])
    network.crash(broker)
    network.settle()
    network.restart(broker)
    network.settle()
    assert_right(network)
    assert counting.take() == {("a", "b"): MANY, ("b", "a"): MANY}
    assert network.routers["a"].remembered() == network.routers["b"].remembered() == {}
    assert {router.table_size for router in network.routers.values()} == {2 * MANY}


def test_a_life_that_the_neighbour_never_heard_of_is_not_taken_for_the_one_before() -> None:
    """What b has of a's life before last is no beginning of what a has sent in its last one."""
    transport = LossyTransport()
    network, counting = network_of("covering", [("a", "b")], transport=transport)
    network.crash("a")
    transport.held = ("a", "b")  # b hears nothing of a's new life, in which a sends other things
    change(network, "a", 5)
    network.restart("a")
    network.settle()
    network.cut("a", "b")
    transport.held = None
    assert network.routers["a"].remembered().keys() == {"b"}
    assert len(network.routers["b"].remembered()["a"]) == MANY
    network.heal("a", "b")
    network.settle()
    assert_right(network)
    assert counting.take()["a", "b"] == MANY


def test_topology_may_change_while_a_link_is_down() -> None:
    """What came from beyond a broker comes over another link when the first one returns."""
    links = [("a", "b"), ("b", "c"), ("a", "d"), ("c", "d")]
    network, _ = network_of("advertisements-covering", links)
    network.cut("a", "b")
    network.settle()
    network.crash("c")
    network.settle()
    network.heal("a", "b")
    network.settle()
    assert_right(network)
    network.cut("a", "d")
    network.restart("c")
    network.heal("a", "d")
    network.settle()
    assert_right(network)


def test_a_broker_in_between_forgets_what_channels_of_a_former_link_took_from() -> None:
    """The channel to c takes from one that a restarts while the link to c is down."""
    network, counting = network_of("covering", [("a", "b"), ("b", "c")])
    network.cut("b", "c")
    network.crash("a")
    change(network, "a", 4)
    network.restart("a")
    network.settle()
    network.heal("b", "c")
    network.settle()
    assert_right(network)
    # What a wants comes from another channel at b, and is the same for c but for what changed.
    assert counting.take()["b", "c"] == 8


# --- what is remembered ---------------------------------------------------------------------------


def linked(count: int = MANY) -> Router:
    """A broker with a client and a neighbour that knows everything."""
    router = Router("a", "covering")
    router.handle(LinkUp(LinkKind.CLIENT), "client")
    patterns = {key: twigcast.parse(text) for key, text in wanted("a", count).items()}
    router.handle(Subscribe(patterns), "client")
    bring_up(router, None)
    router.flush()
    return router


def bring_up(router: Router, known: Mark | None) -> list[Send]:
    """Let the link to b come up, which remembers this."""
    other = Router("b", "covering")
    sends = router.handle(LinkUp(LinkKind.BROKER), "b")
    for _, message in other.handle(LinkUp(LinkKind.BROKER), "a"):
        assert isinstance(message, Update)
        sends += router.handle(message._replace(known=known), "b")
    return sends


def marks(sends: list[Send]) -> list[tuple[Mark | None, Mark | None]]:
    updates = [each.message for each in sends if isinstance(each.message, Update)]
    return [(each.known, each.goes_on) for each in updates if each.known or each.goes_on]


def forwarded(router: Router) -> int:
    return sum(
        len(change.forward)
        for _, update in router.flush()
        if isinstance(update, Update)
        for _, change in update.changes
    )


def test_the_first_time_nobody_says_or_awaits_anything_of_former_links() -> None:
    router = Router("a", "covering")
    assert marks(bring_up(router, None)) == []


def test_a_neighbour_that_remembers_nothing_is_sent_everything() -> None:
    router = linked()
    router.handle(LinkDown(), "b")
    assert [known for known, _ in marks(bring_up(router, None))] == [Mark(0, b"")]
    assert forwarded(router) == MANY


def test_a_neighbour_that_remembers_something_else_is_sent_everything_and_is_warned() -> None:
    router = linked()
    for known in (Mark(5, b"of others"), Mark(10**9, b""), Mark(0, b"of something")):
        router.handle(LinkDown(), "b")
        assert marks(bring_up(router, known))[-1] == (None, Mark(0, b""))
        assert forwarded(router) == 0, "the neighbour has to answer, too"
        router.handle(Update(goes_on=Mark(0, b"")), "b")
        assert forwarded(router) == MANY


def test_a_neighbour_that_has_taken_in_nothing_is_sent_everything() -> None:
    router = linked()
    router.handle(LinkDown(), "b")
    assert marks(bring_up(router, Mark(0, b"")))[-1] == (None, Mark(0, b""))
    router.handle(Update(goes_on=Mark(0, b"")), "b")
    assert forwarded(router) == MANY


def test_going_on_from_where_a_broker_is_not_is_refused() -> None:
    router = linked()
    [send] = router.handle(Update(goes_on=Mark(3, b"3")), "b")
    assert isinstance(send.message, Refused)
    assert "goes on from" in send.message.reason
    router.handle(LinkDown(), "b")
    bring_up(router, Mark(0, b""))
    [send] = router.handle(Update(goes_on=Mark(3, b"3")), "b")
    assert isinstance(send.message, Refused)


def test_who_sends_channels_without_a_word_begins_anew() -> None:
    router = linked()
    said = Update(
        serve=(Serve(1, frozenset({""})),), changes=((1, Change((twigcast.parse("/b"),))),)
    )
    router.handle(said, "b")
    router.handle(LinkDown(), "b")
    bring_up(router, Mark(0, b""))
    router.handle(said, "b")
    assert [str(each.pattern) for each in router.subscriptions() if each.last_hop == "b"] == ["/b"]
    assert router.table_size == MANY + 1


def test_what_has_changed_too_much_is_sent_anew() -> None:
    router = linked(100)
    router.handle(Update(serve=(Serve(1, frozenset({""})),)), "b")
    router.handle(LinkDown(), "b")
    for number in range(60):
        router.handle(Subscribe({"more": twigcast.parse(f"/more{number}")}), "client")
        router.handle(Unsubscribe(("more",)), "client")
    # What b has sent is remembered nonetheless.
    assert router.remembered().keys() == {"b"}
    [(known, _), (_, goes_on)] = marks(bring_up(router, Mark(101, b"all of it")))
    assert known is not None
    assert known.entries == 1
    assert goes_on == Mark(0, b"")
    router.handle(Update(goes_on=known), "b")
    assert forwarded(router) == 100


def test_what_is_withdrawn_with_the_only_producer_is_not_sent_twice() -> None:
    """Nothing at b is wanted of c any more when the link goes; when it returns, all is."""
    network, counting = network_of("advertisements-covering", [("a", "b"), ("b", "c")])
    network.unadvertise("at a", "all")
    network.unadvertise("at b", "all")
    network.settle()
    network.cut("b", "c")
    network.settle()
    counting.take()
    network.heal("b", "c")
    network.settle()
    assert_right(network)
    assert counting.take()["b", "c"] <= 2 * MANY


def test_so_many_links_are_remembered() -> None:
    router = Router("a", "covering")
    for number in range(MOST_REMEMBERED + 3):
        router.handle(LinkUp(LinkKind.BROKER), f"b{number}")
        router.handle(LinkDown(), f"b{number}")
    names = [f"b{number}" for number in range(3, MOST_REMEMBERED + 3)]
    assert list(router.remembered()) == names


def test_what_comes_and_goes_for_long_is_sent_anew_to_who_missed_most_of_it() -> None:
    router = linked(10)
    for number in range(SPARE):
        router.handle(Subscribe({"more": twigcast.parse(f"/more{number}")}), "client")
        router.flush()
        router.handle(Unsubscribe(("more",)), "client")
        router.flush()
    router.handle(LinkDown(), "b")
    assert marks(bring_up(router, Mark(0, b"")))[-1] == (None, Mark(0, b""))
    router.handle(Update(goes_on=Mark(0, b"")), "b")
    assert forwarded(router) == 10


def test_lost_entries_are_taken_back_in_slices() -> None:
    router = linked()
    router.handle(LinkDown(), "b")
    other = Router("b", "covering")
    router.begin(LinkUp(LinkKind.BROKER), "b")
    for _, message in other.handle(LinkUp(LinkKind.BROKER), "a"):
        assert isinstance(message, Update)
        router.begin(message._replace(known=Mark(0, b"")), "b")
    router.begin(Update(goes_on=Mark(0, b"")), "b")
    steps = 0
    while router.is_behind:
        assert forwarded(router) == 0
        router.go_on(10)
        steps += 1
    assert steps >= MANY / 10
    assert forwarded(router) == MANY


@pytest.mark.parametrize("steps", range(12))
@pytest.mark.parametrize("is_lost", [False, True])
def test_portions_may_be_lost_and_their_patterns_withdrawn_meanwhile(
    monkeypatch: pytest.MonkeyPatch, steps: int, is_lost: bool
) -> None:
    whole = Router.begin_flush
    monkeypatch.setattr(Router, "flush", lambda router: whole(router, 7))
    transport = LossyTransport()
    network, _ = network_of("covering", [("a", "b")], transport=transport)
    transport.held = ("a", "b") if is_lost else None
    change(network, "a", 5, "soon")
    network.settle()
    network.unsubscribe("at a", *map(str, range(5)))
    network.subscribe_all("at a", {f"k{number}": f"/a/k{number}" for number in range(20)})
    for _ in range(steps):
        network.step()
    network.cut("a", "b")
    transport.held = None
    network.heal("a", "b")
    network.settle()
    assert_right(network)


def test_a_large_difference_is_sent_in_portions() -> None:
    router = linked(10)
    more = {f"more{number}": twigcast.parse(f"/more{number}") for number in range(40)}
    router.handle(Unsubscribe(tuple(map(str, range(10)))), "client")
    router.handle(Subscribe(more), "client")
    portions: list[tuple[int, int]] = []
    while router.has_news:
        [(_, update)] = router.begin_flush(15)
        assert isinstance(update, Update)
        portions += [(len(each.forward), len(each.withdraw)) for _, each in update.changes]
    assert portions == [(15, 0), (15, 0), (10, 5), (0, 5)]


# --- units ----------------------------------------------------------------------------------------


def test_a_gateway_goes_on_in_each_unit_that_a_link_belongs_to() -> None:
    links = [("x/a", "x/b"), ("x/b", "y/a"), ("y/a", "y/b")]
    overlay = Overlay(["x/a", "x/b", "y/a", "y/b"], links, gateways={"x/b": "x", "y/a": "y"})
    counting = Counting()
    network = UnitNetwork(overlay, "covering", observer=counting)
    for broker in overlay:
        network.attach(f"at {broker}", broker)
        network.subscribe_all(f"at {broker}", wanted(broker.replace("/", "-"), MANY))
    network.settle()
    for one, other in links:
        network.cut(one, other)
        network.settle()
        network.subscribe(f"at {one}", f"more {other}", f"/more/{other.replace('/', '-')}")
        network.settle()
        counting.take()
        network.heal(one, other)
        network.settle()
        assert network.refusals == ()
        for router in network.routers.values():
            assert [level.remembered() for level in router.levels] == [{} for _ in router.levels]
        sent = counting.take()
        # Documents from inside and from outside the unit y take channels of their own to y/b.
        assert (sent[one, other], sent.get((other, one), 0)) == (2 if other == "y/b" else 1, 0)
