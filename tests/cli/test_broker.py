"""``twigcast broker``, ``publish``, ``subscribe``, ``ask`` and ``token``, as a user calls them."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer
from certificates import make_authority, make_certificate
from folders import EXAMPLES
from live_commands import COMMAND, command, run_command
from typer.testing import CliRunner, Result

from twigcast.broker import BrokerConfig
from twigcast.cli import app
from twigcast.cli.broker_options import parse_since, requiring
from twigcast.cli.documents_shown import shown
from twigcast.client import connect_sync
from twigcast.errors import (
    ConfigError,
    ConnectionFailedError,
    NetworkError,
    RefusedError,
    SubscriptionError,
    TwigcastError,
)
from twigcast.language import read_subscriptions

DOCUMENTS = sorted((EXAMPLES / "documents").glob("*.xml"))
ANY_PORT = ("--listen", "127.0.0.1:0")


def run(*arguments: str, status: int = 0) -> Result:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == status, (result.output, result.exception)
    return result


def lines(*arguments: str, status: int = 0) -> list[dict[str, Any]]:
    """The JSON lines that a command prints."""
    result = run(*arguments, "--json", status=status)
    return [json.loads(line) for line in result.stdout.splitlines()]


def failure(*arguments: str) -> TwigcastError:
    """The error that ends a command."""
    result = CliRunner().invoke(app, arguments)
    assert isinstance(result.exception, TwigcastError), result.output
    return result.exception


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Where a broker listens that keeps everything."""
    folder = tmp_path_factory.mktemp("broker")
    arguments = ("--name", "rome", "--store", str(folder / "store"), "--keep", "all", "--json")
    with command(folder, "broker", *ANY_PORT, *arguments) as running:
        running.until(running.json_lines)
        told = running.json_lines()[0]
        assert told["broker"] == "rome"
        assert told["store"] == str(folder / "store")
        assert told["http"] is None
        yield told["address"]
        assert running.end(signal.SIGTERM) == 0
        assert len(running.json_lines()) == 1
        assert running.errors == ""


