"""One broker, message by message: what it sends where, spelled out.  See ``one_broker``."""

from __future__ import annotations

import pytest
from one_broker import (
    APART,
    AT_A,
    NARROW,
    OTHER,
    SCHEMA,
    STATES,
    TOWARDS_ALL,
    TOWARDS_PRODUCERS,
    WIDE,
    broker,
    changes,
    refusals,
    said,
    subscribe,
    told,
)

import twigcast
from twigcast.covering import Change
from twigcast.documents import DocumentLimits
from twigcast.routing import (
    STRATEGIES,
    Advertise,
    AdvertisementKey,
    Deliver,
    Document,
    DocumentId,
    LinkDown,
    LinkKind,
    LinkState,
    LinkUp,
    Message,
    Publish,
    Refused,
    Router,
    Send,
    Serve,
    Strategy,
    Unadvertise,
    Unsubscribe,
    Update,
)

MERGING = tuple(name for name in TOWARDS_PRODUCERS if STRATEGIES[name].merging is not None)
ANYWHERE_B, ANYWHERE_C = map(twigcast.parse, ("//b", "//c"))

# --- links and their states ----------------------------------------------------------------------


def test_a_new_neighbour_is_told_everything_and_the_others_of_it() -> None:
    router = broker()
    sends = router.handle(LinkUp(LinkKind.BROKER, 2.0), "d")
    own = LinkState("b", 0, 3, (("a", 1.0), ("c", 1.0), ("d", 2.0)))
    assert told(*sends) == {
        "a": Update(states=(own,)),
        "c": Update(states=(own,)),
        "d": Update(states=(own, *STATES)),
    }
    assert router.link_state == own


def test_news_of_links_is_passed_on_once_and_not_to_where_it_came_from() -> None:
    router = broker()
    state = LinkState("d", 0, 1, (("c", 1.0),))
    assert told(*router.handle(Update(states=(state,)), "c")) == {"a": Update(states=(state,))}
    assert router.handle(Update(states=(state,)), "a") == []
    older = state._replace(version=0)
    assert router.handle(Update(states=(older,)), "c") == []
    reborn = LinkState("d", 1, 0, ())
    assert told(*router.handle(Update(states=(reborn,)), "c")) == {"a": Update(states=(reborn,))}


def test_nobody_else_says_which_links_a_broker_has() -> None:
    router = broker()
    before = router.link_state
    assert router.handle(Update(states=(before._replace(links=()),)), "a") == []
    assert router.handle(Update(states=(LinkState("b", 0, 0, ()),)), "a") == []
    assert router.link_state == before


def test_a_broker_that_others_take_for_an_earlier_life_goes_on_with_a_later_one() -> None:
    router = broker("flooding")
    links = router.link_state.links
    sends = told(*router.handle(Update(states=(LinkState("b", 9, 9, ()),)), "a"))
    own = router.link_state
    assert (own.incarnation, own.links) == (10, links)
    assert sends == {"a": Update(states=(own,)), "c": Update(states=(own,))}
    router.handle(subscribe(s=WIDE), "one")
    ((_, delivery),) = router.handle(Publish("<a><b/></a>"), "two")
    assert isinstance(delivery, Deliver)
    # Documents are still known by this life: those who have had some of them know them by it.
    assert delivery.id == DocumentId("b", 0, 0)


def test_a_link_that_comes_up_twice_is_refused_and_nothing_is_lost() -> None:
    router = broker("flooding")
    router.handle(subscribe(s=WIDE), "one")
    for link, kind in (("a", LinkKind.BROKER), ("one", LinkKind.CLIENT), ("a", LinkKind.CLIENT)):
        (reason,) = refusals(router.handle(LinkUp(kind), link))
        assert "a link that is up" in reason
    (reason,) = refusals(router.handle(LinkUp(LinkKind.BROKER), "b"))
    assert "the broker itself" in reason
    assert router.table_size == 1


@pytest.mark.parametrize("cost", [0.0, -1.0, float("inf"), float("nan")])
def test_a_link_has_a_cost_above_zero(cost: float) -> None:
    (reason,) = refusals(broker().handle(LinkUp(LinkKind.BROKER, cost), "d"))
    assert "above 0" in reason


# --- strategies on a chain -----------------------------------------------------------------------


@pytest.mark.parametrize("strategy", TOWARDS_ALL)
def test_without_advertisements_everybody_is_told(strategy: str) -> None:
    router = broker(strategy)
    assert changes(said(router, subscribe(s=NARROW), "one")) == {
        "a": Change((NARROW,)),
        "c": Change((NARROW,)),
    }
    assert router.handle(Advertise("p", SCHEMA), "one") == []


