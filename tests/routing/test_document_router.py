"""Where documents go, asked without messages; and who is owed them, wherever that is."""

from __future__ import annotations

import pytest

from twigcast.covering import Change
from twigcast.errors import DocumentError, NetworkError
from twigcast.language import parse
from twigcast.routing import (
    ANYTHING,
    Advertise,
    LinkDown,
    LinkKind,
    LinkUp,
    Network,
    Overlay,
    Router,
    Subscribe,
    Unsubscribe,
)

CHAIN = Overlay(["a", "b", "c", "d"], [("a", "b"), ("b", "c"), ("c", "d")])


def alone(strategy: str = "covering") -> Router:
    router = Router("a", strategy)
    for name in ("feed", "desk"):
        router.handle(LinkUp(LinkKind.CLIENT), name)
    return router


def test_a_document_is_routed_without_messages() -> None:
    router = alone()
    router.handle(Subscribe({"1": parse("//p"), "2": parse("/x")}), "desk")
    routed = router.documents.publish("<p/>", "feed")
    assert routed.recipients.deliveries == (("desk", ("1",)),)
    assert routed.copies == []
    assert routed.homes == []
    assert router.documents.recipients("<x/>").deliveries == (("desk", ("2",)),)
    assert router.documents.route(routed.document, "feed") is None


def test_documents_for_the_same_clients_have_the_same_recipients() -> None:
    router = alone()
    router.handle(Subscribe({"1": parse("//p")}), "desk")
    first, second, other = (
        router.documents.publish(text, "feed").recipients for text in ("<p/>", "<p>a</p>", "<x/>")
    )
    assert first is second
    assert first is not other
    router.handle(Subscribe({"again": parse("//p")}), "desk")
    assert router.documents.recipients("<p/>").deliveries == (("desk", ("1", "again")),)
    router.handle(Unsubscribe(("1",)), "desk")
    assert router.documents.recipients("<p/>").deliveries == (("desk", ("again",)),)
    router.handle(LinkDown(), "desk")
    assert router.documents.recipients("<p/>").deliveries == ()


def test_numbers_grow_with_each_document() -> None:
    router = alone()
    first, second = (router.documents.publish("<p/>", "feed").document.id for _ in range(2))
    assert (first.origin, second.number) == ("a", first.number + 1)


def test_what_cannot_be_routed_is_raised() -> None:
    with pytest.raises(DocumentError):
        alone().documents.publish("<p>", "feed")
    router = alone("xnet")
    with pytest.raises(NetworkError, match="advertise first"):
        router.documents.publish("<p/>", "feed")
    router.handle(Advertise("all", ANYTHING), "feed")
    assert router.documents.publish("<p/>", "feed").document.tree == "a"


def test_a_document_is_owed_to_homes_that_want_it_also_where_no_link_leads() -> None:
    router = alone()
    ways = router.documents
    ways.set_home("rome", Change((parse("//p"), parse("/x"))))
    ways.set_home("oslo", Change((parse("//p"),)))
    routed = ways.publish("<p/>", "feed")
    assert routed.homes == ["rome", "oslo"]
    assert (routed.copies, routed.recipients.deliveries) == ([], ())
    ways.set_home("oslo", Change((), (parse("//p"),)))
    assert ways.publish("<p/>", "feed").homes == ["rome"]
    ways.drop_home("rome")
    ways.drop_home("nowhere")
    assert ways.publish("<p/>", "feed").homes == []
    assert router.table_size == 0


def test_what_homes_want_is_not_told_to_neighbours() -> None:
    router = alone()
    [first] = router.handle(LinkUp(LinkKind.BROKER), "b")
    assert first.link == "b"
    router.documents.set_home("rome", Change((parse("//p"),)))
    assert router.handle(LinkDown(), "desk") == []


def test_the_way_to_a_broker() -> None:
    network = Network(CHAIN)
    ways = network.routers["a"].documents
    assert [ways.next_hop(name) for name in "bcd"] == ["b", "b", "b"]
    assert ways.next_hop("a") is None
    assert ways.next_hop("nowhere") is None
    assert ways.can_reach("d")
    middle = network.routers["c"].documents
    assert [middle.next_hop(name) for name in "abd"] == ["b", "b", "d"]
    before = ways.view
    network.cut("b", "c")
    network.settle()
    assert ways.view is not before
    assert not ways.can_reach("d")
    assert ways.next_hop("d") is None
    assert ways.next_hop("b") == "b"
