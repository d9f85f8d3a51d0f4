"""What a broker does not follow: it says why, changes nothing, and goes on."""

from __future__ import annotations

from typing import Any

import pytest
from one_broker import (
    APART,
    AT_A,
    NARROW,
    OTHER,
    SCHEMA,
    WIDE,
    broker,
    changes,
    refusals,
    said,
    subscribe,
)

from twigcast.covering import Change
from twigcast.routing import (
    ANYTHING,
    Advertise,
    AdvertisementKey,
    Deliver,
    Document,
    DocumentId,
    LinkDown,
    Message,
    Publish,
    Refused,
    Serve,
    Unadvertise,
    Unsubscribe,
    Update,
)


def test_ids_that_are_taken_or_unknown_are_refused_and_the_rest_is_followed() -> None:
    router = broker("covering")
    said(router, subscribe(s=NARROW), "one")
    (reason,) = refusals(router.handle(subscribe(s=WIDE, t=OTHER), "one"))
    assert "'s' already" in reason
    assert changes(router.flush())["a"] == Change((OTHER,))
    sends = router.handle(Unsubscribe(("x", "t", "t")), "one")
    (reason,) = refusals([each for each in sends if each.link == "one"])
    unknown, ended_twice = reason.split("; ")
    assert "'x'" in unknown
    assert "'t'" in ended_twice
    assert refusals(router.handle(Unadvertise("p"), "one")) == ["'one' has no advertisement 'p'"]
    router.handle(Advertise("p", SCHEMA), "one")
    (reason,) = refusals(router.handle(Advertise("p", APART), "one"))
    assert "'p' already" in reason
    assert [entry.promise for entry in router.advertisements()] == [SCHEMA]


@pytest.mark.parametrize(
    "message",
    [LinkDown(), subscribe(s=WIDE), Publish("<a/>"), Update()],
    ids=lambda message: type(message).__name__,
)
def test_what_comes_on_no_link_is_refused(message: Message) -> None:
    (reason,) = refusals(broker().handle(message, "nobody"))
    assert reason == "the broker 'b' has no link 'nobody'"


@pytest.mark.parametrize(
    ("link", "message"),
    [
        ("one", Update()),
        ("one", Document(DocumentId("a", 0, 0), "a", "<a/>")),
        ("one", Deliver(DocumentId("a", 0, 0), "<a/>", ())),
        ("a", subscribe(s=WIDE)),
        ("a", Publish("<a/>")),
        ("a", Advertise("p", ANYTHING)),
        ("a", Deliver(DocumentId("a", 0, 0), "<a/>", ())),
    ],
)
def test_clients_and_brokers_say_what_is_theirs_to_say(link: str, message: Message) -> None:
    router = broker()
    (reason,) = refusals(router.handle(message, link))
    assert reason.startswith(f"{type(message).__name__} is not for {link!r} to say")
    assert router.table_size == 0


def test_what_is_not_a_pattern_or_a_promise_is_refused() -> None:
    router = broker()
    wrong: Any = "/a/b"
    (reason,) = refusals(router.handle(subscribe(s=wrong), "one"))
    assert "a subscription is a Pattern" in reason
    (reason,) = refusals(router.handle(Advertise("p", wrong), "one"))
    assert "'/a/b'" in reason
    assert (router.table_size, router.advertisements()) == (0, [])


def test_a_refusal_is_not_answered() -> None:
    """Or two brokers that do not know each other would refuse each other's refusals for ever."""
    for link in ("a", "one", "nobody"):
        assert broker().handle(Refused("why", Update()), link) == []


@pytest.mark.parametrize(("count", "last"), [(1, "'i0'"), (5, "'i4'"), (6, "and 1 more")])
def test_a_message_is_refused_once_whatever_is_wrong_with_it(count: int, last: str) -> None:
    message = Unsubscribe(tuple(f"i{number}" for number in range(count)))
    ((link, refused),) = broker().handle(message, "one")
    assert link == "one"
    assert isinstance(refused, Refused)
    assert refused.message is message
    reasons = refused.reason.split("; ")
    assert len(reasons) == count
    assert last in reasons[-1]
    for number, reason in enumerate(reasons[:5]):
        assert f"'i{number}'" in reason


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        (Update(changes=((7, Change((WIDE,))),)), "no channel 7"),
        (
            Update(serve=(Serve(7, frozenset("a")),), changes=((7, Change((), (WIDE,))),)),
            "does not want /a/* on channel 7",
        ),
        (Update(unadvertise=(AT_A,)), "never sent the advertisement"),
    ],
)
def test_a_forged_update_is_refused(update: Update, reason: str) -> None:
    router = broker()
    (found,) = refusals(router.handle(update, "a"))
    assert reason in found
    assert router.table_size == 0


@pytest.mark.parametrize(
    "serve",
    [
        (Serve(7, frozenset()),),
        (Serve(7, frozenset()), Serve(7, frozenset())),
        (Serve(7, frozenset("a")), Serve(7, frozenset())),
    ],
)
def test_closing_a_channel_that_is_not_there_does_nothing(
    serve: tuple[Serve, ...],
) -> None:
    router = broker()
    assert router.handle(Update(serve=serve), "a") == []
    assert router.neighbours["a"].incoming == {}


def test_an_advertisement_that_comes_by_the_wrong_way_is_not_believed() -> None:
    """Only the neighbour towards a producer knows what it advertises; others may be behind."""
    router = broker()
    assert router.handle(Update(advertise=((AT_A, SCHEMA),)), "c") == []
    assert router.advertisements() == []
    own = AdvertisementKey("b", "one", "p")
    assert router.handle(Update(advertise=((own, SCHEMA),)), "c") == []
    assert router.advertisements() == []
