"""Pictures of overlays: everything is there, nothing overlaps, any name survives."""

from __future__ import annotations

import re
import time
from itertools import combinations, pairwise
from math import hypot

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree

from twigcast.drawing import draw_overlay
from twigcast.drawing.curves import Curve, clear_curve
from twigcast.drawing.overlay_layout import Layout, Spacing, lay_out
from twigcast.errors import OverlayError
from twigcast.routing import Link, Overlay
from twigcast.simulation import (
    balanced_tree,
    chain,
    draft_tree,
    parse_topology,
    random_connected,
    star,
)

SVG = "{http://www.w3.org/2000/svg}"
SPACING = Spacing(side=30, level=60, room=20)
SHAPES = (
    "chain:count=1",
    "chain:count=2",
    "chain:count=8",
    "chain:count=100",
    "star:count=4",
    "star:count=12",
    "star:count=61",
    "star:count=300",
    "draft",
    "tree:levels=3,fanout=2",
    "tree:levels=5,fanout=2",
    "tree:levels=7,fanout=2",
    "tree:levels=3,fanout=7",
    "random:count=20,extra=8",
    "random:count=40,extra=0,seed=2",
    "random:count=60,extra=40,seed=3",
    "random:count=250,extra=20,seed=4",
    "random:count=1000,extra=300,seed=5",
)


def parsed(svg: str) -> etree._Element:
    return etree.fromstring(svg.encode())


def shapes(root: etree._Element, tag: str) -> list[etree._Element]:
    """The groups of the drawing itself that hold such a shape, not those of the legend."""
    return [
        group for group in root.iterfind(f"{SVG}g/{SVG}g") if group.find(f"{SVG}{tag}") is not None
    ]


def titles(groups: list[etree._Element]) -> list[str]:
    return [group.findtext(f"{SVG}title") or "" for group in groups]


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in parsed(svg).iter(f"{SVG}text")]


def strokes(svg: str) -> dict[str, list[tuple[str, float]]]:
    """Colour and width of the visible paths of each link, by the link's name."""
    return {
        title.partition(":")[0]: [
            (path.get("stroke", ""), float(path.get("stroke-width", "")))
            for path in group.iter(f"{SVG}path")
            if path.get("stroke-opacity") != "0"
        ]
        for group in shapes(parsed(svg), "path")
        for title in titles([group])
    }


# --- where brokers are -----------------------------------------------------------------------


@pytest.mark.parametrize("text", SHAPES)
def test_brokers_stand_apart_and_within_the_picture(text: str) -> None:
    overlay = parse_topology(text)
    placed = lay_out(overlay, SPACING, {})
    assert set(placed.points) == set(overlay)
    points = sorted(placed.points.values())
    for x, y in points:
        assert SPACING.room - 0.01 <= x <= placed.frame[0] - SPACING.room + 0.01
        assert SPACING.room - 0.01 <= y <= placed.frame[1] - SPACING.room + 0.01
    # On a small circle a chord is a little shorter than its arc.
    for number, (x, y) in enumerate(points):
        for across, down in points[number + 1 :]:
            if across - x >= SPACING.side:
                break
            assert hypot(across - x, down - y) >= 0.85 * SPACING.side


@pytest.mark.parametrize("text", SHAPES)
def test_the_tree_reaches_every_broker(text: str) -> None:
    overlay = parse_topology(text)
    placed = lay_out(overlay, SPACING, {})
    assert len(placed.tree) == len(overlay) - 1
    assert placed.tree <= set(overlay.links)


@pytest.mark.parametrize("text", [text for text in SHAPES if "chain" not in text])
def test_a_picture_is_neither_a_ribbon_nor_a_tower(text: str) -> None:
    placed = lay_out(parse_topology(text), SPACING, {})
    assert 0.3 < placed.frame[0] / placed.frame[1] < 3.2


def below(placed: Layout, upper: str, lower: str) -> bool:
    return placed.points[lower][1] > placed.points[upper][1]