@pytest.mark.parametrize("strategy", TOWARDS_PRODUCERS)
def test_with_advertisements_nobody_is_told_before_somebody_advertises(strategy: str) -> None:
    router = broker(strategy)
    assert router.handle(subscribe(s=NARROW), "one") == []
    assert router.flush() == []
    sends = router.handle(Update(advertise=((AT_A, SCHEMA),)), "a")
    assert told(*sends) == {"c": Update(advertise=((AT_A, SCHEMA),))}
    sent = ANYWHERE_B if strategy in MERGING else NARROW
    assert told(*router.flush()) == {
        "a": Update(serve=(Serve(1, frozenset("a")),), changes=((1, Change((sent,))),))
    }


@pytest.mark.parametrize("strategy", TOWARDS_PRODUCERS)
def test_an_advertisement_that_ends_takes_its_channels_along(strategy: str) -> None:
    router = broker(strategy)
    router.handle(subscribe(s=NARROW), "one")
    said(router, Update(advertise=((AT_A, SCHEMA),)), "a")
    sends = router.handle(Update(unadvertise=(AT_A,)), "a")
    assert told(*sends) == {"c": Update(unadvertise=(AT_A,))}
    assert told(*router.flush()) == {"a": Update(serve=(Serve(1, frozenset()),))}
    assert router.advertisements() == []


@pytest.mark.parametrize("strategy", TOWARDS_PRODUCERS)
def test_a_client_advertises_to_both_sides(strategy: str) -> None:
    router = broker(strategy)
    key = AdvertisementKey("b", "one", "p")
    update = Update(advertise=((key, SCHEMA),))
    assert told(*router.handle(Advertise("p", SCHEMA), "one")) == {"a": update, "c": update}
    (entry,) = router.advertisements()
    assert (entry.key, entry.promise, entry.last_hop) == (key, SCHEMA, "one")
    gone = Update(unadvertise=(key,))
    assert told(*router.handle(Unadvertise("p"), "one")) == {"a": gone, "c": gone}


@pytest.mark.parametrize(
    ("strategy", "expected"),
    [("xnet", True), ("advertisements", False), ("advertisements-covering", False)],
)
def test_only_what_may_match_is_told_where_advertisements_say(
    strategy: str, expected: bool
) -> None:
    router = broker(strategy)
    said(router, Update(advertise=((AT_A, APART),)), "a")
    assert bool(said(router, subscribe(s=NARROW), "one")) == expected
    # Who promises more later is told what was kept back.
    more = AdvertisementKey("a", "feed", "q")
    sends = router.handle(Update(advertise=((more, SCHEMA),)), "a")
    assert told(*sends) == {"c": Update(advertise=((more, SCHEMA),))}
    assert changes(router.flush()) == ({} if expected else {"a": Change((NARROW,))})


def test_without_covering_every_subscription_is_told() -> None:
    router = broker("flooding")
    assert changes(said(router, subscribe(s=WIDE, t=WIDE, u=NARROW), "one")) == {
        "a": Change((WIDE, WIDE, NARROW)),
        "c": Change((WIDE, WIDE, NARROW)),
    }
    gone = Change((), (WIDE,))
    assert changes(said(router, Unsubscribe(("s",)), "one")) == {"a": gone, "c": gone}
    assert changes(said(router, Unsubscribe(("t",)), "one")) == {"a": gone, "c": gone}


def test_what_is_covered_is_told_when_that_which_covers_it_goes() -> None:
    router = broker("covering")
    said(router, subscribe(s=NARROW), "one")
    wider = Change((WIDE,), (NARROW,))
    assert changes(said(router, subscribe(s=WIDE), "two")) == {"a": wider, "c": wider}
    assert said(router, subscribe(t=OTHER, u=WIDE), "one") == []
    assert said(router, Unsubscribe(("s",)), "two") == []  # the other client wants it, too
    (restored,) = set(changes(said(router, Unsubscribe(("u",)), "one")).values())
    assert (set(restored.forward), restored.withdraw) == ({NARROW, OTHER}, (WIDE,))


def test_a_client_that_goes_takes_what_it_wanted_along() -> None:
    router = broker("covering")
    said(router, subscribe(s=NARROW), "one")
    said(router, subscribe(s=WIDE, t=WIDE), "two")
    narrower = Change((NARROW,), (WIDE,))
    assert changes(said(router, LinkDown(), "two")) == {"a": narrower, "c": narrower}
    assert router.table_size == 1


def test_what_one_neighbour_wants_is_told_to_the_other() -> None:
    router = broker("covering")
    update = Update(serve=(Serve(1, frozenset({""})),), changes=((1, Change((WIDE,))),))
    assert changes(said(router, update, "c")) == {"a": Change((WIDE,))}
    assert changes(said(router, subscribe(s=NARROW), "one")) == {"c": Change((NARROW,))}


