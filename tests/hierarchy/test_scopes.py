"""What is kept within a unit does not leave it, whoever else wants or promises what."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest
from planted import Mistake, instead_of, original

from lab.histories.drawn import draw_history
from lab.histories.running import run_history
from twigcast.errors import OverlayError
from twigcast.hierarchy import Network, read_network
from twigcast.hierarchy.passage import Passage
from twigcast.routing import (
    ANYTHING,
    AdvertisementKey,
    Document,
    DocumentId,
    DocumentRouter,
    Overlay,
    Refused,
)
from twigcast.routing import Network as FlatNetwork
from twigcast.routing.planning import Planner
from twigcast.simulation import Scenario

PAPER = "<p>text</p>"


def network(strategy: str = "advertisements-covering") -> Network:
    """Two units in one, and another one beside, with a gateway each; each broker has a client."""
    brokers = ["n/o/a", "n/o/b", "n/p/a", "n/p/b", "s/a", "s/b"]
    links = [("n/o/a", "n/o/b"), ("n/p/a", "n/p/b"), ("n/o/a", "n/p/a"), ("n/o/a", "s/a")]
    gateways = {"n/o/a": "n", "n/p/a": "n/p", "s/a": "s"}
    made = Network(Overlay(brokers, [*links, ("s/a", "s/b")], gateways), strategy)
    for broker in brokers:
        made.attach(at(broker), broker)
    return made


def at(broker: str) -> str:
    return f"at {broker}"


def receivers(made: FlatNetwork) -> set[str]:
    """The brokers whose clients have got something since this was last asked."""
    made.settle()
    assert not made.refusals
    got = {each.broker for each in made.clients.values() if each.deliveries}
    for each in made.clients.values():
        assert len(each.deliveries) < 2
        each.deliveries.clear()
    return got


def with_wants(strategy: str = "advertisements-covering", scope: str = "") -> Network:
    """Everybody wants everything, within a scope, and one client promises something."""
    made = network(strategy)
    made.advertise(at("n/o/b"), "all", ANYTHING)
    for broker in made.overlay:
        made.subscribe(at(broker), "s", "//p", scope=scope)
    made.settle()
    return made


def test_a_frozen_network_counts_a_client_once_whatever_its_scopes() -> None:
    made = with_wants()
    made.subscribe(at("n/o/b"), "near", "//q", scope="n")
    made.settle()
    assert f"{len(made.overlay)} clients" in repr(made.freeze())


STRATEGIES = ("flooding", "advertisements-covering", "xnet")


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_document_stays_in_its_unit(strategy: str) -> None:
    made = with_wants(strategy)
    for scope, units in (("cluster", ("n/o",)), ("n", ("n/",)), ("", ("n/", "s/"))):
        made.publish(at("n/o/b"), PAPER, scope=scope)
        assert receivers(made) == {each for each in made.overlay if each.startswith(units)}
        frozen = made.freeze().route(PAPER, at="n/o/b", scope=scope)
        assert {each.broker for each in frozen.deliveries} == {
            each for each in made.overlay if each.startswith(units)
        }
        brokers = ["n/o/b", "n/o/a"]
        both = list(made.freeze().route_batch([PAPER.encode()] * 2, brokers, scope=scope))
        assert both == [made.freeze().route(PAPER, at=each, scope=scope) for each in brokers]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_subscription_gets_what_is_published_in_its_unit(strategy: str) -> None:
    made = with_wants(strategy, "cluster")
    for broker in made.overlay:
        if broker != "n/o/b":
            made.advertise(at(broker), "all", ANYTHING)
    made.settle()
    for origin in made.overlay:
        made.publish(at(origin), PAPER)
        unit = origin.rpartition("/")[0]
        assert receivers(made) == {each for each in made.overlay if each.startswith(unit)}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_others_want_changes_nothing(strategy: str) -> None:
    made = with_wants(strategy)
    made.subscribe(at("n/o/a"), "near", "//p", scope="n")
    made.subscribe(at("n/p/b"), "nearer", "//p", scope="n/p")
    made.advertise(at("s/b"), "all", ANYTHING)
    made.settle()
    made.publish(at("s/b"), PAPER)
    made.settle()
    assert made.client(at("n/o/a")).deliveries[0].subscriptions == ("s",)
    assert made.client(at("n/p/b")).deliveries[0].subscriptions == ("s",)
    receivers(made)
    made.publish(at("n/o/b"), PAPER)
    made.settle()
    assert set(made.client(at("n/o/a")).deliveries[0].subscriptions) == {"s", "near"}
    assert made.client(at("n/p/b")).deliveries[0].subscriptions == ("s",)


def test_a_subscription_is_not_said_outside_its_unit() -> None:
    made = network()
    made.advertise(at("s/b"), "all", ANYTHING)
    made.advertise(at("n/p/b"), "all", ANYTHING)
    made.subscribe(at("n/o/b"), "s", "//p", scope="super-cluster")
    made.settle()
    assert [(str(each.pattern), each.scope) for each in made.routers["n/p/b"].subscriptions()] == [
        ("//p", 0)  # here it comes from outside, and all of this unit is in the scope
    ]
    above = made.routers["n/p/a"].levels[1]
    assert [(str(each.pattern), each.scope) for each in above.subscriptions()] == [("//p", 1)]
    for level in made.routers["s/a"].levels:
        assert not level.subscriptions()
    made.unsubscribe(at("n/o/b"), "s")
    made.settle()
    assert not any(
        level.subscriptions() for router in made.routers.values() for level in router.levels
    )


def test_an_advertisement_draws_no_subscriptions_from_outside_its_unit() -> None:
    made = network()
    made.advertise(at("n/o/b"), "mine", ANYTHING, scope="n")
    for broker in ("n/p/b", "s/b"):
        made.subscribe(at(broker), "s", "//p")
    made.settle()
    assert [each.key.scope for each in made.routers["n/p/b"].advertisements()] == [0]
    assert not made.routers["s/b"].advertisements()
    made.publish(at("n/o/b"), PAPER)
    assert receivers(made) == {"n/p/b"}
    made.advertise(at("n/o/a"), "again", ANYTHING)
    assert receivers(made) == set()
    assert made.routers["s/b"].advertisements()
    made.unadvertise(at("n/o/a"), "again")
    made.unadvertise(at("n/o/b"), "mine")
    made.settle()
    assert not any(
        level.advertisements() for router in made.routers.values() for level in router.levels
    )


def test_a_gateway_keeps_a_document_in_that_a_neighbour_forwards() -> None:
    made = with_wants()
    document = Document(DocumentId("n/o/b", 0, 9), "n/o/b", PAPER, depth=2, scope=2)
    sends = made.routers["n/o/a"].handle(document, "n/o/b")
    assert [each.link for each in sends] == [at("n/o/a")]


def test_a_broker_outside_refuses_a_document() -> None:
    made = with_wants()
    document = Document(DocumentId("n/o/b", 0, 9), "n/@o/a", PAPER, depth=0, scope=1)
    [send] = made.routers["s/a"].handle(document, "n/o/a")
    assert isinstance(send.message, Refused)
    assert "drop it there" in send.message.reason


def test_a_restarted_broker_hears_scopes_again() -> None:
    made = with_wants("advertisements-covering", "cluster")
    made.crash("n/o/b")
    made.settle()
    made.restart("n/o/b")
    made.settle()
    assert made.client(at("n/o/b")).scopes == {"s": 2}
    made.publish(at("n/o/b"), PAPER, scope="cluster")
    assert receivers(made) == {"n/o/a", "n/o/b"}


@instead_of(DocumentRouter, "_keeps_in")
def let_documents_out(self: DocumentRouter, name: str, scope: int) -> bool:
    return False


@instead_of(DocumentRouter, "_depth_shared")
def take_documents_from_outside(self: DocumentRouter, origin: str) -> int:
    return self._depth


@instead_of(Planner, "_by_scope")
def draw_from_outside(
    self: Planner, tree: str, inputs: frozenset[int]
) -> Iterable[tuple[int, frozenset[int]]]:
    scopes = self._scopes.union(map(self._interests.scope, inputs))
    return [
        (scope, frozenset(each for each in inputs if self._interests.scope(each) == scope))
        for scope in sorted(scopes)
    ]


@instead_of(Passage, "_scope_beyond")
def forget_scopes(self: Passage, scope: int) -> int:
    return 0


@instead_of(Passage, "_goes_on")
def promise_outside(self: Passage, key: AdvertisementKey) -> bool:
    return True


@instead_of(Planner, "_courses")
def forget_what_clients_want(self: Planner, neighbour: str) -> object:
    return [
        each
        for each in original(Planner, "_courses")(self, neighbour)
        if each.inputs or not each[3]
    ]


@pytest.mark.parametrize(
    "mistake",
    [
        let_documents_out,
        take_documents_from_outside,
        draw_from_outside,
        forget_scopes,
        promise_outside,
        forget_what_clients_want,
    ],
    ids=str,
)
def test_what_is_made_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch, mistake: Mistake) -> None:
    mistake.make(monkeypatch)
    wrong = (
        run_history(draw_history(3, number, in_units=True), number).wrong for number in range(200)
    )
    assert any(wrong)


FILE = """
brokers = ["n/a", "n/b", "s/a"]
gateways = {{ "n/a" = "n", "s/a" = "s" }}
links = [{{ between = ["n/a", "n/b"] }}, {{ between = ["n/a", "s/a"] }}]

