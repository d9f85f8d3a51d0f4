"""A whole network in one process: what can be asked of it, and what it refuses."""

from __future__ import annotations

import doctest
from collections.abc import Callable

import pytest

import twigcast
from lab.histories.shuffled import ShuffledTransport
from twigcast.errors import NetworkError, OverlayError
from twigcast.routing import (
    ANYTHING,
    STRATEGIES,
    Deliver,
    Document,
    DocumentId,
    Envelope,
    InstantTransport,
    Link,
    LinkDown,
    LinkTraits,
    Network,
    Observer,
    Overlay,
    Refused,
    Send,
    Strategy,
    network,
)

CHAIN = Overlay("abc", [("a", "b"), ("b", "c")])
RING = Overlay(
    "abc", {("a", "b"): LinkTraits(1.0), ("b", "c"): LinkTraits(1.0), ("a", "c"): LinkTraits(4.0)}
)


class Journal(Observer):
    """Which links documents crossed, and what was refused."""

    def __init__(self) -> None:
        self.crossed: list[tuple[str, str]] = []
        self.delivered: list[tuple[str, DocumentId]] = []
        self.refused: list[tuple[str, str]] = []

    def on_handled(self, envelope: Envelope, sends: list[Send]) -> None:
        if isinstance(envelope.message, Document):
            self.crossed.append((envelope.sender, envelope.receiver))

    def on_delivered(self, client: str, delivery: Deliver) -> None:
        self.delivered.append((client, delivery.id))

    def on_refused(self, link: str, refusal: Refused) -> None:
        self.refused.append((link, refusal.reason))


def peopled(
    overlay: Overlay = CHAIN, strategy: str = "advertisements-covering"
) -> tuple[Network, Journal]:
    """A producer at a; a client that wants everything, at b and at c."""
    journal = Journal()
    made = Network(overlay, Strategy.named(strategy), observer=journal)
    made.attach("feed", "a")
    made.advertise("feed", "all", ANYTHING)
    for name, broker in (("near", "b"), ("far", "c")):
        made.attach(name, broker)
        made.subscribe(name, "s", "//p")
    made.settle()
    return made, journal


def published(made: Network, journal: Journal) -> tuple[list[tuple[str, str]], set[str]]:
    """Which links a document crosses, and who gets it."""
    journal.crossed.clear()
    journal.delivered.clear()
    made.publish("feed", "<p/>")
    made.settle()
    return journal.crossed, {client for client, _ in journal.delivered}


def test_the_example() -> None:
    assert doctest.testmod(network, extraglobs={"ANYTHING": ANYTHING}).failed == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_document_goes_down_the_chain(strategy: str) -> None:
    made, journal = peopled(strategy=strategy)
    assert published(made, journal) == ([("a", "b"), ("b", "c")], {"near", "far"})
    made.unsubscribe("far", "s")
    made.settle()
    assert published(made, journal) == ([("a", "b")], {"near"})
    assert [each.subscriptions for each in made.client("near").deliveries] == [("s",), ("s",)]
    assert made.refusals == ()


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_in_a_ring_documents_take_the_cheapest_way_that_is_left(strategy: str) -> None:
    made, journal = peopled(RING, strategy)
    assert published(made, journal) == ([("a", "b"), ("b", "c")], {"near", "far"})
    made.cut("a", "b")
    made.settle()
    assert published(made, journal) == ([("a", "c"), ("c", "b")], {"near", "far"})
    made.cut("b", "c")
    made.settle()
    assert published(made, journal) == ([("a", "c")], {"far"})
    made.heal("a", "b")
    made.heal("b", "c")
    made.settle()
    assert published(made, journal) == ([("a", "b"), ("b", "c")], {"near", "far"})


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_clients_of_a_crashed_broker_return_with_all_they_had(strategy: str) -> None:
    made, journal = peopled(strategy=strategy)
    made.crash("b")
    made.settle()
    assert published(made, journal) == ([], set())
    made.subscribe("near", "t", "/p")  # while its broker is down
    made.unsubscribe("near", "s")
    made.restart("b")
    made.settle()
    assert published(made, journal) == ([("a", "b"), ("b", "c")], {"near", "far"})
    assert made.client("near").deliveries[-1].subscriptions == ("t",)