def test_a_link_that_goes_takes_what_was_told_on_it_along() -> None:
    router = broker("covering")
    update = Update(serve=(Serve(1, frozenset({""})),), changes=((1, Change((WIDE,))),))
    said(router, update, "c")
    state = LinkState("b", 0, 3, (("a", 1.0),))
    assert told(*router.handle(LinkDown(), "c")) == {"a": Update(states=(state,))}
    assert changes(router.flush()) == {"a": Change((), (WIDE,))}
    assert router.subscriptions() == []
    assert router.remembered() == {"c": {WIDE}}
    router.forget("c")
    assert router.remembered() == {}
    assert not router.go_on(1)
    assert router.table_size == 0


# --- gathering -----------------------------------------------------------------------------------


def towards_a(strategy: str) -> Router:
    """A broker whose neighbour ``a`` advertises."""
    router = broker(strategy)
    said(router, Update(advertise=((AT_A, SCHEMA),)), "a")
    assert not router.has_news
    return router


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_what_is_undone_before_a_broker_flushes_is_never_sent(strategy: str) -> None:
    router = towards_a(strategy)
    router.handle(subscribe(s=NARROW, t=WIDE), "one")
    assert router.has_news
    router.handle(Unsubscribe(("s", "t")), "one")
    assert router.flush() == []
    assert not router.has_news


@pytest.mark.parametrize("strategy", TOWARDS_PRODUCERS)
def test_a_channel_that_is_gone_before_a_broker_flushes_is_never_sent(strategy: str) -> None:
    router = broker(strategy)
    router.handle(subscribe(s=NARROW), "one")
    router.handle(Update(advertise=((AT_A, SCHEMA),)), "a")
    router.handle(Update(unadvertise=(AT_A,)), "a")
    assert router.flush() == []


@pytest.mark.parametrize("strategy", ["covering", "advertisements-covering", "xnet"])
def test_what_is_covered_before_a_broker_flushes_is_never_sent(strategy: str) -> None:
    router = towards_a(strategy)
    router.handle(subscribe(s=NARROW), "one")
    router.handle(subscribe(s=WIDE), "two")
    assert changes(router.flush())["a"] == Change((WIDE,))


@pytest.mark.parametrize("strategy", MERGING)
def test_mergers_are_sent_instead_of_what_they_stand_for(strategy: str) -> None:
    router = towards_a(strategy)
    router.handle(subscribe(s=NARROW), "one")
    router.handle(subscribe(s=OTHER), "two")
    change = changes(router.flush())["a"]
    (merger,) = change.forward
    assert twigcast.covers(merger, NARROW)
    assert twigcast.covers(merger, OTHER)
    assert change.withdraw == ()
    # A merger that has lost half of what it stood for is dissolved.
    assert changes(said(router, Unsubscribe(("s",)), "two")) == {
        "a": Change((ANYWHERE_B,), (merger,))
    }


@pytest.mark.parametrize("strategy", MERGING)
def test_a_merger_replaces_what_was_sent_before_it(strategy: str) -> None:
    router = towards_a(strategy)
    assert changes(said(router, subscribe(s=NARROW), "one")) == {"a": Change((ANYWHERE_B,))}
    change = changes(said(router, subscribe(s=OTHER), "two"))["a"]
    (merger,) = change.forward
    assert change.withdraw == (ANYWHERE_B,)
    assert twigcast.covers(merger, NARROW)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_trees_that_change_and_change_back_are_not_sent(strategy: str) -> None:
    router = towards_a(strategy)
    said(router, subscribe(s=NARROW), "one")
    more = AdvertisementKey("a", "feed", "q")
    router.handle(Update(advertise=((more, SCHEMA),)), "a")
    router.handle(Update(unadvertise=(more,)), "a")
    assert router.flush() == []


@pytest.mark.parametrize("strategy", MERGING)
def test_a_channel_that_merges_sends_nothing_while_it_lags_behind(strategy: str) -> None:
    router = broker(strategy)
    router.handle(subscribe(s=NARROW, t=OTHER), "one")
    router.begin(Update(advertise=((AT_A, SCHEMA),)), "a")
    assert router.go_on(1)
    assert [update.changes for update in told(*router.flush()).values()] == [()]
    while router.go_on(1):
        pass
    (merger,) = changes(router.flush())["a"].forward
    assert twigcast.covers(merger, NARROW)


