"""What a scope stands for at a broker."""

from __future__ import annotations

import pytest

import twigcast
from twigcast.errors import NetworkError
from twigcast.routing import (
    ANYTHING,
    Advertise,
    LinkKind,
    LinkUp,
    Network,
    Overlay,
    Publish,
    Refused,
    Router,
    Subscribe,
    depth_of_scope,
    shared_depth,
)
from twigcast.routing.scopes import require_scope


@pytest.mark.parametrize(
    ("scope", "depth"),
    [
        ("", 0),
        ("cluster", 3),
        ("super-cluster", 2),
        ("super-super-cluster", 1),
        ("n/o/p", 3),
        ("n/o", 2),
        ("n", 1),
    ],
)
def test_a_scope_counts_or_names_a_unit(scope: str, depth: int) -> None:
    assert depth_of_scope("n/o/p/b", scope) == depth


def test_a_scope_is_a_unit_that_the_broker_is_in() -> None:
    reason = r"the broker 'n/b' is in no unit 's'; choose a scope among: cluster, n$"
    with pytest.raises(NetworkError, match=reason):
        depth_of_scope("n/b", "s")
    with pytest.raises(NetworkError, match="choose a scope among"):
        depth_of_scope("n/b", "super-cluster")
    with pytest.raises(NetworkError, match="leave the slash out"):
        depth_of_scope("n/b", "n/")
    with pytest.raises(NetworkError, match="leave the scope out"):
        depth_of_scope("b", "cluster")
    with pytest.raises(NetworkError, match="choose a unit that the broker is in"):
        require_scope("n/b", 2, 1)


def test_how_deep_two_brokers_are_in_one_unit() -> None:
    assert shared_depth("n/o/a", "n/o/b") == 2
    assert shared_depth("n/o/a", "n/p/a") == 1
    assert shared_depth("n/a", "n/o/a") == 1
    assert shared_depth("n/a", "s/a") == 0
    assert shared_depth("n", "n/n") == 0


def test_a_flat_network_has_no_scopes() -> None:
    network = Network(Overlay(["a", "b"], [("a", "b")]))
    network.attach("x", "a")
    with pytest.raises(NetworkError, match="leave the scope out"):
        network.subscribe("x", "s", "//p", scope="cluster")
    with pytest.raises(NetworkError, match="leave the scope out"):
        network.advertise("x", "p", ANYTHING, scope="cluster")
    with pytest.raises(NetworkError, match="leave the scope out"):
        network.publish("x", "<p/>", scope="cluster")


def test_a_router_refuses_a_unit_that_it_is_not_in() -> None:
    router = Router("n/b", depth=1)
    router.handle(LinkUp(LinkKind.CLIENT), "x")
    router.handle(Advertise("all", ANYTHING), "x")
    for message in (
        Subscribe({"s": twigcast.parse("//p")}, 2),
        Advertise("more", ANYTHING, 2),
        Publish("<p/>", 2),
    ):
        [send] = router.handle(message, "x")
        assert isinstance(send.message, Refused)
        assert "choose a unit that the broker is in" in send.message.reason
    assert not router.subscriptions()
    assert len(router.advertisements()) == 1
