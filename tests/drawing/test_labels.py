"""Labels of boxes: different where the patterns are, and cut only where there is no room."""

from __future__ import annotations

import re
from itertools import product

from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from twigcast.covering import SubscriptionTree
from twigcast.drawing.labels import WIDEST, columns, distinct_labels, shorten


def shown(*texts: str) -> list[str]:
    """The labels of the boxes in the picture of a tree of these patterns."""
    tree = SubscriptionTree()
    for text in texts:
        tree.add(text, text)
    namespace = "{http://www.w3.org/2000/svg}"
    groups = etree.fromstring(tree.to_svg().encode()).iterfind(f".//{namespace}g")
    return [group.findtext(f"{namespace}text") or "" for group in groups]


def test_patterns_that_differ_in_the_middle_have_labels_that_differ() -> None:
    names = [f"name{number}" for number in range(1, 6)]
    labels = shown(*(f"{'/start' * 9}/{name}{'/finish' * 9}" for name in names))
    assert [re.findall("name.", label) for label in labels] == [[name] for name in names]
    for label in labels:
        assert label.startswith("/start/start")
        assert label.endswith("/finish")
        assert len(label) <= 44


def test_a_label_grows_where_patterns_differ_in_two_places() -> None:
    between = "/m" * 25
    texts = [
        f"{'/start' * 9}/{one}{between}/{other}{'/finish' * 9}"
        for one, other in product("xy", repeat=2)
    ]
    labels = shown(*texts)
    assert len(set(labels)) == 4
    assert all("…" in label and len(label) <= 120 for label in labels)


def test_a_label_is_cut_only_where_it_is_wider_than_its_column() -> None:
    long = "/" + "x" * 54
    chain = [f"//step{'/a' * number}" for number in range(8)]
    alone = shown(long)
    assert len(alone[0]) == 44
    wide = shown(long, *chain, f"//step{'/a' * 7}{'/b' * 30}")
    assert long in wide


@given(
    st.lists(st.text(alphabet="ab漢\n", max_size=40), min_size=1, max_size=8, unique=True),
    st.integers(6, 30),
)
def test_labels_differ_where_texts_do(texts: list[str], longest: int) -> None:
    named = dict(enumerate(texts))
    labels = distinct_labels(named, dict.fromkeys(named, longest))
    assert len(set(labels.values())) == len(texts)
    for node, text in named.items():
        if labels[node] != shorten(text, longest):
            assert columns(labels[node]) <= WIDEST


def test_labels_that_were_told_apart_do_not_look_like_others() -> None:
    # Cut by themselves these are two pairs; what tells the pairs apart is in front of the middle.
    texts = [
        f"/{'s' * 16}{one}{'m' * 40}{other}{'t' * 40}" for one, other in product("xy", repeat=2)
    ]
    assert len({shorten(text, 44) for text in texts}) == 2
    named = dict(enumerate(texts))
    labels = distinct_labels(named, dict.fromkeys(named, 44))
    assert len(set(labels.values())) == 4


def test_equal_texts_have_equal_labels_and_what_has_no_room_is_cut() -> None:
    same = "/a" * 60
    labels = distinct_labels({1: same, 2: same}, {1: 44, 2: 44})
    assert labels[1] == labels[2] == shorten(same, 44)
    far = [f"/{'a' * 30}{letter}{'b' * 300}{letter}{'c' * 30}" for letter in "xy"]
    assert {
        len(label) for label in distinct_labels(dict(enumerate(far)), {0: 44, 1: 44}).values()
    } == {WIDEST}
