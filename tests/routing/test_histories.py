"""Whatever happens to a network, in whatever order messages arrive, it comes to what it should.

The judge is an observer who knows everything (``lab.histories``).  Failing
histories are shrunk and printed as Python that runs them again.
"""

from __future__ import annotations

from collections import Counter
from io import StringIO
from random import Random
from typing import NamedTuple

import networkx
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st
from lxml import etree

import twigcast
from lab.histories import steps as histories
from lab.histories.drawn import STRATEGIES
from lab.histories.late_links import LateNetwork
from lab.histories.oracle import least_cost_parents, matches
from lab.histories.running import run_history
from lab.histories.shuffled import ShuffledTransport
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
)
from lab.histories.vocabulary import (
    DEFINITIONS,
    PATHS,
    draw_any,
    draw_document,
    draw_linear,
    draw_paths,
    draw_pattern,
)
from twigcast.routing import Envelope, LinkDown, Overlay, Strategy, Unsubscribe

EXAMPLES = settings().max_examples
BROKERS = tuple("abcdefgh")
CLIENTS = ("one", "two", "three", "four")

_random = Random(1)
PATTERNS = sorted({draw_pattern(_random) for _ in range(60)} | {"/a/b", "/a/c", "//b/c", "//b/d"})
LINEAR = sorted({draw_linear(_random) for _ in range(40)} | {"/a/b", "/a/c"})
DOCUMENTS = {
    **{name: [draw_document(_random, name) for _ in range(12)] for name in DEFINITIONS},
    **{path: [draw_paths(_random, (path,)) or "" for _ in range(3)] for path in PATHS},
    "anything": [draw_any(_random) for _ in range(12)],
}


# --- histories -----------------------------------------------------------------------------------


@st.composite
def overlays(draw: st.DrawFn) -> tuple[tuple[str, ...], tuple[tuple[str, str, float], ...]]:
    brokers = BROKERS[: draw(st.sampled_from((1, 2, 3, 3, 4, 4, 5, 8)))]
    pairs = [
        (brokers[draw(st.integers(0, number - 1))], brokers[number])
        for number in range(1, len(brokers))
    ]
    more = st.tuples(st.sampled_from(brokers), st.sampled_from(brokers))
    pairs += [pair for pair in draw(st.lists(more, max_size=3)) if pair[0] < pair[1]]
    costs = st.sampled_from((1.0, 1.0, 2.0, 4.0))
    return brokers, tuple((*pair, draw(costs)) for pair in dict.fromkeys(pairs))


class Vocabulary(NamedTuple):
    """What the steps of one history may speak of; little, so that they concern each other."""

    brokers: tuple[str, ...]
    links: tuple[tuple[str, str, float], ...]
    promises: list[str]
    patterns: list[str]


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    promises = st.lists(st.sampled_from(sorted(DOCUMENTS)), min_size=1, max_size=3, unique=True)
    known = st.sampled_from(LINEAR if draw(st.integers(0, 4)) == 4 else PATTERNS)
    patterns = st.lists(known, min_size=2, max_size=8, unique=True)
    return Vocabulary(*draw(overlays()), draw(promises), draw(patterns))


@st.composite
def publications(draw: st.DrawFn, words: Vocabulary) -> Publish:
    promise = draw(st.sampled_from(words.promises))
    content = draw(st.sampled_from([*DOCUMENTS[promise], "<a><b></a>"]))
    kept = () if promise == "anything" else (promise,)
    client = draw(st.sampled_from(CLIENTS))
    return Publish(client, content, kept)


def some_steps(words: Vocabulary) -> st.SearchStrategy[list[Step]]:
    client, broker = st.sampled_from(CLIENTS), st.sampled_from(words.brokers)
    link = st.sampled_from([(one, other) for one, other, _ in words.links] or [("a", "a")])
    ids = st.sampled_from(("s1", "s2", "s3", "s4"))
    wanted = st.tuples(ids, st.sampled_from(words.patterns))
    several = st.lists(wanted, min_size=1, max_size=3, unique_by=lambda each: each[0])
    subscribe = st.builds(Subscribe, client, several.map(tuple))
    unsubscribe = st.builds(histories.Unsubscribe, client, st.tuples(ids))
    promise = st.sampled_from(("p1", "p2"))
    advertise = st.builds(Advertise, client, promise, st.sampled_from(words.promises))
    move = st.tuples(st.builds(Detach, client), st.builds(Attach, client, broker))
    publish = publications(words)
    at_rest = st.lists(publish, min_size=1, max_size=3)
    fault = st.one_of(
        link.map(lambda ends: Cut(*ends)),
        link.map(lambda ends: Heal(*ends)),
        st.builds(Crash, broker),
        st.builds(Restart, broker),
    )
    arrive = st.builds(Arrive, st.integers(1, 12))
    unadvertise = st.builds(Unadvertise, client, promise)
    single = (
        *(subscribe, subscribe, unsubscribe, advertise, advertise, unadvertise),
        *(publish, fault, fault, arrive),
    )
    return st.one_of(
        st.one_of(*single).map(lambda step: [step]),
        move.map(list),
        at_rest.map(lambda some: [Settle(), *some, Settle()]),
    )


