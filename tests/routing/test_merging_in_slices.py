"""Merging is done in small steps, and what is wanted does not wait for it for long."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

import twigcast
from twigcast.covering import Change
from twigcast.routing import (
    Advertise,
    LinkDown,
    LinkKind,
    LinkUp,
    Router,
    Send,
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
