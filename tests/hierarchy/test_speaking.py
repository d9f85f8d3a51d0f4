"""Who may speak for whom on a link: what is never said, and that everything else may be."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import settings

from lab.histories.drawn import draw_history
from lab.histories.running import run_history
from twigcast.hierarchy import Network, Speaker, unit_at, units_of
from twigcast.routing import (
    ANYTHING,
    AdvertisementKey,
    Document,
    DocumentId,
    Link,
    LinkState,
    LinkUp,
    Overlay,
    Router,
    Send,
    Serve,
    Towards,
    Update,
)

HISTORIES = settings().max_examples


def speaker(
    name: str = "north/bergen/b1",
    gateway: str | None = "north",
    shared: tuple[str, ...] = ("north", ""),
    towards: Towards = Towards.ADVERTISEMENTS,
) -> Speaker:
    """A neighbour of a broker that takes part in ``north`` and in the whole network."""
    return Speaker(name, units_of(name, gateway), shared, towards)


def state(broker: str, *leaves: str, links: tuple[str, ...] = ()) -> LinkState:
    return LinkState(broker, 1, 1, tuple((each, 1.0) for each in links), leaves)


# --- what may be said -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "depth"),
    [
        (state("north/bergen/b1", "north/bergen/@b1", "^north/bergen/b1"), 1),
        (state("north/bergen/b1", "north/@bergen/b1", links=("south/a",)), 0),
        (state("north/bergen/b1", "north/@alta/b1"), 0),  # after its part's first gateway
        (state("north/oslo/b2", "north/oslo/@b1", links=("north/c",)), 1),
        (state("north/c", "^north/c", links=("north/oslo/b2",)), 1),
        (state("south/x/y/a", "south/@x/y/a"), 0),
        (state("a", links=("south/x/y/a",)), 0),
        (state("north/c")._replace(book=(("north/c", 0), ("north/oslo", 1)), address=(5,)), 1),
    ],
)
def test_link_states_that_brokers_may_have(said: LinkState, depth: int) -> None:
    assert speaker().objection(Update((said,), depth=depth)) == ""


@pytest.mark.parametrize(
    ("said", "depth", "reason"),
    [
        (state("north/bergen/b2"), 2, "speaks of a unit of depth 2, and the link is one of the"),
        (state("south/a"), 1, "says that 'south/a' is in the unit 'north'"),
        (state("north"), 1, "'north' is in the unit 'north'"),
        (state("north/c", links=("south/a",)), 1, "'south/a' is in the unit 'north'"),
        (state("^north/c"), 1, "'^north/c' is in the unit"),
        (state("north/@oslo/b1"), 0, "'north/@oslo/b1' is in the whole network"),
        (state("north/c", links=("north/oslo/@b1",)), 1, "'north/oslo/@b1' is in the unit"),
        (state("north/c")._replace(book=(("south", 0),)), 1, "'south' is in the unit 'north'"),
        (state("north/c")._replace(address=(1, 2)), 1, "(1, 2) is the address of the unit 'north'"),
        # The leaves of others.
        (state("north/c", "^north/oslo/b1"), 1, "'north/c' stands for '^north/oslo/b1'"),
        (state("north/c", "north/oslo/@b1"), 1, "'north/c' stands for 'north/oslo/@b1'"),
        (state("north/oslo/b1", "north/alta/@b1"), 1, "stands for 'north/alta/@b1'"),
        (state("south/a", "north/@oslo/b1"), 0, "'south/a' stands for 'north/@oslo/b1'"),
        # What no broker stands for.
        (state("a", "a/@b"), 0, "'a' stands for 'a/@b'"),
        (state("south/a", "^south/a"), 0, "'south/a' stands for '^south/a'"),
        (state("north/oslo/b1", "north/@oslo/b1"), 1, "stands for 'north/@oslo/b1'"),
        (state("north/oslo/b1", "north/oslo/b1"), 1, "stands for 'north/oslo/b1'"),
        (state("north/oslo/b1", "north/oslo/@b1", "north/oslo/@b2"), 1, "'north/oslo/@b2'"),
    ],
)
def test_link_states_that_nobody_has(said: LinkState, depth: int, reason: str) -> None:
    assert reason in speaker().objection(Update((said,), depth=depth))


def test_a_neighbour_stands_for_what_its_link_says() -> None:
    innermost = speaker("north/c", None, ("north",))
    outer = state("north/c", "^north/c")
    assert "stands for" in innermost.objection(Update((outer,), depth=1))
    assert speaker("north/c", "north").objection(Update((outer,), depth=1)) == ""
    assert innermost.objection(Update((state("north/d", "^north/d"),), depth=1)) == ""


@pytest.mark.parametrize(
    ("origin", "depth", "may"),
    [
        ("north/c", 1, True),
        ("north/oslo/@b1", 1, True),
        ("^north/oslo/b1", 1, True),
        ("a", 0, True),
        ("north/@oslo/b1", 0, True),
        ("north/oslo/b1", 1, False),  # its clients are in its own unit
        ("north/oslo/x/@b1", 1, False),
        ("south/c", 1, False),
        ("south/@c", 1, False),
        ("^south/c", 1, False),
        ("^a", 0, False),
        ("", 1, False),
        ("", 0, False),
        ("north/", 1, False),
        ("^", 1, False),
    ],
)
def test_what_begins_in_an_overlay(origin: str, depth: int, may: bool) -> None:
    key = AdvertisementKey(origin, "", "1")
    for update in (
        Update(advertise=((key, ANYTHING),), depth=depth),
        Update(unadvertise=(key,), depth=depth),
        Update(serve=(Serve(1, frozenset({origin})),), depth=depth),
    ):
        assert (speaker().objection(update) == "") == may


def test_where_all_documents_take_one_tree_there_is_no_other() -> None:
    flooding = speaker(towards=Towards.EVERYONE)
    for trees, depth, may in (
        ({"", "^"}, 1, True),
        ({""}, 0, True),
        ({"^"}, 0, False),
        ({"north/c"}, 1, False),
    ):
        update = Update(serve=(Serve(1, frozenset(trees)),), depth=depth)
        assert (flooding.objection(update) == "") == may


@pytest.mark.parametrize(
    ("origin", "tree", "depth", "reason"),
    [
        ("north/c", "north/c", 1, ""),
        ("north/oslo/b7", "north/oslo/@b1", 1, ""),
        ("north/oslo/x/b7", "north/oslo/@b1", 1, ""),
        ("south/a", "^north/oslo/b1", 1, ""),
        ("north/c", "^north/oslo/b1", 1, ""),  # the unit may have parted
        ("north/c", "north/d", 1, "which others take"),
        ("north/alta/b7", "north/oslo/@b1", 1, "which others take"),
        ("south/a", "north/oslo/@b1", 1, "which others take"),
        ("north/c", "south/@a", 0, "which others take"),
        ("north/c", "south/d", 1, "which is no tree"),
        ("a", "^a", 0, "which is no tree"),
        ("north/oslo/b7", "north/oslo/b7", 2, "speaks of a unit of depth 2"),
    ],
)
def test_documents_along_trees_of_their_own(
    origin: str, tree: str, depth: int, reason: str
) -> None:
    objection = speaker().objection_to_document(DocumentId(origin, 1, 1), tree, depth)
    assert reason in objection
    assert bool(reason) == bool(objection)


@pytest.mark.parametrize(
    ("origin", "tree", "depth", "may"),
    [
        ("north/oslo/b7", "", 1, True),
        ("south/a", "^", 1, True),
        ("south/a", "", 0, True),
        ("south/a", "", 1, False),
        ("south/a", "^", 0, False),
        ("north/c", "north/c", 1, False),
    ],
)
def test_documents_along_the_shared_tree(origin: str, tree: str, depth: int, may: bool) -> None:
    flooding = speaker(towards=Towards.EVERYONE)
    objection = flooding.objection_to_document(DocumentId(origin, 1, 1), tree, depth)
    assert (objection == "") == may


@pytest.mark.parametrize(
    ("home", "depth", "may"),
    [
        ("north/c", 1, True),
        ("a", 0, True),
        ("north/oslo/@b1", 1, True),
        ("^north/@oslo/b1", 1, True),
        ("north/@oslo/b1", 0, True),
        ("north/oslo/b1", 1, False),
        ("^north/oslo/b1", 1, False),
        ("north/@oslo/b1", 1, False),
        ("^north/oslo/@b1", 1, False),
        ("^south/@c", 1, False),
        ("south/c", 1, False),
        ("^a/@b", 0, False),
        ("a", 2, False),
    ],
)
def test_homes_of_an_overlay(home: str, depth: int, may: bool) -> None:
    assert (speaker().objection_to_homes(["north/c"] * (depth == 1) + [home], depth) == "") == may


@pytest.mark.parametrize(
    ("broker", "depth", "may"),
    [
        ("north/c", 1, True),
        ("north/oslo/b1", 1, True),
        ("south/c", 0, True),
        ("south/c", 1, False),
        ("^north/c", 1, False),
        ("north/oslo/@b1", 1, False),
        ("north/c", 2, False),
    ],
)
def test_brokers_of_an_overlay(broker: str, depth: int, may: bool) -> None:
    assert (speaker().objection_to_brokers([broker], depth) == "") == may


# --- what is said ---------------------------------------------------------------------------------


@pytest.fixture
def objections(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What a link would object to, of all that brokers of a simulation say to each other."""
    heard: list[str] = []
    overlays: dict[str, Overlay] = {}
    link_up, begin = Network._link_up, Router.begin

    def note_overlay(self: Network, link: Link) -> LinkUp:
        overlays[""] = self.overlay
        return link_up(self, link)

    def listen(self: Router, message: Any, from_link: str) -> list[Send]:
        neighbour = self.neighbours.get(from_link)
        if neighbour is not None and neighbour.is_broker:
            unit = unit_at(self.name, self.depth)
            units = units_of(from_link, overlays[""].gateways.get(from_link))
            said = Speaker(from_link, units, (unit,), self.strategy.towards)
            if isinstance(message, Update):
                heard.append(said.objection(message))
            elif isinstance(message, Document):
                heard.append(said.objection_to_document(message.id, message.tree, message.depth))
        return begin(self, message, from_link)

    monkeypatch.setattr(Network, "_link_up", note_overlay)
    monkeypatch.setattr(Router, "begin", listen)
    yield heard
    assert len(heard) > HISTORIES, "something was said"


def test_nobody_objects_to_what_brokers_say(objections: list[str]) -> None:
    for number in range(HISTORIES):
        run = run_history(draw_history(5, number, in_units=True), number)
        assert run.wrong is None
        assert not any(objections), f"history {number}: {[each for each in objections if each]}"