[[clients]]
name = "feed"
broker = "n/b"
advertises = [{{ id = "all", path = "/p", scope = "{scope}" }}]

[[clients]]
name = "near"
broker = "n/a"
scope = "cluster"
subscriptions = {{ s = "//p" }}

[[clients]]
name = "far"
broker = "s/a"
subscriptions = {{ s = "//p" }}
advertises = [{{ id = "all", path = "/p" }}]
"""


def test_a_network_file_has_scopes(tmp_path: Path) -> None:
    path = tmp_path / "network.toml"
    path.write_text(FILE.format(scope="n"))
    made = Network.planned(read_network(path))
    assert made.client("near").scopes == {"s": 1}
    assert [each.key.scope for each in made.routers["n/a"].advertisements()] == [1, 0]
    made.publish("far", "<p/>")
    assert receivers(made) == {"s/a"}
    made.publish("feed", "<p/>", scope="n")
    assert receivers(made) == {"n/a"}
    path.write_text(FILE.format(scope="s"))
    with pytest.raises(OverlayError, match=r"scope.* choose a scope among: cluster, n$"):
        read_network(path)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_scenario_has_the_scopes_of_its_file(tmp_path: Path, strategy: str) -> None:
    path = tmp_path / "network.toml"
    path.write_text(FILE.format(scope="cluster"))
    for number in range(5):
        (tmp_path / f"{number}.xml").write_text(f"<p>{number}</p>")
    files = tuple(str(each) for each in sorted(tmp_path.glob("*.xml")))
    result = Scenario(files=files, network=str(path), strategy=(strategy,)).run()
    [run] = result.runs
    assert result.is_right, run.wrong
    assert run.expected > 0
    assert run.unreachable == 0
