"""Which names may stand where in what neighbours say of documents and homes."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings

from twigcast.broker.objections import objection_to
from twigcast.delivery import (
    Addressed,
    Debt,
    Destination,
    HomeAsk,
    HomeKnown,
    HomeState,
    HomeVersions,
    LinkMessage,
    Parcel,
    Receipt,
    Routed,
    Version,
)
from twigcast.hierarchy import Speaker, shared_units, units_of
from twigcast.routing import (
    ANYTHING,
    AdvertisementKey,
    DocumentId,
    LinkState,
    Serve,
    Towards,
    Update,
)
from twigcast.simulation.delivery import History, draw_units
from twigcast.simulation.delivery.world import World

SPEAKER = Speaker("south/c", ("south", ""), ("",), Towards.EVERYONE)
"""A gateway of another unit, as a gateway of ``north`` sees it."""
NEWER = Version(1, 1)


def routed(
    origin: str,
    *homes: str,
    custodian: str = "",
    tree: str = "",
    depth: int = 0,
    publication: str = "",
    to: str = "",
    scope: int = 0,
) -> Routed:
    destinations = (Destination(to, "inbox"),) if to else ()
    parcel = Parcel(DocumentId(origin, 1, 1), b"<a/>", 0, publication, scope=scope, to=destinations)
    custody = DocumentId(custodian, 1, 2) if custodian else None
    return Routed(parcel, tree, tuple(Debt(home, 1) for home in homes), custody, depth)


def addressed(content: Routed | Receipt | HomeAsk | HomeKnown, depth: int = 0) -> Addressed:
    return Addressed("north/a", "south/c", content, depth=depth)


@pytest.mark.parametrize(
    "said",
    [
        routed("south/d", "north/@a", custodian="south/c"),
        routed("a", "b", "north/@a"),
        routed("a", publication="\ta:1:1"),
        routed("a", publication="ann\n1"),
        HomeVersions({"south/@c": NEWER, "north/@a": NEWER, "a": NEWER}),
        HomeState("south/@c", NEWER, 0, ("/a",)),
        addressed(routed("south/d", "north/@a", custodian="south/c")),
        addressed(routed("south/d", "north/@a", custodian="south/c", to="north/x/b")),
        addressed(Receipt((DocumentId("north/a", 1, 1),), (), "south/@c")),
        addressed(Receipt((), ())),
        addressed(HomeAsk("south/@c", NEWER, 1)),
        addressed(HomeKnown("north/@a", 1, ("south/x/y",))),
    ],
)
def test_what_gateways_say(said: LinkMessage) -> None:
    assert objection_to(said, SPEAKER) == ""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (routed("north/b", depth=1), "speaks of a unit of depth 1, and the link is one of the wh"),
        (routed("south/d", tree="^"), "which is no tree of the whole network"),
        (routed("south/d", "north/b"), "names 'north/b', which is no home of the whole network"),
        (routed("south/d", "^north/@a"), "names '^north/@a', which is no home"),
        (routed("south/d", custodian="south/@c"), "names 'south/@c', which is no broker"),
        (HomeVersions({"north/b": NEWER}), "names 'north/b', which is no home"),
        (HomeVersions({}, 1), "speaks of a unit of depth 1"),
        (HomeState("north/b", NEWER, 0, ("/a",)), "names 'north/b', which is no home"),
        (HomeState("a", NEWER, 0, ("/a",), depth=1), "speaks of a unit of depth 1"),
        (addressed(HomeAsk("a", NEWER, 1), depth=1), "speaks of a unit of depth 1"),
        (addressed(HomeAsk("north/b", NEWER, 1)), "names 'north/b', which is no home"),
        (addressed(HomeKnown("", 1)), "names '', which is no home"),
        (addressed(Receipt((), (), "north/b")), "names 'north/b', which is no home"),
        (addressed(routed("south/d")), "sends a document for 'south/c' that 'south/d' answers for"),
        (
            addressed(routed("south/d", custodian="south/c", depth=1)),
            "sends a document for 'south/c'",
        ),
        (addressed(routed("south/c", "north/b")), "names 'north/b', which is no home"),
        (addressed(routed("south/c", "north/@a", to="a")), "to 'a:inbox' that is owed to nobody"),
        (Addressed("^a", "south/c", HomeKnown("a", 1)), "names '^a', which is no broker"),
        (
            routed("south/d", publication="\tnorth/b:1:7"),
            "sends south/d:1:1 as the publication of another document",
        ),
        (Update((LinkState("^a", 1, 1, ()),)), "says that '^a' is in the whole network"),
        (Update(serve=(Serve(1, frozenset(), 1),)), "is kept within a unit of depth 1"),
        (
            Update(advertise=((AdvertisementKey("south/@c", "", "1", 1), ANYTHING),)),
            "is kept within a unit of depth 1",
        ),
        (routed("a", scope=1), "sends a document and says that it is kept within a unit of depth"),
        (addressed(routed("south/c", scope=2)), "says that it is kept within a unit of depth 2"),
        (HomeState("south/@c", NEWER, 0, ("^1 /a",)), "is kept within a unit of depth 1"),
    ],
)
def test_what_gateways_never_say(said: LinkMessage | Update, reason: str) -> None:
    assert reason in objection_to(said, SPEAKER)


def test_nobody_objects_to_what_brokers_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """In histories of durable delivery with faults: units part, gateways crash, disks are lost."""
    heard = Counter[str]()
    say = World._say

    def listen(self: World, sender: str, receiver: str, message: object) -> None:
        assert isinstance(message, Update | LinkMessage)
        ends = {each: self.overlay.gateways.get(each) for each in (receiver, sender)}
        units, shared = units_of(sender, ends[sender]), shared_units(ends)
        objection = objection_to(message, Speaker(sender, units, shared, Towards.EVERYONE))
        assert objection == "", f"{sender} to {receiver}: {objection}"
        heard[type(message).__name__] += 1
        say(self, sender, receiver, message)

    monkeypatch.setattr(World, "_say", listen)
    for seed in range(settings().max_examples // 4):
        History(seed, draw=draw_units).run()
    assert min(heard[each.__name__] for each in (Update, Routed, Addressed, HomeState)) > 100