def test_a_producer_whose_broker_crashed_advertises_again() -> None:
    made, journal = peopled()
    made.crash("a")
    made.settle()
    assert made.routers["c"].advertisements() == []
    with pytest.raises(NetworkError, match="the broker of 'feed' is down"):
        made.publish("feed", "<p/>")
    made.unadvertise("feed", "all")
    made.advertise("feed", "again", ANYTHING)
    made.restart("a")
    made.settle()
    assert [entry.key.id for entry in made.routers["c"].advertisements()] == ["again"]
    assert published(made, journal)[1] == {"near", "far"}
    identity = made.client("far").deliveries[-1].id
    assert identity == DocumentId("a", 1, 0), "a later life has numbers of its own"


def test_a_link_cut_while_a_broker_is_down_stays_down_with_its_return() -> None:
    made, journal = peopled()
    made.crash("c")
    made.cut("b", "c")
    made.restart("c")
    made.settle()
    assert published(made, journal) == ([("a", "b")], {"near"})
    assert list(made.links_up()) == [Link("a", "b")]
    made.heal("b", "c")
    made.settle()
    assert published(made, journal)[1] == {"near", "far"}


def test_a_link_healed_while_a_broker_is_down_comes_up_with_it() -> None:
    made, journal = peopled()
    made.cut("b", "c")
    made.crash("c")
    made.heal("b", "c")
    made.settle()
    assert not made.is_up(Link("b", "c"))
    made.restart("c")
    made.settle()
    assert published(made, journal)[1] == {"near", "far"}


def test_a_client_that_leaves_is_forgotten_and_its_name_is_free() -> None:
    made, journal = peopled()
    made.publish("feed", "<p/>")
    made.detach("far")
    made.settle()
    assert made.routers["c"].clients == {}
    assert made.routers["c"].table_size == 0
    assert published(made, journal) == ([("a", "b")], {"near"})
    made.attach("far", "a")
    made.settle()
    assert made.client("far").deliveries == []
    assert published(made, journal)[1] == {"near"}


def test_what_was_on_its_way_to_a_client_does_not_reach_another_of_its_name() -> None:
    for seed in range(20):
        made = Network(CHAIN, Strategy.named("flooding"), transport=ShuffledTransport(seed))
        made.attach("feed", "a")
        made.attach("desk", "a")
        made.subscribe("desk", "s", "//p")
        made.settle()
        made.publish("feed", "<p/>")
        made.step()  # the broker has it, and has sent it to the client
        made.detach("desk")
        made.attach("desk", "a")
        made.settle()
        assert made.client("desk").deliveries == []


def test_a_publication_that_cannot_be_read_is_refused_to_its_client() -> None:
    made, journal = peopled()
    made.publish("feed", "<p>")
    made.settle()
    ((client, reason),) = journal.refused
    assert client == "feed"
    assert "cannot be read" in reason
    assert [refusal.reason for refusal in made.refusals] == [reason]


def test_publishing_without_having_advertised_is_refused() -> None:
    made, journal = peopled()
    made.publish("near", "<p/>")
    made.settle()
    assert [client for client, _ in journal.refused] == ["near"]
    assert journal.delivered == []


@pytest.mark.parametrize(
    ("ask", "error", "why"),
    [
        (lambda made: made.attach("feed", "a"), NetworkError, "the name 'feed' is taken"),
        (lambda made: made.attach("a", "b"), NetworkError, "the name 'a' is taken"),
        (lambda made: made.attach("new", "z"), OverlayError, "there is no broker 'z'"),
        (lambda made: made.detach("nobody"), NetworkError, "there is no client 'nobody'"),
        (lambda made: made.subscribe("near", "s", "/a"), NetworkError, "'s' already"),
        (lambda made: made.unsubscribe("near", "t"), NetworkError, "no subscription 't'"),
        (lambda made: made.unsubscribe("near", "s", "t"), NetworkError, "no subscription 't'"),
        (lambda made: made.unsubscribe("near", "s", "s"), NetworkError, "'s'"),
        (lambda made: made.advertise("feed", "all", ANYTHING), NetworkError, "'all' already"),
        (lambda made: made.unadvertise("feed", "p"), NetworkError, "no advertisement 'p'"),
        (lambda made: made.publish("nobody", "<p/>"), NetworkError, "no client 'nobody'"),
        (lambda made: made.cut("a", "c"), OverlayError, "no link between 'a' and 'c'"),
        (lambda made: made.heal("a", "b"), NetworkError, "is not cut"),
        (lambda made: made.crash("z"), NetworkError, "no broker 'z' that is up"),
        (lambda made: made.restart("a"), NetworkError, "no broker 'a' that is down"),
    ],
)
def test_what_makes_no_sense_is_said_and_changes_nothing(
    ask: Callable[[Network], None], error: type[Exception], why: str
) -> None:
    made, journal = peopled()
    with pytest.raises(error, match=why):
        ask(made)
    made.settle()
    assert published(made, journal) == ([("a", "b"), ("b", "c")], {"near", "far"})
    assert made.refusals == ()