def test_a_small_tree_is_in_layers_below_its_centre() -> None:
    placed = lay_out(draft_tree(), SPACING, {})
    rows = {broker: y for broker, (_, y) in placed.points.items()}
    assert rows["b1"] < rows["b2"] == rows["b3"] < rows["b4"] == rows["b7"] < rows["b8"]
    across = {broker: x for broker, (x, _) in placed.points.items()}
    assert across["b4"] < across["b5"] < across["b6"] < across["b7"]
    assert across["b3"] == pytest.approx((across["b6"] + across["b7"]) / 2)


def test_a_tree_is_drawn_from_its_centre_whichever_broker_is_named_first() -> None:
    names = ["leaf", "other", "hub", "third", "far", "further"]
    links = [("leaf", "hub"), ("other", "hub"), ("third", "hub"), ("hub", "far")]
    placed = lay_out(Overlay(names, [*links, ("far", "further")]), SPACING, {})
    assert all(below(placed, "hub", name) for name in names if name != "hub")


def test_a_large_tree_is_on_circles_around_its_centre() -> None:
    placed = lay_out(balanced_tree(7, 2), SPACING, {})
    x, y = placed.points["b001"]
    radii = {round(hypot(across - x, down - y), 3) for across, down in placed.points.values()}
    assert len(radii) == 7


def test_a_chain_is_a_line_and_a_long_one_goes_on_below() -> None:
    points = lay_out(chain(8), SPACING, {}).points
    assert len({y for _, y in points.values()}) == 1
    assert [x for x, _ in points.values()] == sorted(x for x, _ in points.values())
    long = lay_out(chain(100), SPACING, {}).points
    names = sorted(long)
    for one, other in pairwise(names):
        (x1, y1), (x2, y2) = long[one], long[other]
        assert (x1 == x2) != (y1 == y2)  # a step to the side, or down at the end of a row
    assert 3 < len({y for _, y in long.values()}) < 30


def test_a_ring_is_round() -> None:
    names = [f"n{number}" for number in range(7)]
    pairs = [(names[number - 1], names[number]) for number in range(7)]
    points = lay_out(Overlay(names, pairs), SPACING, {}).points
    lengths = [
        hypot(points[one][0] - points[other][0], points[one][1] - points[other][1])
        for one, other in pairs
    ]
    assert max(lengths) - min(lengths) < 0.01


