"""A network of units of real processes: seen, asked for its status, and without a gateway."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from twigcast.broker.local_network import LocalNetwork
from twigcast.cli import app
from twigcast.client import SyncClient, SyncSubscription, connect_sync
from twigcast.errors import NetworkError, OverlayError
from twigcast.routing import Overlay
from twigcast.simulation import parse_topology

PATIENCE = 60.0


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    overlay = parse_topology("hierarchy:2x2,gateways=2")
    folder = tmp_path_factory.mktemp("units")
    with LocalNetwork(overlay, folder, most_patterns=1000) as running:
        yield running


def level(network: LocalNetwork, broker: str, number: int) -> dict[str, Any]:
    status = network.status(broker, PATIENCE)
    assert status is not None
    seen: dict[str, Any] = status["levels"][number]
    return seen


def test_each_broker_has_files_of_its_own(network: LocalNetwork) -> None:
    assert sorted(each.name for each in network.folder.iterdir()) == [
        f"{unit}+b{number}.{kind}"
        for unit in ("c1", "c2")
        for number in (1, 2)
        for kind in ("log", "store")
    ]


def test_gateways_have_the_budget(network: LocalNetwork) -> None:
    assert "--most-patterns=1000" in network.command("c1/b2")


def test_brokers_see_what_is_in_their_units(network: LocalNetwork) -> None:
    for broker in network.overlay:
        unit = broker.partition("/")[0]
        inside = {f"{unit}/b1": {f"{unit}/b2": 1.0}, f"{unit}/b2": {f"{unit}/b1": 1.0}}
        assert level(network, broker, 0)["topology"] == inside
        assert sorted(level(network, broker, 1)["topology"]) == ["c1/b1", "c1/b2", "c2/b1", "c2/b2"]


def address_of(network: LocalNetwork, broker: str) -> str:
    """The bits of a broker, once it knows them."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        status = network.status(broker, PATIENCE)
        if status is not None and status["bits"]:
            return str(status["bits"])
        time.sleep(0.05)
    raise AssertionError(f"{broker} has no bits")


def rows_of(network: LocalNetwork, *brokers: str) -> tuple[list[list[str]], str]:
    """The rows of all tables that are shown of brokers, and what stands below."""
    asked = ["--broker", ",".join(network.addresses[each] for each in brokers)]
    result = CliRunner().invoke(app, ["network", "status", *asked], env={"COLUMNS": "100"})
    assert result.exit_code == 0, result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith("│")]
    rows = [[cell.strip() for cell in line.strip("│").split("│")] for line in lines]
    return rows, " ".join(result.stdout.rpartition("┘")[2].split())


def test_the_status_shows_units(network: LocalNetwork) -> None:
    addresses = [address_of(network, each) for each in ("c1/b1", "c1/b2")]
    rows, below = rows_of(network, "c1/b1", "c1/b2")
    assert [row[:2] for row in rows[:4]] == [
        [f"c1/b1 {addresses[0]}", "c1"],
        [f"c1/b2 {addresses[1]}", "c1"],
        ["c2/b1", "c2"],
        ["c2/b2", "c2"],
    ]
    assert [row[:3] for row in rows[4:6]] == [["c1", "b1, b2", "b1"], ["c2", "b1, b2", "b1"]]
    assert below == ""
    words = ["network", "status", "--json", "--broker", network.addresses["c2/b1"]]
    said = json.loads(CliRunner().invoke(app, words).stdout)
    assert (said["broker"], said["gateway"]) == ("c2/b1", "c2")
    assert [each["unit"] for each in said["levels"]] == ["c2", ""]


