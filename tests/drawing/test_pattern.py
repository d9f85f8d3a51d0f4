"""Pictures of patterns: every step is there, edges show the axis, and ``or`` and ``not`` show."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise

import pytest
from hypothesis import given
from lxml import etree
from strategies import NAMESPACES, expressions

import twigcast
from twigcast.drawing import draw_pattern

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [each.text or "" for each in etree.fromstring(svg.encode()).iter(f"{SVG}text")]


def edges(svg: str) -> list[str]:
    """The paths of the tree itself, those of the legend left out."""
    return [
        each.get("stroke-width", "")
        for each in etree.fromstring(svg.encode()).iterfind(f"{SVG}g/{SVG}path")
        if (group := each.getparent()) is not None and group.find(f"{SVG}title") is None
    ]


def test_steps_are_boxes_and_values_stand_beside() -> None:
    svg = draw_pattern(twigcast.parse("//Stock[Symbol='GHI'][Price>15]"))
    shown = texts(svg)
    assert {"Stock", "Symbol", "Price", '="GHI"', ">15", "child", "descendant"} == set(shown)
    # A descendant is drawn with two strokes, the white one above the dark one.
    assert edges(svg) == ["5", "2.4", "1.3", "1.3"]


def test_the_legend_has_only_edges_that_are_there() -> None:
    assert "descendant" not in texts(draw_pattern(twigcast.parse("/a/b")))
    assert "child" not in texts(draw_pattern(twigcast.parse("//a//b")))


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("//a[b or c]", {"or"}),
        ("//a[not(b)]", {"not"}),
        ("//a[b and c or d]", {"or", "and"}),
        ("//a | //b", {"or"}),
        ("//or[not]", set()),
        ("//a[b][c]", set()),
    ],
)
def test_or_and_not_are_nodes_that_look_different_from_steps(
    expression: str, words: set[str]
) -> None:
    svg = draw_pattern(twigcast.parse(expression))
    round_boxes = {
        group.findtext(f"{SVG}text")
        for group in etree.fromstring(svg.encode()).iterfind(f"{SVG}g/{SVG}g")
        if (box := group.find(f"{SVG}rect")) is not None and box.get("rx") == "11"
    }
    assert round_boxes == words


def test_conditions_of_every_kind_are_shown() -> None:
    pattern = twigcast.parse("//p[2][contains(b, 'x')][.>5 or @id][not(text()='a<b')]")
    shown = texts(draw_pattern(pattern))
    assert {"p[2]", 'contains(b,"x")', ".>5", "@id", "text()", '="a<b"'} <= set(shown)


def test_a_pattern_that_matches_nothing_says_so() -> None:
    assert texts(draw_pattern(twigcast.parse("/*[not(.)]"))) == ["matches nothing"]


@given(expressions())
def test_every_step_is_drawn_within_the_picture_and_no_box_overlaps(
    expression: str,
) -> None:
    pattern = twigcast.parse(expression, NAMESPACES)
    root = etree.fromstring(draw_pattern(pattern).encode())
    width, height = map(float, root.get("viewBox", "").removeprefix("0 0 ").split())
    boxes = []
    for box in root.iterfind(f"{SVG}g/{SVG}g/{SVG}rect"):
        left, top = float(box.get("x", "")), float(box.get("y", ""))
        boxes.append((left, top, left + float(box.get("width", ""))))
        assert 0 <= left < boxes[-1][2] <= width
        assert 0 <= top < height
    assert len(boxes) >= len(pattern.alternatives)
    boxes.sort(key=lambda box: (box[1], box[0]))
    for (_, top, right), (left, other, _) in pairwise(boxes):
        assert top != other or right < left


def test_a_notebook_asks_the_pattern_and_only_then_is_drawing_loaded() -> None:
    pattern = twigcast.parse("//a")
    assert pattern._repr_svg_() == draw_pattern(pattern)
    script = (
        "import sys, twigcast; twigcast.parse('//a'); print('twigcast.drawing' in sys.modules); "
        "twigcast.parse('//a')._repr_svg_(); print('lxml' in sys.modules, 'rich' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "False", "False"]