def test_parts_without_links_between_them_do_not_overlap() -> None:
    names = [f"n{number:02}" for number in range(40)]
    pairs = [(names[number // 2], names[number]) for number in range(2, 16)]
    pairs += [(names[30], names[number]) for number in range(31, 40)]
    placed = lay_out(Overlay(names, pairs), SPACING, {})
    for one, other in combinations(placed.points.values(), 2):
        assert hypot(one[0] - other[0], one[1] - other[1]) >= 0.85 * SPACING.side
    assert placed.frame[0] / placed.frame[1] < 4


# --- curves ----------------------------------------------------------------------------------


def test_units_are_frames_around_their_brokers_and_units() -> None:
    overlay = parse_topology("hierarchy:2x3x4,gateways=2")
    layout = lay_out(overlay, SPACING, {})
    assert set(layout.units) == {
        *("s1", "s2"),
        *(f"s{one}/c{other}" for one in (1, 2) for other in (1, 2, 3)),
    }
    for unit, ((left, top), (right, bottom)) in layout.units.items():
        for name, (x, y) in layout.points.items():
            is_inside = left < x < right and top < y < bottom
            assert is_inside == name.startswith(f"{unit}/")
        for other, ((x, y), (last_x, last_y)) in layout.units.items():
            if other.startswith(f"{unit}/"):
                assert left < x < last_x < right
                assert top < y < last_y < bottom
    text = draw_overlay(overlay)
    assert text.count("<title>s1/c1</title>") == 1
    assert ">gateway<" in text
    assert "<title>s1/c1/b1, gateway of s1: " in text
    assert "style=" not in text  # with which some viewers show nothing
    assert ">b1<" in text
    assert ">s1/c1/b1<" not in text


def test_a_curve_bends_around_what_is_in_the_way() -> None:
    in_the_way = [(50.0, 50.0), (50.0, 60.0)]
    curve = clear_curve((0, 50), (100, 50), in_the_way, 12, (100, 100))
    assert curve.clearance(in_the_way, (100, 100)) >= 12
    assert curve.at(0.5)[1] < 50  # there is less room on the other side


def test_a_curve_stays_within_the_picture() -> None:
    curve = clear_curve((0, 5), (100, 5), [], 10, (100, 100))
    assert curve.at(0.5)[1] == pytest.approx(15)
    assert clear_curve((0, 5), (100, 5), [], 10, (100, 10)) == Curve.between((0, 5), (100, 5))


def test_a_piece_of_a_curve_lies_on_it() -> None:
    curve = Curve.between((0, 0), (100, 40), 0.3)
    piece = curve.piece(0.25, 0.75)
    assert piece.at(0.5) == pytest.approx(curve.at(0.5))
    assert (piece.start, piece.end) == (curve.at(0.25), curve.at(0.75))
    assert str(Curve.between((0, 0), (1, 1))) == "M0.0,0.0 L1.0,1.0"
    assert " Q" in str(curve)


# --- what is drawn ---------------------------------------------------------------------------


@pytest.mark.parametrize("text", SHAPES)
def test_every_broker_and_link_is_drawn_and_says_what_it_is(text: str) -> None:
    overlay = parse_topology(text)
    traffic = {link: 1000 * number for number, link in enumerate(overlay.links)}
    svg = draw_overlay(overlay, traffic, clients=dict.fromkeys(overlay.leaves, 2), title=text)
    root = parsed(svg)
    brokers, links = shapes(root, "rect"), shapes(root, "path")
    assert sorted(title.partition(":")[0] for title in titles(brokers)) == sorted(overlay)
    assert sorted(titles(links)) == sorted(
        f"{link.first} – {link.second}: {count:,} messages" for link, count in traffic.items()
    )
    assert texts(svg)[0] == text
    width, height = map(float, root.get("viewBox", "").removeprefix("0 0 ").split())
    assert (float(root.get("width", "")), float(root.get("height", ""))) == (width, height)
    for each in root.iter(f"{SVG}text"):
        assert 0 <= float(each.get("x", "")) <= width
        if each.getparent() is root:
            assert float(each.get("x", "")) + float(each.get("textLength", "")) <= width


def test_thickness_grows_with_traffic_and_links_without_are_grey() -> None:
    overlay = star(8)
    counts = [0, 1, 1000, 10_000, 100_000, 1_000_000, 3_000_000]
    svg = draw_overlay(overlay, dict(zip(overlay.links, counts, strict=True)))
    drawn = strokes(svg)
    styles = [drawn[f"{link.first} – {link.second}"] for link in overlay.links]
    assert [len(style) for style in styles] == [1] * 7
    widths = [style[0][1] for style in styles]
    assert widths[0] < widths[1] == widths[2] < widths[4] < widths[5] < widths[6] <= 15
    assert widths[1] >= 1.5
    colours = [style[0][0] for style in styles]
    assert colours[0] != colours[1]
    assert len(set(colours[1:])) == 1
    assert {"3,000,000 messages", "200,000 messages", "20,000 messages", "no messages"} < set(
        texts(svg)
    )


def test_the_wasted_part_has_its_share_of_the_length() -> None:
    overlay = chain(3)
    whole, half = Link("b1", "b2"), Link("b2", "b3")
    svg = draw_overlay(overlay, {whole: 100, half: 100}, wasted={half: 50})
    drawn = strokes(svg)
    assert len(drawn["b1 – b2"]) == 1
    first, second, third = drawn["b2 – b3"]
    assert first == third != second
    assert first[1] == second[1]
    assert "b2 – b3: 100 messages, 50 of them (50.0%) wanted by nobody beyond" in svg
    paths = re.findall(r'd="M([\d.]+),[\d.]+ L([\d.]+),[\d.]+"[^>]*stroke="#f08c00"', svg)
    start, end = map(float, paths[0])
    boxes = [box for group in shapes(parsed(svg), "rect") for box in group.iter(f"{SVG}rect")]
    left, width = float(boxes[1].get("x", "")), float(boxes[1].get("width", ""))
    assert end - start == pytest.approx((float(boxes[2].get("x", "")) - left - width) / 2, abs=0.2)
    assert "3 brokers, 2 links, 200 messages, 50 wasted (25.0%)" in texts(svg)


def test_links_without_traffic_and_no_others_are_dashed() -> None:
    overlay = random_connected(20, 8, 1)
    untouched = draw_overlay(overlay, {})
    assert "stroke-dasharray" not in untouched
    assert "no messages" not in texts(untouched)
    idle = list(overlay.links)[::3]
    traffic = {link: 7 for link in overlay.links if link not in idle}
    svg = draw_overlay(overlay, traffic)
    dashed = [
        group
        for group in shapes(parsed(svg), "path")
        if any(path.get("stroke-dasharray") for path in group.iter(f"{SVG}path"))
    ]
    assert sorted(titles(dashed)) == sorted(
        f"{link.first} – {link.second}: 0 messages" for link in idle
    )
    assert "no messages" in texts(svg)
    assert "stroke-dasharray" not in draw_overlay(overlay, dict.fromkeys(overlay.links, 1))


def test_the_tree_follows_the_traffic() -> None:
    links = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    overlay = Overlay("abcd", links)
    for idle in links:
        carrying = {link: 1 for link in links if link != idle}
        assert lay_out(overlay, SPACING, carrying).tree == set(carrying)
    for least, most in (links[2:], links[:1:-1]):
        traffic = dict.fromkeys(links, 5) | {least: 4, most: 6}
        assert lay_out(overlay, SPACING, traffic).tree == {*links[:2], most}


@pytest.mark.parametrize("count", [60, 300, 1000])
def test_links_that_meet_at_a_broker_do_not_fill_the_picture(count: int) -> None:
    overlay = star(count)
    svg = draw_overlay(overlay, dict.fromkeys(overlay.links, 5))
    width, height = map(float, parsed(svg).get("viewBox", "").removeprefix("0 0 ").split())
    assert max(width, height) < 2000
    scale = float(re.findall(r"scale\(([\d.]+)\)", svg)[0])
    thickness = scale * sum(thick for style in strokes(svg).values() for _, thick in style)
    painted = thickness * width / 2
    assert 0.01 < painted / (width * height) < 0.25


def test_a_large_picture_with_long_names_is_made_smaller() -> None:
    names = [f"the broker of town {number:02}" for number in range(60)]
    for links in ([(names[0], name) for name in names[1:]], list(pairwise(names))):
        svg = draw_overlay(Overlay(names, links), {})
        root = parsed(svg)
        assert max(float(root.get("width", "")), float(root.get("height", ""))) < 2000
        assert any("…" in text for text in texts(svg))
    tree = lay_out(balanced_tree(5, 2), Spacing(side=130, level=84, room=70), {})
    assert max(tree.frame[0], tree.frame[1]) < 2000


def test_brokers_are_painted_over_the_links_and_all_over_the_background() -> None:
    root = parsed(draw_overlay(draft_tree(), {}, title="t"))
    assert [child.tag.removeprefix(SVG) for child in root][:3] == ["rect", "text", "g"]
    kinds = [group[-1].tag.removeprefix(SVG) for group in root[2]]
    assert kinds == ["path"] * 7 + ["text"] * 8


def test_the_number_of_clients_is_beside_the_broker_or_colours_it() -> None:
    few = draw_overlay(star(12), {}, clients={"b01": 3, "b02": 1234, "b03": 56_789, "b04": 0})
    assert {"3", "1.2k", "56k"} < set(texts(few))
    assert "b02: 1 link, 1,234 clients" in few
    assert "b04: 1 link, 0 clients" in few
    assert "clients at a broker" in texts(few)
    many = draw_overlay(star(300), {}, clients={"b001": 3, "b002": 1})
    fills = [box.get("fill") for box in parsed(many).iterfind(f".//{SVG}g/{SVG}g/{SVG}rect")]
    assert len(fills) == 300
    assert len(set(fills[:2])) == 1
    assert fills[1] not in fills[2:]
    assert "broker with clients" in texts(many)


def test_labels_are_left_out_where_they_could_not_be_read() -> None:
    assert {"b01", "b60"} < set(texts(draw_overlay(star(60), {})))
    large = texts(draw_overlay(star(300), {}))
    assert "b001" not in large
    assert "a name shows when the pointer rests on its broker" in large


def test_long_names_are_shortened() -> None:
    name = "a-broker-with-quite-a-long-name"
    svg = draw_overlay(Overlay([name, "b"], [(name, "b")]), {})
    assert f"{name}: 1 link, 0 clients" in svg
    assert name not in texts(svg)
    short = next(text for text in texts(svg) if "…" in text)
    assert len(short) == 18


@pytest.mark.parametrize("text", ["star:count=12", "draft", "random:count=40,extra=20"])
def test_names_fit_into_their_brokers_and_brokers_do_not_overlap(text: str) -> None:
    plain = parse_topology(text)
    names = {broker: f"{broker} town"[: 2 + number] for number, broker in enumerate(plain, 3)}
    links = [(names[one], names[other]) for one, other in plain.links]
    root = parsed(draw_overlay(Overlay(names.values(), links), {}))
    boxes = []
    for group in shapes(root, "rect"):
        box, label = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert box is not None
        assert label is not None
        left, top, width, height = (
            float(box.get(name, "")) for name in ("x", "y", "width", "height")
        )
        start, length = float(label.get("x", "")), float(label.get("textLength", ""))
        assert left < start < start + length < left + width
        assert top < float(label.get("y", "")) < top + height
        boxes.append((left, top, left + width, top + height))
    for one, other in combinations(boxes, 2):
        apart = one[2] <= other[0] or other[2] <= one[0]
        assert apart or one[3] <= other[1] or other[3] <= one[1]


def test_an_overlay_without_brokers_is_a_picture_too() -> None:
    assert "0 brokers, 0 links, 0 messages" in texts(draw_overlay(Overlay([], []), {}))


@given(
    st.lists(st.text(min_size=1, max_size=30), min_size=1, max_size=5, unique=True),
    st.text(max_size=30),
)
def test_any_text_makes_a_well_formed_picture(names: list[str], title: str) -> None:
    links = [(names[0], other) for other in names[1:]]
    overlay = Overlay(names, links)
    svg = draw_overlay(
        overlay, dict.fromkeys(overlay.links, 3), clients=dict.fromkeys(names, 1), title=title
    )
    units = {
        name[:end]
        for name in names
        if all(name.split("/"))
        for end, letter in enumerate(name)
        if letter == "/"
    }
    assert len(shapes(parsed(svg), "rect")) == len(names) + len(units)


def test_the_same_overlay_gives_the_same_picture() -> None:
    first, second = (draw_overlay(random_connected(80, 20, 1), {}) for _ in range(2))
    assert first == second


def test_a_thousand_brokers_are_drawn_in_a_second() -> None:
    overlay = random_connected(1000, 300, 1)
    traffic = dict.fromkeys(overlay.links, 5)

    def spent() -> float:
        start = time.process_time()
        draw_overlay(overlay, traffic, wasted=traffic)
        return time.process_time() - start

    assert min(spent() for _ in range(3)) < 1


@pytest.mark.parametrize(
    ("traffic", "clients", "wasted", "wrong"),
    [
        ({Link("b1", "b3"): 1}, {}, {}, "b1-b3 is none"),
        ({}, {}, {Link("b1", "b3"): 1}, "b1-b3 is none"),
        ({}, {}, {Link("b1", "b2"): 1}, "b1-b2: 1 messages of 0 cannot be wasted"),
        ({Link("b1", "b2"): 5}, {}, {Link("b1", "b2"): 6}, "6 messages of 5 cannot"),
        ({Link("b1", "b2"): -1}, {}, {}, "b1-b2: there cannot be -1 messages"),
        ({}, {"b9": 2}, {}, "no broker 'b9' for 2 clients"),
        ({}, {"b1": -2}, {}, "'b1' cannot have -2 clients"),
    ],
)
def test_counts_that_cannot_be_are_refused(
    traffic: dict[Link, int], clients: dict[str, int], wasted: dict[Link, int], wrong: str
) -> None:
    with pytest.raises(OverlayError, match=wrong):
        draw_overlay(chain(3), traffic, clients=clients, wasted=wasted)