@pytest.fixture
def to(address: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The broker, for commands that do not name one."""
    monkeypatch.setenv("TWIGCAST_BROKER", address)
    return address


# --- broker ---------------------------------------------------------------------------------------


def test_a_broker_says_where_it_is_and_ends_with_ctrl_c(tmp_path: Path) -> None:
    http = ("--http", "127.0.0.1:0")
    store = ("--store", str(tmp_path / "store"), "--reader", "expat")
    with command(tmp_path, "broker", *ANY_PORT, *http, *store, "--name", "rome", "-v") as running:
        running.until(lambda: "\n" in running.output)
        assert running.output.startswith("rome listens at 127.0.0.1:")
        assert ", http://127.0.0.1:" in running.output
        assert running.output.endswith(", reads with the expat reader; Ctrl-C ends\n")
        address = running.output.split()[3].rstrip(",")
        with connect_sync(address) as client:
            client.subscribe("//a", durable="desk-7").close()
            assert client.status()["reader"] == "expat"
            with pytest.raises(RefusedError):
                client.forget("nobody's")
        running.until(lambda: "client:1 left" in running.errors)
        assert running.end(signal.SIGINT) == 0
        assert "Traceback" not in running.errors
        said = "client:1 connected from ipv4:127.0.0.1:", "reads the durable subscription 'desk-7'"
        for each in (*said, "client:1 is refused: there is no durable"):
            assert each in running.errors


def test_a_gateway_says_so(tmp_path: Path) -> None:
    flags = ("--unit", "north", "--gateway", "north", "--name", "a", "--store", str(tmp_path / "s"))
    with command(tmp_path, "broker", *ANY_PORT, *flags) as running:
        running.until(lambda: "\n" in running.output)
        assert running.output.startswith("north/a listens at 127.0.0.1:")
        assert ", is a gateway of north, keeps documents in " in running.output
        address = running.output.split()[3].rstrip(",")
        with connect_sync(address) as client, client.subscribe("/a") as subscription:
            subscription.ready()
            client.publish("<a/>")
            assert client.broker == "north/a"
            event = subscription.next(30)
            assert event is not None
            kept = tmp_path / "kept"
            shown(json=False, folder=kept)(event)
            name = event.id.replace("/", "+").replace(":", "-")
            assert [each.name for each in kept.iterdir()] == [f"{name}.xml"]


def test_flags_override_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[BrokerConfig] = []

    async def take(config: BrokerConfig, on_ready: object) -> None:
        found.append(config)

    monkeypatch.setattr("twigcast.broker.run", take)
    file = tmp_path / "broker.toml"
    file.write_text(
        'name = "rome"\nlisten = "127.0.0.1:7401"\nstrategy = "flooding"\n'
        '[store]\nfolder = "kept"\nsync = "normal"\n'
        '[[links]]\naddress = "127.0.0.1:7402"\n'
    )
    run("broker", "--config", str(file))
    run("broker", "--config", str(file), "--name", "paris", "--keep", "all", "--insecure")
    run("broker", "--config", str(file), "--link", "127.0.0.1:5=2.5", "--link", "[::1]:6")
    run("broker", "--store", str(tmp_path), "--strategy", "covering")
    run("broker", "--config", str(file), "--unit", "north/oslo", "--gateway", "north")
    plain, flagged, linked, alone, gateway = found
    assert (gateway.name_at(), gateway.gateway_of) == ("north/oslo/rome", "north")
    assert (plain.name, plain.listen, plain.strategy) == ("rome", "127.0.0.1:7401", "flooding")
    assert (flagged.name, flagged.listen) == ("paris", "127.0.0.1:7401")
    assert (flagged.store.keep, flagged.store.sync) == ("all", "normal")
    assert flagged.store.folder == plain.store.folder == tmp_path / "kept"
    assert flagged.access.insecure
    assert not plain.access.insecure
    assert [(link.address, link.cost) for link in linked.links] == [
        ("127.0.0.1:5", 2.5),
        ("[::1]:6", 1.0),
    ]
    assert alone == BrokerConfig(store=alone.store)
    assert alone.store.folder == tmp_path


def test_what_should_be_known_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    async def serve_nobody(config: BrokerConfig, on_ready: object) -> None:
        pass

    monkeypatch.setattr("twigcast.broker.run", serve_nobody)
    assert "warning: everybody" in run("broker", "--listen", "0.0.0.0:0", "--insecure").stderr
    assert run("broker").stderr == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "nonsense"], "no address"),
        (["--listen", "0.0.0.0:0"], "--insecure"),
        (["--config", "no-such.toml"], "no-such.toml"),
        (["--link", "127.0.0.1:1=0"], "cost"),
        (["--tls-key", "rome.key"], "tls.certificate"),
        (["--strategy", "gossip"], "there is no strategy"),
        (["--gateway", "north"], "write its unit"),
        (["--unit", "north", "--gateway", "north"], "name one in [store], or with --store"),
        (["--unit", "north", "--gateway", "south", "--store", "kept"], "write true, or one of: no"),
    ],
)
def test_a_configuration_that_makes_no_sense_is_refused(options: list[str], message: str) -> None:
    error = failure("broker", *options)
    assert isinstance(error, ConfigError)
    assert message in str(error)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["broker", "--keep", "all"], "--keep goes with --store"),
        (["broker", "--link", "127.0.0.1:1=dear"], "--link takes HOST:PORT"),
        (["publish", "-", "-"], "read once"),
        (["publish", "-", "--lines", "--id", "1"], "--id is of one document"),
        (["publish", str(EXAMPLES / "documents"), "--id", "1"], "--id is of one document"),
        (["publish", "x", "--root", "a"], "--root goes with --advertise"),
        (["publish", "x", "--root", "a", "--advertise", "anything"], "--root goes with"),
        (["publish", "x", "--certificate", "x"], "--certificate and --key go together"),
        (["publish", "x", "--token", "naïve"], "printable ASCII"),
        (["subscribe"], "nothing to subscribe to"),
        (["subscribe", "//a", "--since", "1h"], "--since goes with --durable"),
        (["subscribe", "//a", "--forget"], "--forget goes with --durable"),
        (["subscribe", "//a", "--durable", "d", "--forget"], "leave out what would begin"),
        (
            ["subscribe", "//a", "--durable", "d", "--since", "noon"],
            "takes a sequence number as 120, a time",
        ),
        (["subscribe", "//a", "--namespace", "cap"], "--namespace takes PREFIX=URI"),
        (["ask", "//a", "--since", "5"], "--since takes a time"),
        (["ask", "//a", "--namespace", "xml=urn:x"], "belong together"),
    ],
)
def test_options_that_make_no_sense_are_refused(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 2
    assert message in result.stderr


def test_two_brokers_at_one_place_are_told_so(address: str) -> None:
    result = run_command("broker", "--listen", address)
    assert result.returncode == 2
    assert result.stderr.decode().count("\n") == 1
    assert f"cannot listen at {address}" in result.stderr.decode()


def test_no_broker_is_told_with_the_remedy() -> None:
    result = run_command("ask", "//a", "--broker", "127.0.0.1:1")
    assert result.returncode == 2
    assert result.stderr.startswith(b"error: 127.0.0.1:1: no broker answers")
    assert b"`twigcast broker` starts one" in result.stderr
    assert isinstance(failure("publish", "x", "--broker", "rome"), ConnectionFailedError)


def test_what_is_not_installed_is_told_with_the_remedy() -> None:
    remedy = r"no_such_library is not installed; pip install 'twigcast\[client\]'"
    with pytest.raises(NetworkError, match=remedy), requiring("client"):
        import_module("no_such_library")
    with pytest.raises(ModuleNotFoundError, match="no_such_module"), requiring("client"):
        import_module("twigcast.no_such_module")


# --- publish and subscribe ------------------------------------------------------------------------


@pytest.mark.usefixtures("to")
def test_documents_come_with_the_keys_of_what_they_match(tmp_path: Path) -> None:
    file = EXAMPLES / "subscriptions.txt"
    arguments = ("subscribe", "-s", str(file), "/menu", "--limit", "4", "--json")
    with command(tmp_path, *arguments) as subscribing:
        subscribing.until(lambda: "subscribed at rome" in subscribing.errors)
        published = lines("publish", str(EXAMPLES / "documents"))
        assert [each["document"] for each in published] == list(map(str, DOCUMENTS))
        assert subscribing.process.wait(30) == 0
        came = {each["id"]: each for each in subscribing.json_lines()}
    assert set(came) == {each["id"] for each in published}
    wanted = [(each.key, each.pattern) for each in read_subscriptions(file)]
    for each, document in zip(published, DOCUMENTS, strict=True):
        found = came[each["id"]]
        keys = [key for key, pattern in wanted if pattern.matches(document.read_bytes())]
        assert found["keys"] == sorted(keys + ["/menu"] * (document.name == "menu.xml"))
        assert found["content"] == document.read_text(encoding="utf-8")
        age = datetime.now(UTC) - datetime.fromisoformat(found["published"])
        assert timedelta() <= age < timedelta(minutes=1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.usefixtures("to")
def test_people_read_a_line_and_the_document(tmp_path: Path, number: int) -> None:
    with command(tmp_path, "subscribe", "//x:story", "--namespace", "x=urn:x") as subscribing:
        subscribing.until(lambda: "subscribed" in subscribing.errors)
        document = tmp_path / "story.xml"
        document.write_text("<story xmlns='urn:x'>é</story>", encoding="utf-16")
        identity, name = run("publish", str(document)).stdout.rstrip().split("\t")
        assert name == str(document)
        subscribing.until(lambda: document.read_bytes() in subscribing.content)
        head, _, content = subscribing.content.partition(b"\n")
        assert head.decode().startswith(f"{identity}  20")
        assert head.endswith(b"  //x:story")
        assert content == document.read_bytes() + b"\n"
        assert subscribing.end(number) == 0


@pytest.mark.usefixtures("to")
def test_what_is_refused_is_told_and_the_rest_published(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<a/>")
    (tmp_path / "b.xml").write_text("<a><b></a>")
    result = run("publish", str(tmp_path), str(tmp_path / "none.xml"), status=1)
    assert [line.split("\t")[1] for line in result.stdout.splitlines()] == [str(tmp_path / "a.xml")]
    reasons = "".join(result.stderr)
    assert f"{tmp_path / 'b.xml'}: line 1, column " in reasons
    assert f"{tmp_path / 'none.xml'}: No such file" in reasons


@pytest.mark.usefixtures("to")
def test_a_document_with_an_id_is_published_once(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<numbered/>")
    publish = ("publish", str(tmp_path / "a.xml"), "--id")
    first, again, other = (lines(*publish, each)[0]["id"] for each in ("7", "7", "8"))
    assert first == again != other
    assert lines("ask", "//numbered", "--count")[0]["matched"] == 2


def test_lines_are_documents(address: str, tmp_path: Path) -> None:
    text = b"<a>1</a>\n\n<broken\n<a>2</a>"
    result = run_command("publish", "--broker", address, "--lines", "--json", "-", stdin=text)
    assert result.returncode == 1
    told = [json.loads(line) for line in result.stdout.splitlines()]
    assert [each["document"] for each in told] == ["-:1", "-:3", "-:4"]
    assert ["id" in each for each in told] == [True, False, True]
    (tmp_path / "lines").write_bytes(text + b"\n")
    again = lines("publish", "--lines", str(tmp_path / "lines"), "--broker", address, status=1)
    assert len(again) == 3
    one = run_command("publish", "--broker", address, "-", stdin=b"<a>\n<b/>\n</a>")
    assert one.stdout.endswith(b"\t-\n")


def test_lines_are_published_as_they_come(address: str, tmp_path: Path) -> None:
    arguments = ("publish", "--broker", address, "--lines", "-")
    with command(tmp_path, *arguments, stdin=subprocess.PIPE) as publishing:
        stdin = publishing.process.stdin
        assert stdin is not None
        for line in ("-:1", "-:2"):
            stdin.write(b"<a/>\n")
            stdin.flush()
            publishing.until(partial(publishing.has_printed, f"\t{line}\n"))
        # It waits for a line meanwhile, and does not mind being ended.
        assert publishing.end(signal.SIGINT) != 0
        assert "Traceback" not in publishing.errors
        assert "Fatal" not in publishing.errors


@pytest.mark.usefixtures("to")
def test_what_is_advertised_is_checked(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<story/>")
    run("publish", str(document), "--advertise", str(EXAMPLES / "news.dtd"), "--root", "news")
    result = CliRunner().invoke(
        app, ["publish", str(document), "--advertise", str(EXAMPLES / "news.dtd"), "--root", "no"]
    )
    assert isinstance(result.exception, TwigcastError)


# --- durable subscriptions ------------------------------------------------------------------------


@pytest.mark.usefixtures("to")
def test_a_durable_subscription_goes_on_where_it_was(tmp_path: Path) -> None:
    follow = ("subscribe", "--durable", "desk")
    run(*follow, "//desk", "--timeout", "0")
    (tmp_path / "lines").write_text("".join(f"<desk>{n}</desk>\n" for n in range(5)))
    ids = [each["id"] for each in lines("publish", "--lines", str(tmp_path / "lines"))]

    first = lines(*follow, "--limit", "2", "--no-ack")
    assert [each["id"] for each in first] == ids[:2]
    again = lines(*follow, "--limit", "3")
    assert [(each["id"], each["sequence"]) for each in again] == list(
        zip(ids[:3], (1, 2, 3), strict=True)
    )
    rest = lines(*follow, "--limit", "9", "--timeout", "1", status=1)
    assert [each["id"] for each in rest] == ids[3:]
    none = run(*follow, "--limit", "1", "--timeout", "0.3", status=1)
    assert none.stdout == ""
    assert none.stderr.endswith("0 of 1 documents came in 0.3 s\n")

    assert [each["id"] for each in lines(*follow, "--since", "4", "--limit", "2")] == ids[3:]
    assert [each["id"] for each in lines(*follow, "--since", "1h", "--limit", "1")] == ids[:1]
    assert "desk is forgotten" in run(*follow, "--forget").stderr
    error = failure(*follow, "--forget")
    assert isinstance(error, RefusedError)
    assert error.code == "unknown"


@pytest.mark.usefixtures("to")
def test_documents_are_written_to_files(tmp_path: Path) -> None:
    follow = ("subscribe", "--durable", "files", "--limit", str(len(DOCUMENTS)))
    run(*follow, "/*", "--timeout", "0", status=1)
    run("publish", *map(str, DOCUMENTS))
    folder = tmp_path / "some" / "folder"
    told = lines(*follow, "--output", str(folder))
    assert {Path(each["file"]) for each in told} == set(folder.iterdir())
    assert [Path(each["file"]).read_bytes() for each in told] == [
        document.read_bytes() for document in DOCUMENTS
    ]
    result = run(*follow, "--since", "1", "--output", str(folder))
    assert result.stdout.splitlines() == [f"{each['file']}\t{each['id']}" for each in told]
    run("subscribe", "--durable", "files", "--forget")


def test_a_reader_who_goes_away_is_no_failure(address: str, tmp_path: Path) -> None:
    follow = ("subscribe", "--durable", "piped", "--broker", address)
    run(*follow, "//piped", "--timeout", "0")
    # More than a pipe holds, so that the second is never written as a whole.
    (tmp_path / "lines").write_text(f"<piped>{'x' * 1_000_000}</piped>\n" * 3)
    run("publish", "--lines", str(tmp_path / "lines"), "--broker", address)
    line = shlex.join([*COMMAND, *follow, "--json", "--timeout", "50"])
    script = f"({line}; echo status $? >&2) | head -n 1"
    began = time.monotonic()
    result = subprocess.run(["sh", "-c", script], capture_output=True, timeout=60, check=True)
    assert json.loads(result.stdout)["sequence"] == 1
    assert result.stderr.endswith(b"status 0\n")
    assert b"Traceback" not in result.stderr
    left = lines(*follow, "--limit", "2", "--timeout", "20")
    assert [each["sequence"] for each in left] == [2, 3]
    # Nothing is left to write, and it is noticed all the same.
    subprocess.run(["sh", "-c", f"{line} | true"], stderr=subprocess.DEVNULL, timeout=60)
    assert time.monotonic() - began < 45
    run(*follow, "--forget")


def test_what_nobody_takes_from_the_pipe_is_not_acknowledged(address: str, tmp_path: Path) -> None:
    follow = ("subscribe", "--durable", "small", "--broker", address)
    run(*follow, "//small", "--timeout", "0")
    (tmp_path / "lines").write_text("".join(f"<small>{n}</small>\n" for n in range(200)))
    run("publish", "--lines", str(tmp_path / "lines"), "--broker", address)
    line = shlex.join([*COMMAND, *follow, "--json", "--timeout", "30"])
    for first in (1, 2):
        # A reader that takes one line and no more than that.
        script = f"{line} | {shlex.quote(sys.executable)} -c 'import os; os.read(0, 65536)'"
        subprocess.run(["sh", "-c", script], stderr=subprocess.DEVNULL, timeout=60, check=True)
        with connect_sync(address) as client:
            assert client.queue_state("small").acknowledged == first
    run(*follow, "--forget")


def test_a_reader_who_is_busy_gets_everything(address: str, tmp_path: Path) -> None:
    follow = ("subscribe", "--durable", "busy", "--broker", address)
    run(*follow, "//busy", "--timeout", "0")
    (tmp_path / "lines").write_text("".join(f"<busy>{n}</busy>\n" for n in range(50)))
    run("publish", "--lines", str(tmp_path / "lines"), "--broker", address)
    with subprocess.Popen(
        [*COMMAND, *follow, "--json", "--timeout", "2"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert running.wait(30) == 0
        assert running.stdout is not None
        assert len(running.stdout.read().splitlines()) == 50
    run(*follow, "--forget")


# --- ask ------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("to")
def test_asking_gives_the_newest_first(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("".join(f"<asked><n>{n}</n></asked>\n" for n in range(6)))
    ids = [each["id"] for each in lines("publish", "--lines", str(tmp_path / "lines"))]
    assert [each["id"] for each in lines("ask", "//asked[n>=2]")] == ids[:1:-1]
    assert [each["id"] for each in lines("ask", "//asked", "--limit", "2")] == ids[:3:-1]
    assert [each["id"] for each in lines("ask", "//asked", "--since", "5m")] == ids[::-1]
    result = run("ask", "//asked", "--count")
    assert result.stdout == "6\n"
    assert "6 matched; looked at " in result.stderr
    assert lines("ask", "//asked", "--count", "--since", "2999-01-01")[0]["matched"] == 0
    head, document = run("ask", "//asked[n=3]").stdout.splitlines()
    assert head.startswith(ids[3])
    assert document == "<asked><n>3</n></asked>"


def test_expressions_are_checked_before_anything_else() -> None:
    for name in ("ask", "subscribe"):
        error = failure(name, "//p:a", "--broker", "127.0.0.1:1")
        assert isinstance(error, SubscriptionError)
        assert "--namespace" in str(error)
        error = failure(name, "//a[b = $x]", "--broker", "127.0.0.1:1")
        assert "bind it (--variable NAME=VALUE)" in str(error)


@pytest.mark.parametrize(
    ("text", "span"),
    [
        ("90s", timedelta(seconds=90)),
        ("5m", timedelta(minutes=5)),
        ("5 min", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        ("7d", timedelta(days=7)),
    ],
)
def test_how_long_ago(text: str, span: timedelta) -> None:
    assert abs(datetime.now(UTC) - span - parse_since(text)) < timedelta(seconds=5)


def test_times_are_utc_unless_they_say() -> None:
    assert parse_since("2026-01-31T14:30") == datetime(2026, 1, 31, 14, 30, tzinfo=UTC)
    assert parse_since("2026-01-31T14:30+01:00") == datetime(2026, 1, 31, 13, 30, tzinfo=UTC)
    for text in ("", "2h ago", "-1h", "999999999w", "0001-01-01T00:00+14:00"):
        with pytest.raises(typer.BadParameter):
            parse_since(text)


# --- who may --------------------------------------------------------------------------------------


def test_tokens_and_certificates_let_in(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    rome = make_certificate(tmp_path, authority, "localhost")
    printed = run("token", 'desk "7"').stdout
    token, _, principal = printed.partition("\n")
    assert tomllib.loads(principal)["principals"][0]["name"] == 'desk "7"'
    (tmp_path / "broker.toml").write_text(principal)
    arguments = ["--config", str(tmp_path / "broker.toml"), "--listen", "localhost:0", "--json"]
    arguments += ["--tls-certificate", str(rome.certificate), "--tls-key", str(rome.key)]
    (tmp_path / "a.xml").write_text("<a/>")
    with command(tmp_path, "broker", *arguments) as running:
        running.until(running.json_lines)
        to = ("--broker", running.json_lines()[0]["address"])
        trusting = (*to, "--ca", str(authority.certificate))
        publish = ("publish", str(tmp_path / "a.xml"))
        assert len(lines(*publish, *trusting, "--token", token)) == 1
        result = CliRunner().invoke(app, [*publish, *trusting], env={"TWIGCAST_TOKEN": token})
        assert result.exit_code == 0
        assert "show a token" in str(failure(*publish, *trusting))
        assert isinstance(failure(*publish, *trusting, "--token", "twc_x"), RefusedError)
        assert isinstance(failure(*publish, *to, "--token", token), ConnectionFailedError)
        assert running.end() == 0


def test_every_token_is_new() -> None:
    told = [lines("token", "desk-7")[0] for _ in range(2)]
    assert {each["name"] for each in told} == {"desk-7"}
    assert len({each["token"] for each in told} | {each["hash"] for each in told}) == 4
    assert "anonymous" in str(failure("token", "anonymous"))
