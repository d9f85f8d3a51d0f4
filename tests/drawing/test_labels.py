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
    titled = [group for group in groups if group.find(f"{namespace}title") is not None]
    return [group.findtext(f"{namespace}text") or "" for group in titled]


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


@given(
    st.lists(st.text(alphabet="ab漢\n", max_size=40), min_size=1, max_size=8, unique=True),
    st.integers(6, 30),
)
def test_labels_differ_where_texts_do(texts: list[str], longest: int) -> None:
    labels = distinct_labels(texts, longest)
    assert len(set(labels.values())) == len(texts)
    for text, label in labels.items():
        if label != shorten(text, longest):
            assert columns(label) <= WIDEST


def test_distinct_labels_do_not_look_like_others() -> None:
    # Cut by themselves these are two pairs; the pairs differ in front of the middle.
    texts = [
        f"/{'s' * 16}{one}{'m' * 40}{other}{'t' * 40}" for one, other in product("xy", repeat=2)
    ]
    assert len({shorten(text, 44) for text in texts}) == 2
    assert len(set(distinct_labels(texts, 44).values())) == 4


def test_texts_that_differ_far_from_both_ends_have_short_labels_too() -> None:
    same = "/a" * 60
    assert distinct_labels([same, same], 44) == {same: shorten(same, 44)}
    far = [f"/{'a' * 30}{letter}{'b' * 300}{letter}{'c' * 30}" for letter in "xy"]
    labels = distinct_labels(far, 44)
    assert ["x" in labels[far[0]], "y" in labels[far[1]]] == [True, True]
    assert {len(label) for label in labels.values()} <= set(range(40, 49))


def test_a_label_is_never_wider_than_the_widest() -> None:
    # Each differs from the next one somewhere else.
    text = "/step" * 200
    texts = [f"{text[:place]}{place}{text[place:]}" for place in range(40, 960, 40)]
    assert max(map(columns, distinct_labels(texts, 44).values())) <= WIDEST