@st.composite
def drawn_histories(draw: st.DrawFn, strategy: str) -> History:
    words = draw(vocabularies())
    steps: list[Step] = []
    for client in CLIENTS:
        steps += [
            Attach(client, draw(st.sampled_from(words.brokers))),
            Subscribe(client, (("s1", draw(st.sampled_from(words.patterns))),)),
            Advertise(client, "p1", draw(st.sampled_from(words.promises))),
        ]
    for some in draw(st.lists(some_steps(words), max_size=40)):
        steps += some
    steps += [Settle(), *draw(st.lists(publications(words), max_size=3)), Settle()]
    used = sorted(DEFINITIONS.keys() & set(words.promises))
    schemas = tuple((name, DEFINITIONS[name]) for name in used)
    modes = draw(st.tuples(st.booleans(), st.booleans()))
    return History(words.brokers, words.links, strategy, tuple(steps), schemas, *modes)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_history_ends_well(strategy: str) -> None:
    @settings(max_examples=min(EXAMPLES * 2 // 3, 3000))
    @given(drawn_histories(strategy), st.integers(0, 2**32))
    def ends_well(history: History, seed: int) -> None:
        note(f"run_history({history!r}, {seed})")
        assert run_history(history, seed).wrong is None

    ends_well()


def test_histories_deliver_and_skip_little() -> None:
    """The histories above would prove nothing if most of their steps came to nothing."""
    counts: Counter[str] = Counter()

    @settings(max_examples=100)
    @given(drawn_histories("advertisements-covering"))
    def count(history: History) -> None:
        run = run_history(history)
        counts.update(
            steps=len(history.steps),
            skipped=run.skipped,
            exact=run.exact,
            deliveries=run.deliveries,
        )

    count()
    assert counts["skipped"] < counts["steps"] / 2
    assert counts["exact"] > 100
    assert counts["deliveries"] > 20


# --- what histories are made of ------------------------------------------------------------------


@given(drawn_histories("xnet"))
@settings(max_examples=50)
def test_a_history_prints_as_python_that_makes_it_again(history: History) -> None:
    assert eval(repr(history), vars(histories).copy()) == history


def test_a_run_is_the_same_each_time() -> None:
    steps: tuple[Step, ...] = (
        *(Attach(client, broker) for client, broker in zip(CLIENTS, "abca", strict=True)),
        *(Subscribe(client, (("s", "//b"),)) for client in CLIENTS),
        Publish("one", "<b/>"),
        Arrive(5),
        Publish("two", "<a><b/></a>"),
    )
    history = History(("a", "b", "c"), (("a", "b", 1.0), ("b", "c", 1.0)), "covering", steps)
    answers = {run_history(history, 3).deliveries for _ in range(5)}
    assert len(answers) == 1
    # Other orders let documents overtake subscriptions, or not.
    assert len({run_history(history, seed).deliveries for seed in range(30)}) > 1


def test_steps_that_make_no_sense_are_passed_over() -> None:
    steps: tuple[Step, ...] = (
        Detach("nobody"),
        Attach("one", "nowhere"),
        Attach("one", "a"),
        Attach("one", "a"),
        histories.Unsubscribe("one", ("s",)),
        Subscribe("one", (("s", "/a"),)),
        Subscribe("one", (("s", "/a"),)),
        Unadvertise("one", "p"),
        Cut("a", "b"),
        Heal("a", "b"),
        Restart("a"),
        Crash("a"),
        Crash("a"),
        Publish("one", "<a/>"),
        Settle(),
    )
    run = run_history(History(("a",), (), "flooding", steps))
    assert run.wrong is None
    assert run.skipped == 11


def test_a_client_that_leaves_takes_everything_with_it() -> None:
    """Found by histories: the news that a client was gone got lost with its link."""
    steps = (
        Attach("one", "a"),
        Subscribe("one", (("s", "//a"),)),
        Advertise("one", "p", "anything"),
        Settle(),
        Detach("one"),
        Settle(),
    )
    history = History(("a", "b"), (("a", "b", 1.0),), "advertisements-covering", steps)
    assert run_history(history).wrong is None


def test_a_returning_link_may_bring_a_document_twice_and_the_client_gets_it_once() -> None:
    """The broker b hears from c before a knows that b no longer listens to it directly."""
    links = (("a", "b", 4.0), ("a", "c", 1.0), ("b", "c", 1.0))
    steps: tuple[Step, ...] = (
        *(Attach(client, broker) for client, broker in zip(CLIENTS, "abc", strict=False)),
        Advertise("one", "p", "anything"),
        *(Subscribe(client, (("s", "//a"),)) for client in ("two", "three")),
        Settle(),
        Cut("b", "c"),
        Settle(),
        Heal("b", "c"),
        Arrive(6),
        Publish("one", "<a/>"),
    )
    for strategy in ("xnet", "covering"):
        history = History(("a", "b", "c"), links, strategy, steps)
        for seed in range(100):
            assert run_history(history, seed).wrong is None


# --- the observer --------------------------------------------------------------------------------


@given(overlays())
def test_the_observer_finds_the_shortest_paths(
    overlay: tuple[tuple[str, ...], tuple[tuple[str, str, float], ...]],
) -> None:
    brokers, links = overlay
    graph: networkx.Graph[str] = networkx.Graph()
    graph.add_nodes_from(brokers)
    graph.add_weighted_edges_from(links)
    costs = {one: {other: graph[one][other]["weight"] for other in graph[one]} for one in brokers}
    distances = networkx.single_source_dijkstra_path_length(graph, "a")
    parents = least_cost_parents(costs, "a")
    assert set(parents) == set(distances) - {"a"}
    for broker, parent in parents.items():
        suitable = [
            other
            for other in graph[broker]
            if distances[other] + costs[broker][other] == distances[broker]
        ]
        assert parent == min(suitable)


@pytest.mark.parametrize("promise", sorted(DOCUMENTS))
def test_documents_match_as_libxml2_says_and_keep_their_promises(promise: str) -> None:
    for content in DOCUMENTS[promise]:
        tree = etree.fromstring(content).getroottree()
        for expression in PATTERNS:
            assert matches(twigcast.parse(expression), content.encode()) == bool(
                tree.xpath(expression)
            )
        if promise in DEFINITIONS:
            definition = etree.DTD(StringIO(DEFINITIONS[promise]))
            assert definition.validate(tree), definition.error_log
        elif promise.startswith("/"):
            advertised = twigcast.Advertisement.parse(promise)
            assert all(
                advertised.matches_path(each.path) for each in twigcast.decompose(content, "")
            )


# --- links whose ends learn late -----------------------------------------------------------------


def test_the_ends_of_a_link_learn_of_a_cut_each_at_its_own_time() -> None:
    transport = ShuffledTransport(1)
    network = LateNetwork(Overlay("ab", [("a", "b")]), transport=transport)
    network.settle()
    network.cut("a", "b")
    assert {name: set(router.neighbours) for name, router in network.routers.items()} == {
        "a": {"b"},
        "b": {"a"},
    }
    assert network.step()
    assert sorted(len(router.neighbours) for router in network.routers.values()) == [0, 1]
    network.heal("a", "b")
    network.settle()
    assert all(router.neighbours for router in network.routers.values())
    assert network.refusals == ()


def test_what_is_said_to_a_broker_that_is_gone_is_not_heard_by_the_one_that_returns() -> None:
    for seed in range(50):
        network = LateNetwork(
            Overlay("ab", [("a", "b")]),
            Strategy.named("flooding"),
            transport=ShuffledTransport(seed),
        )
        network.attach("one", "a")
        network.settle()
        network.crash("b")
        network.subscribe("one", "s", "//a")
        network.restart("b")
        network.settle()
        told = [str(entry.pattern) for entry in network.routers["b"].subscriptions()]
        assert told == ["//a"]
        assert network.refusals == ()


def test_what_a_broker_sends_before_it_learns_of_a_cut_is_not_heard() -> None:
    steps: tuple[Step, ...] = (
        Attach("one", "a"),
        Attach("two", "b"),
        Advertise("one", "p", "wide"),
        Subscribe("two", tuple((name, f"/a/{name}") for name in "bcde")),
        Settle(),
        Cut("a", "b"),
        Subscribe("two", (("f", "/a/f"),)),
        Arrive(3),
        Heal("a", "b"),
    )
    schemas = (("wide", DEFINITIONS["wide"]),)
    links = (("a", "b", 1.0),)
    history = History(("a", "b"), links, "perfect-merging", steps, schemas, is_late=True)
    for seed in range(20):
        assert run_history(history, seed).wrong is None


# --- the transport -------------------------------------------------------------------------------


ENDS = (("a", "b"), ("b", "a"), ("a", "c"), ("c", "b"))


def _numbered(sender: str, receiver: str, number: int) -> Envelope:
    return Envelope(sender, receiver, Unsubscribe((str(number),)))


def _all(transport: ShuffledTransport) -> list[Envelope]:
    return list(iter(transport.take, None))


def test_messages_of_a_link_keep_their_order_and_others_do_not() -> None:
    sent = [_numbered(*ends, number) for number in range(20) for ends in ENDS]
    orders = []
    for seed in (1, 1, 2):
        transport = ShuffledTransport(seed)
        for envelope in sent:
            transport.put(envelope)
        assert len(transport) == len(sent)
        arrived = _all(transport)
        for ends in ENDS:
            assert [each for each in arrived if each[:2] == ends] == [
                each for each in sent if each[:2] == ends
            ]
        orders.append(arrived)
    assert orders[0] == orders[1] != orders[2]
    assert sent not in orders


def test_a_cut_drops_both_directions_and_nothing_else() -> None:
    transport = ShuffledTransport(1)
    for sender, receiver in (*ENDS[:3], ("c", "a")):
        transport.put(Envelope(sender, receiver, LinkDown()))
    transport.cut("b", "a")
    assert {each[:2] for each in _all(transport)} == {("a", "c"), ("c", "a")}
    assert transport.take() is None
