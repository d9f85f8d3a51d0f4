"""Pictures of an order: everything is there, nothing overlaps, any text survives."""

from __future__ import annotations

import re
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from twigcast.covering import SubscriptionTree
from twigcast.drawing import Diagram, DiagramNode, to_dot, to_svg
from twigcast.drawing.forest import Forest
from twigcast.drawing.labels import columns, shorten
from twigcast.drawing.outline import lay_out
from twigcast.language import parse

SVG = "{http://www.w3.org/2000/svg}"


def forest(parents: list[int | None], shortcuts: list[tuple[int, int]] | None = None) -> Diagram:
    """Nodes 0, 1, …, each below the one given."""
    return Diagram(
        nodes=[DiagramNode(number, f"//n{number}", "1") for number in range(len(parents))],
        edges=[(above, below) for below, above in enumerate(parents) if above is not None],
        shortcuts=shortcuts or [],
        caption="pattern and number",
    )


def random_forest(count: int, seed: int, roots: float) -> Diagram:
    random = Random(seed)
    parents = [
        None if not number or random.random() < roots else random.randrange(number)
        for number in range(count)
    ]
    shortcuts = [(random.randrange(count), random.randrange(count)) for _ in range(count // 3)]
    return forest(parents, [(one, other) for one, other in shortcuts if one != other])


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    """Left, top, right and bottom of each box."""
    found = []
    for rectangle in etree.fromstring(svg.encode()).iterfind(f".//{SVG}g/{SVG}rect"):
        x, y, width, height = (
            float(rectangle.get(name, "")) for name in ("x", "y", "width", "height")
        )
        found.append((x, y, x + width, y + height))
    return found


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in etree.fromstring(svg.encode()).iter(f"{SVG}text")]


# --- SVG -------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 29, 31, 90, 200, 300])
@pytest.mark.parametrize("roots", [0.0, 0.1, 0.9])
def test_boxes_do_not_overlap_and_are_within_the_picture(count: int, roots: float) -> None:
    svg = to_svg(random_forest(count, 1, roots))
    found = boxes(svg)
    assert len(found) == count
    width, height = map(
        float, etree.fromstring(svg.encode()).get("viewBox", "").removeprefix("0 0 ").split()
    )
    for left, top, right, bottom in found:
        assert 0 <= left < right <= width
        assert 0 <= top < bottom <= height
    for place, (left, top, right, bottom) in enumerate(found):
        for other in found[:place]:
            assert right <= other[0] or other[2] <= left or bottom <= other[1] or other[3] <= top


@pytest.mark.parametrize("roots", [0.0, 0.1, 1.0])
def test_a_large_picture_is_neither_a_ribbon_nor_a_tower(roots: float) -> None:
    layout = lay_out(dict.fromkeys(range(250), 304.0), random_forest(250, 2, roots).edges, 300)
    assert 0.5 < layout.width / layout.height < 3


def test_a_child_is_below_its_parent_and_further_right() -> None:
    layout = lay_out(dict.fromkeys(range(4), 52.0), [(0, 1), (1, 2), (0, 3)], 10)
    rows = [layout.rows[number] for number in range(4)]
    assert [row.middle for row in rows] == sorted(row.middle for row in rows)
    assert rows[0].left < rows[1].left < rows[2].left
    assert rows[3].left == rows[1].left
    assert len(layout.elbows) == 3


def test_a_column_that_goes_on_recalls_the_parents() -> None:
    count = 100
    layout = lay_out(
        dict.fromkeys(range(count), 52.0), [(0, child) for child in range(1, count)], 300
    )
    later = {row.column for row in layout.rows.values()} - {0}
    assert later
    assert [row.id for row in layout.continued] == [0] * len(later)


def test_edges_are_solid_and_shortcuts_dashed() -> None:
    root = etree.fromstring(to_svg(forest([None, 0, 0, None], [(3, 1), (3, 2)])).encode())
    paths = list(root.iterfind(f"{SVG}g/{SVG}path"))
    dashed = [path for path in paths if path.get("stroke-dasharray")]
    solid = [path for path in paths if not path.get("stroke-dasharray")]
    assert len(dashed) == 2
    assert [path.get("d", "").count("M") for path in solid] == [2]


def test_boxes_are_painted_over_the_lines_and_all_over_the_background() -> None:
    root = etree.fromstring(to_svg(forest([None, 0, None], [(2, 1)])).encode())
    assert [element.tag.removeprefix(SVG) for element in root] == ["rect", "g", "text"]
    tags = [element.tag.removeprefix(SVG) for element in root[1]]
    assert tags == ["defs", "path", "path", "g", "g", "g"]
    assert root[0].get("fill") == "#ffffff"


def test_what_is_past_the_limit_is_counted() -> None:
    parents = [None, *[0] * 40, None, *[41] * 20, None]
    svg = to_svg(forest(parents, [(42, 1), (0, 62)]), limit=50)
    assert len(boxes(svg)) == 50
    shown = texts(svg)
    assert "left out: 13 of 63 nodes and 1 of 2 shortcuts" in shown
    assert "+ 12 below" in shown  # of the second tree eight children fit


def test_the_largest_trees_are_drawn() -> None:
    found = Forest(list(range(8)), [(0, 1), (2, 3), (2, 4), (4, 5), (4, 6)]).largest(5)
    assert found == [2, 3, 4, 5, 6]
    assert Forest(list(range(8)), [(0, 1), (2, 3), (2, 4), (4, 5), (4, 6)]).largest(3) == [2, 3, 4]


def test_a_long_label_is_shortened_and_whole_in_the_title() -> None:
    label = "/a" * 60 + "[b='x']"
    svg = to_svg(Diagram([DiagramNode(0, label, "7")], []))
    root = etree.fromstring(svg.encode())
    assert root.findtext(f".//{SVG}title") == f"{label}  7"
    shown = root.findtext(f".//{SVG}text") or ""
    assert len(shown) == 44
    assert "…" in shown
    assert shown.endswith("[b='x']")


def test_nothing_is_drawn_as_such() -> None:
    svg = to_svg(Diagram([], []))
    assert boxes(svg) == []
    assert texts(svg) == ["nothing to draw"]


def test_what_is_no_forest_is_refused() -> None:
    nodes = [DiagramNode(number, "a") for number in range(3)]
    with pytest.raises(ValueError, match="two edges"):
        to_svg(Diagram(nodes, [(0, 2), (1, 2)]))
    with pytest.raises(ValueError, match="circle"):
        to_svg(Diagram(nodes, [(0, 1), (1, 0)]))
    with pytest.raises(ValueError, match="one node at least"):
        to_svg(Diagram(nodes, []), limit=0)


@given(st.lists(st.text(max_size=60), min_size=1, max_size=4))
def test_any_text_makes_a_well_formed_picture(labels: list[str]) -> None:
    nodes = [DiagramNode(number, label, label) for number, label in enumerate(labels)]
    assert len(boxes(to_svg(Diagram(nodes, [])))) == len(labels)


@given(st.text(), st.integers(1, 30))
def test_a_shortened_text_fits_and_keeps_both_ends(text: str, longest: int) -> None:
    short = shorten(text, longest)
    assert columns(short) <= longest
    head, mark, tail = short.partition("…")
    if columns(text) > longest:
        assert mark
    elif not mark:
        assert (head, tail) == (short, "")
    assert "\n" not in short


def test_wide_characters_count_twice() -> None:
    assert columns("a漢") == 3
    assert shorten("漢字漢字", 5) == "漢…字"


# --- Graphviz --------------------------------------------------------------------------------


def test_dot_has_nodes_edges_and_dashed_shortcuts() -> None:
    lines = to_dot(forest([None, 0, None], [(2, 1)])).splitlines()
    assert '  n0 [label="//n0  1"];' in lines
    assert "  n0 -> n1;" in lines
    assert "  n2 -> n1 [style=dashed, constraint=false];" in lines


def test_dot_labels_are_escaped() -> None:
    text = to_dot(Diagram([DiagramNode(0, '//a[.="\\N\n&lt;"]')], []))
    assert '[label="//a[.=\\"\\\\N␊&amp;lt;\\"]"];' in text


@given(st.text())
def test_any_text_is_one_string_of_dot(label: str) -> None:
    line = to_dot(Diagram([DiagramNode(0, label)], [])).splitlines()[3]
    assert re.fullmatch(r'  n0 \[label="(?:[^"\\]|\\["\\])*"\];', line)


# --- the subscription tree -------------------------------------------------------------------


def test_the_subscription_tree_draws_itself() -> None:
    tree = SubscriptionTree()
    for key, text in pairwise(["k", "//a", "//b", "/a[b<5]", "//c"]):
        tree.add(key, parse(text))
    svg = tree._repr_svg_()
    assert svg == tree.to_svg()
    titles = [title.text for title in etree.fromstring(svg.encode()).iter(f"{SVG}title")]
    assert sorted(map(str, titles)) == ["//a  1", "//b  1", "//c  1", "/a[b<5]  1"]
    assert svg.count("stroke-dasharray") == 1
    assert tree.to_dot().count("style=dashed") == 1
    assert "left out: 1 of 4 nodes" in tree.to_svg(limit=3)
