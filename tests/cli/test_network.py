"""``twigcast network`` and the brokers that it starts: real processes, killed and started again."""

from __future__ import annotations

import io
import json
import os
import shlex
import signal
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from live_commands import Command, command
from rich.console import Console
from typer.testing import CliRunner

from twigcast.broker.local_network import MOST_BROKERS, LocalNetwork
from twigcast.cli import app
from twigcast.cli.network_status import _shown
from twigcast.client import connect_sync
from twigcast.errors import ConfigError, NetworkError
from twigcast.routing import LinkTraits, Overlay
from twigcast.simulation import chain

PATIENCE = 30.0


def is_served(address: str) -> bool:
    """Whether something listens there."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=5).close()
    except ConnectionRefusedError:
        return False
    return True


TWO = """
brokers = ["b1", "b2"]
strategy = "flooding"
links = [{ between = ["b1", "b2"] }]
clients = [{ name = "desk", broker = "b1" }]
"""


def wait_until_gone(addresses: list[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while any(map(is_served, addresses)):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def triangle() -> Overlay:
    """Three brokers that are all linked, and a fourth behind one of them."""
    links = {
        ("a", "b"): LinkTraits(2.5),
        ("b", "c"): LinkTraits(),
        ("a", "c"): LinkTraits(),
        ("c", "d"): LinkTraits(),
    }
    return Overlay("abcd", links)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    folder = tmp_path_factory.mktemp("network")
    with LocalNetwork(triangle(), folder, extra_arguments=("--keep", "all")) as running:
        yield running
    wait_until_gone(list(running.addresses.values()))


# --- LocalNetwork ---------------------------------------------------------------------------------


def test_each_broker_sees_the_whole_overlay(network: LocalNetwork) -> None:
    assert network.running == tuple("abcd")
    assert len(set(network.addresses.values())) == 4
    for name in "abcd":
        status = network.status(name)
        assert status is not None
        assert status["broker"] == name
        assert status["topology"] == {
            "a": {"b": 2.5, "c": 1.0},
            "b": {"a": 2.5, "c": 1.0},
            "c": {"a": 1.0, "b": 1.0, "d": 1.0},
            "d": {"c": 1.0},
        }


def test_brokers_get_the_extra_arguments(network: LocalNetwork) -> None:
    with connect_sync(network.addresses["b"]) as client:
        client.publish("<wanted-by-nobody/>")
        assert len(list(client.ask("/wanted-by-nobody"))) == 1


def test_a_broker_that_is_killed_comes_back_where_it_was(network: LocalNetwork) -> None:
    before = network.addresses["b"], network.processes["b"].pid
    with connect_sync(network.addresses["b"]) as client:
        client.subscribe("//kept", durable="desk").close()
    network.kill("b")
    assert network.processes["b"].returncode == -signal.SIGKILL
    assert network.running == ("a", "c", "d")
    assert not is_served(before[0])
    network.wait_until_whole(PATIENCE)
    status = network.status("d")
    assert status is not None
    assert "b" not in status["topology"]["c"]
    assert network.take_died() == ()
    with pytest.raises(NetworkError, match=r"b was ended by SIGKILL; start it again"):
        network.kill("b")

    with connect_sync(network.addresses["d"]) as client:
        client.publish("<kept/>")
    network.restart("b")
    network.wait_until_whole(PATIENCE)
    assert network.addresses["b"] == before[0]
    assert network.processes["b"].pid != before[1]
    with (
        connect_sync(network.addresses["b"]) as client,
        client.subscribe(durable="desk") as subscription,
    ):
        event = subscription.next(PATIENCE)
        assert event is not None
        assert event.content == b"<kept/>"


def test_a_broker_that_dies_is_reported_once(network: LocalNetwork) -> None:
    os.kill(network.processes["d"].pid, signal.SIGSEGV)
    network.processes["d"].wait(PATIENCE)
    (died,) = network.take_died()
    assert died.name == "d"
    assert died.last_words().startswith("d was ended by SIGSEGV; the end of ")
    assert "link to c is up" in died.last_words()
    assert network.take_died() == ()
    network.restart("d")
    network.wait_until_whole(PATIENCE)


def test_a_frozen_broker_is_not_whole(network: LocalNetwork) -> None:
    network.kill("d", signal.SIGSTOP)
    try:
        assert network.status("d", 0.2) is None
        with pytest.raises(NetworkError, match=r"not whole for \d brokers: . is wrong about .*c-d"):
            network.wait_until_whole(0)
    finally:
        network.kill("d", signal.SIGCONT)
    network.wait_until_whole(PATIENCE)


def test_names_that_are_not_there_are_refused(network: LocalNetwork) -> None:
    with pytest.raises(NetworkError, match="there is no broker 'x'; there are: "):
        network.kill("x")
    with pytest.raises(NetworkError, match="started already"):
        network.start()


def test_a_network_that_cannot_start_leaves_nothing(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        # The second broker of the chain calls the first, whose port is free or not ours.
        network = LocalNetwork(chain(2), tmp_path, store=False, base_port=port - 1)
        with pytest.raises(NetworkError, match=r"b\d has ended with status 2") as caught:
            network.start()
    assert "cannot listen at 127.0.0.1:" in str(caught.value)
    assert network.running == ()


def test_networks_that_make_no_sense_are_refused(tmp_path: Path) -> None:
    with pytest.raises(NetworkError, match="simulate takes more"):
        LocalNetwork(chain(MOST_BROKERS + 1), tmp_path)
    with pytest.raises(NetworkError, match="too few ports"):
        LocalNetwork(chain(2), tmp_path, http=True, base_port=65_533)
    with pytest.raises(ConfigError, match="no name for a broker"):
        LocalNetwork(Overlay(["a b"], []), tmp_path)
    (tmp_path / "parts.toml").write_text('brokers = ["a", "b"]')
    arguments = ("--topology", str(tmp_path / "parts.toml"), "--base-port", "65535")
    said = CliRunner().invoke(app, ["network", "up", *arguments])
    assert "falls into 2 parts" in said.stderr
    assert "too few ports" in str(said.exception)
    with pytest.raises(ConfigError, match="there is no strategy"):
        LocalNetwork(chain(2), tmp_path, strategy="gossip")


# --- network up -----------------------------------------------------------------------------------


def wait_until_up(running: Command) -> list[dict[str, Any]]:
    running.until(running.json_lines)
    brokers: list[dict[str, Any]] = running.json_lines()[0]["brokers"]
    return brokers


def test_a_network_is_up_until_ctrl_c(tmp_path: Path) -> None:
    (tmp_path / "two.toml").write_text(TWO)
    arguments = ("--topology", str(tmp_path / "two.toml"), "--http", "--json")
    with command(tmp_path, "network", "up", *arguments) as running:
        first, second = wait_until_up(running)
        assert (first["broker"], first["links"]) == ("b1", ["b2"])
        assert all(map(is_served, (first["address"], second["address"], second["http"])))
        folder = Path(running.json_lines()[0]["folder"])
        assert {each.name for each in folder.iterdir()} == {
            "b1.log",
            "b1.store",
            "b2.log",
            "b2.store",
        }
        os.kill(second["pid"], signal.SIGKILL)
        running.until(lambda: "error: b2 was ended by SIGKILL" in running.errors)
        assert "starting 2 brokers" in running.errors
        assert "warning: the clients of the network file are left out" in running.errors
        assert "link to b1 is up" in running.errors
        remedy = "to bring it back: "
        running.until(lambda: running.errors.partition(remedy)[2].endswith("\n"))
        words = shlex.split(running.errors.partition(remedy)[2])
        assert words[:2] == ["twigcast", "broker"]
        assert "--strategy=flooding" in words
        with command(tmp_path, *words[1:], "--json") as again:
            again.until(again.json_lines)
            found = again.json_lines()[0]
            assert (found["broker"], found["address"]) == ("b2", second["address"])
            assert (found["store"], found["http"]) == (str(folder / "b2.store"), second["http"])
            with connect_sync(first["address"]) as client:
                deadline = time.monotonic() + PATIENCE
                while "b2" not in client.status()["topology"]["b1"]:
                    assert time.monotonic() < deadline
                    time.sleep(0.05)
            assert "the link to b2 is up again" in (folder / "b1.log").read_text()
            again.end()
        assert running.end(signal.SIGINT) == 0
        assert not is_served(first["address"])
        assert not folder.exists()


def test_brokers_end_with_whoever_started_them(tmp_path: Path) -> None:
    arguments = ("--topology", "chain:count=2", "--store", str(tmp_path / "kept"), "--json")
    with command(tmp_path, "network", "up", *arguments) as running:
        addresses = [each["address"] for each in wait_until_up(running)]
        assert running.end(signal.SIGKILL) == -signal.SIGKILL
        wait_until_gone(addresses)
    # What was kept is there the next time, which shows a table and ends by itself.
    with command(tmp_path, "network", "up", *arguments[:-1], "--for", "0") as running:
        assert running.process.wait(PATIENCE) == 0
        assert "│ b1     │ 127.0.0.1:" in running.output
        assert "Ctrl-C ends" in running.errors


def test_a_network_all_of_which_dies_is_a_failure(tmp_path: Path) -> None:
    with command(tmp_path, "network", "up", "--topology", "chain:count=1", "--json") as running:
        (alone,) = wait_until_up(running)
        os.kill(alone["pid"], signal.SIGTERM)
        assert running.process.wait(PATIENCE) == 1
        assert "b1 has ended with status 0" in running.errors


def test_a_topology_that_makes_no_sense_is_refused() -> None:
    result = CliRunner().invoke(app, ["network", "up", "--topology", "ring:count=3"])
    assert result.exit_code == 2
    assert "there is no shape" in result.stderr


# --- network status -------------------------------------------------------------------------------


def test_status_shows_what_brokers_know(network: LocalNetwork) -> None:
    addresses = [network.addresses[name] for name in "ac"]
    with connect_sync(addresses[0]) as client:
        with client.subscribe({"one": "//a", "two": "//b"}, durable="seen"):
            client.publish("<a/>")
        client.subscribe("//c").ready()
        asked = [word for each in addresses for word in ("--broker", each)]
        table = CliRunner().invoke(app, ["network", "status", *asked], env={"COLUMNS": "80"})
        assert table.exit_code == 0
        rows = rows_of(table.stdout)
        brokers = {row[0]: row for row in rows[:4]}
        assert brokers["a"][1:3] == [addresses[0], "b, c"]
        assert brokers["a"][4:] == ["1", "0"]
        assert brokers["b"][1:4] == ["", "a, c", ""]
        assert rows[4][:2] == ["a", "1"]
        assert ["a", "seen", "//a, //b", "1", "1", "away"] in rows
        assert [row[:2] for row in rows[6:11]] == [
            *(["a", other] for other in links_of(network, "a")),
            *(["c", other] for other in links_of(network, "c")),
        ]
        # The neighbour that calls has no address to be found at.
        assert {row[2] for row in rows[6:11]} <= {"127.0.0.1", *network.addresses.values()}
        assert "127.0.0.1" in {row[2] for row in rows[6:11]}
        status = CliRunner().invoke(app, ["network", "status", "--json", *asked])
        found = [json.loads(line) for line in status.stdout.splitlines()]
        assert [(each["broker"], each["address"]) for each in found] == list(
            zip("ac", addresses, strict=True)
        )
        assert found[0]["documents"]["in"] == 1
        client.forget("seen")


def rows_of(shown: str) -> list[list[str]]:
    """The rows of tables, none of which is broken by its width."""
    lines = shown.splitlines()
    assert max(map(len, lines)) <= 80
    assert all(line.endswith("│") for line in lines if line.startswith("│"))
    return [
        [cell.strip() for cell in line.strip("│").split("│")]
        for line in lines
        if line.startswith("│")
    ]


def test_status_marks_who_is_lost_and_who_is_cut_off(network: LocalNetwork) -> None:
    def status_of(name: str) -> dict[str, list[str]]:
        asked = ["network", "status", "--broker", network.addresses[name]]
        shown = CliRunner().invoke(app, asked, env={"COLUMNS": "80"}).stdout
        return {row[0]: row for row in rows_of(shown)[:4]}

    assert status_of("d")["a"][2] == "b, c"
    network.kill("c")
    try:
        network.wait_until_whole(PATIENCE)
        assert status_of("d")["d"][2] == "cut off"
        assert status_of("d")["a"][2] == "lost"
        assert status_of("a")["a"][2] == "b"
        assert status_of("a")["b"][2] == "a"
        assert status_of("a")["c"][2] == "lost"
    finally:
        network.restart("c")
        network.wait_until_whole(PATIENCE)


def test_status_of_much_fits_a_terminal() -> None:
    """Large numbers, long names and trouble fold; no row is cut."""
    link: dict[str, Any] = {
        "broker": "constantinople-2",
        "unit": "",
        "cost": 2.5,
        "up_seconds": 90_000.0,
    }
    link |= {"address": "ipv6:%5B::1%5D:39143", "called": "neighbour"}
    link |= {"documents_sent": 1_234_567, "documents_received": 12_345_678}
    link |= {"waiting": 1, "dropped": 54_321}
    queue: dict[str, Any] = {"name": "desk-of-the-editor", "owner": "editor", "attached": True}
    queue |= {"expressions": {str(n): f"//story[{n}]/p" for n in range(9)}}
    queue |= {"last": 1_234_567, "waiting": 123_456, "missed": 12_345, "scope": None}
    status: dict[str, Any] = {"broker": "constantinople-1", "address": "broker.example.org:7400"}
    status |= {"uptime_seconds": 90_000.0, "clients": 1234, "owed": {"smyrna": 1_234_567}}
    status |= {"documents": dict.fromkeys(("in", "out", "forwarded"), 123_456_789)}
    status |= {"tables": {"patterns": 1_234_567, "sent": 1_234_567}, "homes": {}, "problems": {}}
    status |= {"topology": {"constantinople-1": {"constantinople-2": 2.5}, "constantinople-2": {}}}
    status |= {"links": [link], "durable": [queue, {**queue, "owner": "another"}]}
    status |= {"incarnation": 1, "door": None}
    status |= {"letters": 1_234, "gateway": None, "bits": None, "levels": []}
    console = Console(width=80, file=io.StringIO())
    console.print(_shown([status]))
    assert isinstance(console.file, io.StringIO)
    shown = console.file.getvalue()
    rows_of(shown)
    for text in ("12,345,678", "[::1]", "lost", "1d 1h", "123,456,789", "here"):
        assert text in shown
    below = " ".join(shown.rpartition("┘")[2].split())
    assert "constantinople-1 owes smyrna 1,234,567 documents" in below
    assert "constantinople-1 holds 1 document for constantinople-2" in below
    assert "constantinople-1 has dropped 54,321 documents for constantinople-2" in below
    assert "constantinople-1 has set 1,234 documents aside: twigcast letters" in below
    assert "desk-of-the-editor at constantinople-1 has missed 12,345 documents" in below
    assert "…" not in shown.replace("… and 6", "")


def links_of(network: LocalNetwork, name: str) -> list[str]:
    status = network.status(name)
    assert status is not None
    return [link["broker"] for link in status["links"]]


def test_status_of_brokers_that_are_away(network: LocalNetwork) -> None:
    away = ["--broker", "127.0.0.1:1"]
    some = CliRunner().invoke(app, ["network", "status", "--broker", network.addresses["a"], *away])
    assert some.exit_code == 1
    assert "│ a" in some.stdout
    assert "127.0.0.1:1: no broker answers" in some.stderr
    none = CliRunner().invoke(app, ["network", "status", *away])
    assert none.exit_code == 2
    assert none.stdout == ""


def test_watching_goes_on_until_ctrl_c(network: LocalNetwork, tmp_path: Path) -> None:
    arguments = ("--broker", network.addresses["a"], "--watch", "--json")
    with command(tmp_path, "network", "status", *arguments) as running:
        running.until(lambda: len(running.json_lines()) > 1)
        assert {each["broker"] for each in running.json_lines()} == {"a"}
        assert running.end(signal.SIGINT) == 0
        assert running.errors == ""