# --- documents -----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_document_goes_to_those_who_want_it(strategy: str) -> None:
    router = broker(strategy)
    everyone = strategy in TOWARDS_ALL
    tree = "" if everyone else "b"
    router.handle(Advertise("p", SCHEMA), "one")
    router.handle(subscribe(s=NARROW, t=WIDE, u=OTHER), "two")
    wanted = Update(serve=(Serve(5, frozenset({tree})),), changes=((5, Change((NARROW,))),))
    router.handle(wanted, "c")
    first = DocumentId("b", 0, 0)
    content = "<a><b/></a>"
    deliver, document = router.handle(Publish(content), "one")[::-1]
    assert document == Send("c", Document(first, tree, content))
    assert deliver.link == "two"
    assert isinstance(deliver.message, Deliver)
    assert (deliver.message.id, deliver.message.content) == (first, content)
    assert sorted(deliver.message.subscriptions) == ["s", "t"]
    assert router.handle(Publish("<z/>"), "one") == []
    ((link, third),) = router.handle(Publish("<a><c/></a>"), "one")
    assert link == "two"
    assert isinstance(third, Deliver)
    assert third.id == DocumentId("b", 0, 2)
    assert sorted(third.subscriptions) == ["t", "u"]


def test_a_document_is_passed_on_once() -> None:
    router = broker("covering")
    update = Update(serve=(Serve(1, frozenset({""})),), changes=((1, Change((WIDE,))),))
    router.handle(update, "c")
    router.handle(subscribe(s=WIDE), "one")
    document = Document(DocumentId("a", 0, 0), "", b"<a><b/></a>")
    assert router.handle(document, "a") == [
        Send("c", document),
        Send("one", Deliver(document.id, document.content, ("s",))),
    ]
    assert router.handle(document, "a") == []
    assert router.handle(document, "c") == []


def test_a_document_does_not_go_back() -> None:
    router = broker("flooding")
    for neighbour in "ac":
        update = Update(serve=(Serve(1, frozenset({""})),), changes=((1, Change((WIDE,))),))
        router.handle(update, neighbour)
    document = Document(DocumentId("a", 0, 0), "", b"<a><b/></a>")
    assert router.handle(document, "a") == [Send("c", document)]


def test_what_is_not_a_document_is_refused() -> None:
    router = broker("flooding")
    message = Publish("<a><b></a>")
    (sent,) = router.handle(message, "one")
    assert sent.link == "one"
    assert isinstance(sent.message, Refused)
    assert sent.message.message is message
    assert "cannot be read" in sent.message.reason


@pytest.mark.parametrize(
    ("limits", "content"),
    [
        (DocumentLimits(depth=3), "<a><b/><a><a><a/></a></a></a>"),
        (DocumentLimits(size=30), f"<a><b/>{'<c/>' * 50}</a>"),
    ],
)
def test_a_document_beyond_the_limits_is_refused_as_a_whole(
    limits: DocumentLimits, content: str
) -> None:
    router = Router("b", Strategy.named("flooding"), limits=limits)
    router.handle(LinkUp(LinkKind.CLIENT), "one")
    router.handle(subscribe(s=WIDE), "one")
    (reason,) = refusals(router.handle(Publish(content), "one"))
    assert "cannot be read" in reason


def test_publishing_takes_an_advertisement_where_there_are_any() -> None:
    router = broker("advertisements")
    (reason,) = refusals(router.handle(Publish("<a/>"), "one"))
    assert "advertise first" in reason
    router.handle(Advertise("p", SCHEMA), "one")
    assert router.handle(Publish("<a/>"), "one") == []
    router.handle(Unadvertise("p"), "one")
    assert refusals(router.handle(Publish("<a/>"), "one")) == [reason]


# --- and again -----------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_same_messages_in_the_same_order_give_the_same_answers(strategy: str) -> None:
    messages: list[tuple[Message, str]] = [
        (subscribe(s=NARROW, t=WIDE), "one"),
        (Update(advertise=((AT_A, SCHEMA),)), "a"),
        (Advertise("p", SCHEMA), "two"),
        (
            Update(serve=(Serve(1, frozenset(("a", "b", ""))),), changes=((1, Change((OTHER,))),)),
            "c",
        ),
        (Publish("<a><b/><c/></a>"), "two"),
        (Document(DocumentId("a", 0, 0), "a", "<a><c/></a>"), "a"),
        (Unsubscribe(("t", "nothing")), "one"),
        (LinkDown(), "c"),
        (LinkUp(LinkKind.BROKER), "c"),
        (Publish("<a>"), "two"),
        (LinkDown(), "one"),
    ]
    answers = []
    for _ in range(2):
        router = broker(strategy)
        answers.append([router.handle(message, link) for message, link in messages])
    assert answers[0] == answers[1]
    assert any(answers[0])