def test_what_is_down_cannot_go_down_again() -> None:
    made, _ = peopled()
    made.cut("a", "b")
    with pytest.raises(NetworkError, match="cut already"):
        made.cut("b", "a")
    made.crash("a")
    with pytest.raises(NetworkError, match="no broker 'a' that is up"):
        made.crash("a")


def test_step_lets_one_message_arrive() -> None:
    made = Network(Overlay("a", []), Strategy.named("flooding"))
    made.attach("one", "a")
    made.subscribe("one", "s", "//p")
    made.publish("one", "<p/>")
    arrived = 0
    while made.step():
        arrived += 1
    assert arrived == 4  # the client, its subscription, its document, and that again
    assert not made.step()


def test_a_subscription_is_a_text_or_a_pattern_with_its_namespaces() -> None:
    made = Network(Overlay("a", []), Strategy.named("flooding"))
    made.attach("one", "a")
    made.subscribe("one", "s", "//n:p", {"n": "urn:n"})
    made.subscribe("one", "t", twigcast.parse("/q"))
    with pytest.raises(twigcast.SubscriptionError):
        made.subscribe("one", "u", "//p[")
    made.publish("one", '<p xmlns="urn:n"/>')
    made.publish("one", "<q/>")
    made.settle()
    assert [each.subscriptions for each in made.client("one").deliveries] == [("s",), ("t",)]


def test_messages_arrive_at_once_and_in_order_by_default() -> None:
    transport = InstantTransport()
    sent = [Envelope(one, other, LinkDown()) for one, other in ("ab", "ba", "ac", "cb", "ab")]
    for envelope in sent:
        transport.put(envelope)
    transport.cut("b", "a")
    assert list(iter(transport.take, None)) == [sent[2], sent[3]]


def test_a_network_shows_what_it_is() -> None:
    made, _ = peopled()
    assert repr(made) == "<Network of 3 brokers and 3 clients, advertisements-covering>"
    assert list(made.clients) == ["feed", "near", "far"]
    assert list(made.routers) == ["a", "b", "c"]
    assert repr(made.routers["b"]) == "<Router b: 2 neighbours, 1 clients, 1 patterns>"


def test_a_notebook_shows_the_brokers_the_links_and_how_many_clients_each_broker_has() -> None:
    network = Network(
        Overlay(["london", "paris", "rome"], [("london", "paris"), ("paris", "rome")])
    )
    network.attach("feed", "london")
    network.attach("desk", "rome")
    network.advertise("feed", "all", ANYTHING)
    network.subscribe("desk", "dear", "//Stock[Price > 15]")
    network.settle()
    for svg in (network._repr_svg_(), network.freeze()._repr_svg_()):
        assert "paris – rome" in svg
        assert "rome: 1 link, 1 client<" in svg
        assert "3 brokers, 2 links, 2 clients<" in svg


def test_a_broker_that_returns_at_once_is_as_good_as_one_that_returns_late() -> None:
    network = Network(Overlay(["a", "b"], [("a", "b")]))
    network.attach("feed", "a")
    network.attach("desk", "b")
    network.advertise("feed", "all", ANYTHING)
    network.subscribe("desk", "every", "//x")
    for _ in range(3):
        network.crash("b")
        network.restart("b")
    network.settle()
    network.publish("feed", "<x/>")
    network.settle()
    assert len(network.client("desk").deliveries) == 1