def test_commands_keep_documents_within_a_unit(network: LocalNetwork, tmp_path: Path) -> None:
    here, near, far = (network.addresses[each] for each in ("c1/b1", "c1/b2", "c2/b2"))
    names = [str(tmp_path / f"{name}.xml") for name in ("far", "near", "all")]
    for name in names:
        Path(name).write_text("<p/>")

    def run(command: str, broker: str, *arguments: str) -> Result:
        return CliRunner().invoke(app, [command, *arguments, "--broker", broker])

    kept = ("--durable", "kept")
    said = run("subscribe", near, "//p", *kept, "--scope", "super-cluster", "--timeout", "0")
    assert "choose a scope among: cluster, c1" in str(said.exception)
    said = run("subscribe", near, "//p", *kept, "--scope", "cluster", "--timeout", "0")
    assert "subscribed as kept within c1 at c1/b2" in said.stderr
    assert (
        "subscribed as wide at c2/b2"
        in run("subscribe", far, "//p", "--durable", "wide", "--timeout", "0").stderr
    )
    said = run("subscribe", far, "//p", "--durable", "wide", "--scope", "c2", "--timeout", "0")
    assert "leave scope out, or end the subscription" in str(said.exception)
    ids = [
        run("publish", broker, name, *options).stdout.partition("\t")[0]
        for broker, name, options in (
            (far, names[0], ()),
            (here, names[1], ("--scope", "c1")),
            (here, names[2], ("--advertise", "anything")),
        )
    ]
    for broker, durable, expected in ((near, "kept", ids[1:]), (far, "wide", ids[::2])):
        # Documents of different brokers come in any order.
        follow = ("--durable", durable, "--limit", "2", "--timeout", "30", "--json")
        said = run("subscribe", broker, *follow)
        lines = said.stdout.splitlines()
        assert sorted(json.loads(line)["id"] for line in lines) == sorted(expected)
    said = run("publish", here, names[0], "--scope", "c2")
    assert said.exit_code == 1
    assert "far.xml: the broker 'c1/b1' is in no unit 'c2'; choose a scope among" in said.stderr
    said = run("publish", here, names[0], "--scope", "c2", "--advertise", "anything")
    assert "choose a scope among: cluster, c1" in str(said.exception)
    for command, *arguments in (("publish", here, names[0]), ("subscribe", far, "//p")):
        assert "this is empty" in run(command, *arguments, "--scope", "").stderr
    rows, _ = rows_of(network, "c1/b2", "c2/b2")
    assert ["c1/b2", "kept", "//p", "c1", "2", "0", "away"] in rows
    assert ["c2/b2", "wide", "//p", "", "2", "0", "away"] in rows
    for broker, durable in ((near, "kept"), (far, "wide")):
        run("subscribe", broker, "--durable", durable, "--forget")
    assert rows_of(network, "c1/b2")[0][-1][:2] != ["c1/b2", "kept"]


def test_documents_cross_both_borders_whoever_of_the_gateways_lives(network: LocalNetwork) -> None:
    with (
        connect_sync(network.addresses["c1/b2"]) as here,
        connect_sync(network.addresses["c2/b2"]) as there,
    ):
        near, far = here.subscribe("/near"), there.subscribe("/far")
        kept = here.subscribe("/near", durable="desk")
        for desk in (near, far, kept):
            desk.ready()
        assert kept.unreached == ()
        numbers = itertools.count()

        def cross(client: SyncClient, name: str, desk: SyncSubscription) -> list[str]:
            """Publish until a document arrives, for it takes a moment until the wants are known."""
            documents = []
            deadline = time.monotonic() + PATIENCE
            while time.monotonic() < deadline:
                documents.append(f"<{name}>{next(numbers)}</{name}>")
                client.publish(documents[-1])
                if desk.next(0.2) is not None:
                    return documents
            raise AssertionError(f"no {name} has arrived")

        cross(here, "far", far)
        expected = cross(there, "near", near)
        network.kill("c2/b1")
        try:
            network.wait_until_whole(PATIENCE)
            cross(here, "far", far)
            expected += cross(there, "near", near)
        finally:
            network.restart("c2/b1")
        network.wait_until_whole(PATIENCE)
        events = [kept.next(PATIENCE) for _ in expected]
        assert sorted(event.content.decode() for event in events if event) == sorted(expected)
        crossed = level(network, "c1/b2", 0)["crossings"]
        assert crossed["in_vain"] == crossed["turned_away"] == 0
        here.forget("desk")


def test_another_gateway_takes_over_and_the_first_comes_back(network: LocalNetwork) -> None:
    assert level(network, "c2/b1", 1)["units"]["c1"] == [
        {"gateways": ["c1/b1", "c1/b2"], "acting": {"c2": "c1/b1"}}
    ]
    network.kill("c1/b1")
    try:
        network.wait_until_whole(PATIENCE)
        assert level(network, "c2/b1", 1)["units"]["c1"] == [
            {"gateways": ["c1/b2"], "acting": {"c2": "c1/b2"}}
        ]
        rows, _ = rows_of(network, "c2/b1")
        assert rows[0][3] == "lost"
    finally:
        network.restart("c1/b1")
    network.wait_until_whole(PATIENCE)
    assert [each["gateways"] for each in level(network, "c2/b1", 1)["units"]["c1"]] == [
        ["c1/b1", "c1/b2"]
    ]


def test_networks_of_units_that_make_no_sense_are_refused(network: LocalNetwork) -> None:
    one = Overlay(["x/a", "b"], [], {"x/a": "x"})
    with pytest.raises(NetworkError, match="take documents over on their disks; leave store on"):
        LocalNetwork(one, network.folder, store=False)
    with pytest.raises(OverlayError, match="make 'x/a' a gateway of 'x', or link others"):
        LocalNetwork(Overlay(["x/a", "b"], [("x/a", "b")]), network.folder)
