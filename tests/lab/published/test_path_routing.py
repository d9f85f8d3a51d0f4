"""Documents routed path by path: each path is a document that has that path alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from lab.published.path_routing import path_document, path_documents
from twigcast import decompose, parse
from twigcast.routing import ANYTHING, Network, Overlay

XML = "http://www.w3.org/XML/1998/namespace"
NAMES = st.tuples(st.sampled_from(["", "urn:x", "urn:y&<'\"", XML]), st.sampled_from("abc"))


@given(path=st.lists(NAMES, min_size=1, max_size=6))
def test_a_path_as_a_document_has_that_path_alone(path: list[tuple[str, str]]) -> None:
    [publication] = decompose(path_document(path), "d")
    assert publication.path == tuple(path)


def test_repeated_paths_are_left_out_unless_asked_for() -> None:
    text = "<a><b/><b/><c/></a>"
    assert list(path_documents(text)) == [b"<a><b></b></a>", b"<a><c></c></a>"]
    assert len(list(path_documents(text, distinct=False))) == 3


def test_a_network_routes_each_path_where_it_is_wanted() -> None:
    network = Network(Overlay(["b1", "b2"], [("b1", "b2")]))
    network.attach("feed", "b1")
    network.attach("desk", "b2")
    network.advertise("feed", "all", ANYTHING)
    network.subscribe("desk", "linear", "/news/p")
    network.subscribe("desk", "tree", "/news[p]/q")
    network.settle()
    document = "<news><p/><q/></news>"
    for each in path_documents(document):
        network.publish("feed", each)
    network.settle()
    (delivery,) = network.client("desk").deliveries
    assert delivery.subscriptions == ("linear",)
    assert parse("/news[p]/q").matches(document)
