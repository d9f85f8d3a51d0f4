"""Merging is done in small steps, and what is wanted does not wait for it for long."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import twigcast
from twigcast.covering import Change
from twigcast.hierarchy import Gateway, make_router
from twigcast.routing import (
    OUTER,
    Advertise,
    AdvertisementKey,
    LinkDown,
    LinkKind,
    LinkState,
    LinkUp,
    Router,
    Send,
    Serve,
    Subscribe,
    Unsubscribe,
    Update,
)
from twigcast.routing.channels import PATIENCE

NAMES = [f"e{number}" for number in range(40)]
SCHEMA = twigcast.Schema.from_dtd(
    f"<!ELEMENT a (b*)> <!ELEMENT b ({'|'.join(NAMES)})*>"
    + "".join(f"<!ELEMENT {name} EMPTY>" for name in NAMES)
)
WANTED = {name: twigcast.parse(f"/a/b/{name}") for name in NAMES}
MANY = 1_000_000


def router_with_producer() -> Router:
    """A broker with a client and a neighbour, which leads to a producer."""
    router, other = Router("a", "perfect-merging"), Router("b", "perfect-merging")
    for each, name in ((router, "b"), (other, "a")):
        each.handle(LinkUp(LinkKind.CLIENT), "client")
        each.handle(LinkUp(LinkKind.BROKER), name)
    other.learn([router.link_state])
    router.learn([other.link_state])
    for _, message in other.handle(Advertise("all", SCHEMA), "client"):
        router.handle(message, "b")
    router.flush()
    return router


def changes(sends: Iterable[Send]) -> Change:
    """What the neighbour hears that is wanted."""
    updates = [message for _, message in sends if isinstance(message, Update)]
    every = [change for update in updates for _, change in update.changes]
    return Change(
        tuple(each for change in every for each in change.forward),
        tuple(each for change in every for each in change.withdraw),
    )


def go_on(router: Router) -> int:
    """Let a router do all that is left, one step at a time; how many these were."""
    steps = 0
    while router.is_behind:
        router.go_on(1)
        steps += 1
    return steps


def test_slices_come_to_what_a_merging_at_once_does() -> None:
    whole, sliced = router_with_producer(), router_with_producer()
    whole.handle(Subscribe(WANTED), "client")
    sliced.begin(Subscribe(WANTED), "client")
    assert changes(sliced.begin_flush(MANY)) == Change()
    assert go_on(sliced) > 20
    merged = changes(sliced.begin_flush(MANY))
    assert merged == changes(whole.flush())
    assert list(map(str, merged.forward)) == ["//b/*"]
    assert not merged.withdraw


def test_what_is_gathered_waits_for_merging_but_not_for_long() -> None:
    router = router_with_producer()
    router.begin(Subscribe(WANTED), "client")
    for _ in range(PATIENCE):
        assert changes(router.begin_flush(MANY)) == Change()
        assert router.has_news
    assert set(changes(router.begin_flush(MANY)).forward) == set(WANTED.values())
    go_on(router)
    after = changes(router.begin_flush(MANY))
    assert list(map(str, after.forward)) == ["//b/*"]
    assert set(after.withdraw) == set(WANTED.values())


def test_whoever_cannot_wait_sends_what_is_gathered_as_it_is() -> None:
    router = router_with_producer()
    router.begin(Subscribe(WANTED), "client")
    assert set(changes(router.begin_flush()).forward) == set(WANTED.values())


@pytest.mark.parametrize("steps", range(0, 40, 3))
def test_what_comes_and_goes_while_merging_is_right(steps: int) -> None:
    router = router_with_producer()
    early = {name: WANTED[name] for name in NAMES[:-1]}
    router.begin(Subscribe(early), "client")
    known: set[twigcast.Pattern] = set()

    def hear(change: Change) -> None:
        known.update(change.forward)
        assert known.issuperset(change.withdraw)
        known.difference_update(change.withdraw)

    hear(changes(router.begin_flush(MANY)))
    for _ in range(steps):
        router.go_on(1)
    router.begin(Unsubscribe((NAMES[0],)), "client")
    router.begin(Subscribe({NAMES[-1]: WANTED[NAMES[-1]]}), "client")
    hear(changes(router.begin_flush()))
    now = [pattern for name, pattern in WANTED.items() if name != NAMES[0]]
    assert all(any(twigcast.covers(each, wanted) for each in known) for wanted in now)
    go_on(router)
    hear(changes(router.flush()))
    assert all(any(twigcast.covers(each, wanted) for each in known) for wanted in now)
    assert not any(twigcast.covers(each, WANTED[NAMES[0]]) for each in known)
    router.handle(LinkDown(), "client")
    hear(changes(router.flush()))
    assert not known


def gateway_with_another() -> Gateway:
    """A gateway of ``n`` behind another one, between a producer and a broker outside."""
    gateway = make_router("n/b", "n", "perfect-merging")
    assert isinstance(gateway, Gateway)
    for name, depth in (("n/a", 1), ("feed", 0), ("desk", 0)):
        gateway.handle(LinkUp(LinkKind.BROKER, 1.0, (depth,)), name)
        leaves = (OUTER + name,) if depth else ()
        state = LinkState(name, 1, 1, (("n/b", 1.0),), leaves)
        gateway.handle(Update(states=(state,), depth=depth), name)
    promised = (AdvertisementKey("feed", "client", "all"), SCHEMA)
    gateway.handle(Update(advertise=(promised,)), "feed")
    gateway.flush()
    return gateway


WANTED_BY_DESK = Update(
    serve=(Serve(1, frozenset(("feed",))),), changes=((1, Change(tuple(WANTED.values()))),)
)


@pytest.mark.parametrize("is_merging", [False, True], ids=["lagging", "merging"])
def test_a_gateway_that_becomes_the_first_of_its_unit_goes_on_in_slices(is_merging: bool) -> None:
    whole, sliced = gateway_with_another(), gateway_with_another()
    whole.handle(WANTED_BY_DESK, "desk")
    whole.handle(LinkDown(), "n/a")
    assert not whole.is_behind
    sliced.begin(WANTED_BY_DESK, "desk")
    if is_merging:
        go_on(sliced)
        sliced.begin_flush(MANY)
    assert sliced.above.link_state.leaves == ("n/@a",)
    sliced.begin(LinkDown(), "n/a")
    assert sliced.above.link_state.leaves == ("n/@b",)
    assert go_on(sliced) > 20
    merged = changes(sliced.flush())
    assert merged == changes(whole.flush())
    assert list(map(str, merged.forward)) == ["//b/*"]
