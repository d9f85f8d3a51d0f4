"""``twigcast simulate``, as a user calls it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner
from workloads import EXAMPLES

from twigcast.cli import app
from twigcast.documents import Source, decompose
from twigcast.errors import TwigcastError
from twigcast.routing import PAPER_STRATEGIES, STRATEGIES
from twigcast.simulation import Simulation

RUN = sys.modules["twigcast.cli.simulated_run"]

PROTEIN = str(EXAMPLES / "protein.dtd")
SMALL = ("--dtd", PROTEIN, "--subscriptions", "12", "--documents", "5")

OFFICES = """\
strategy = "covering"
brokers = ["london", "paris", "rome", "oslo"]
links = [
    { between = ["london", "paris"], latency_ms = 4 },
    { between = ["paris", "rome"], latency_ms = 6 },
]

[[clients]]
name = "agency"
broker = "london"
advertises = [{ id = "feed", dtd = "feed.dtd" }]

[[clients]]
name = "desk"
broker = "rome"
subscriptions = { all = "/feed", stock = "//stock", dear = "//stock[@price > 15]" }

[[clients]]
name = "beyond"
broker = "oslo"
subscriptions = { all = "/feed" }
"""


@pytest.fixture
def offices(tmp_path: Path) -> Path:
    """A network file, in which nothing leads to Oslo, and documents beside it."""
    (tmp_path / "feed.dtd").write_text(
        "<!ELEMENT feed (stock*)><!ELEMENT stock EMPTY><!ATTLIST stock price CDATA #REQUIRED>"
    )
    folder = tmp_path / "documents"
    folder.mkdir()
    (folder / "a.xml").write_text('<feed><stock price="20"/></feed>')
    (folder / "b.xml").write_text('<feed><stock price="10"/></feed>')
    (folder / "c.xml").write_text("<feed/>")
    path = tmp_path / "offices.toml"
    path.write_text(OFFICES, encoding="utf-8")
    return path


def told(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["simulate", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    answer: dict[str, Any] = json.loads(line)
    return answer


def by_strategy(answer: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["strategy"]: each for each in answer["strategies"]}


def shown(*arguments: str | Path, columns: int = 200) -> str:
    arguments = ("simulate", *arguments)
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str | Path) -> str:
    arguments = ("simulate", *arguments)
    result = CliRunner().invoke(app, [*map(str, arguments)], env={"COLUMNS": "400"})
    assert result.exit_code != 0
    error = result.exception
    return str(error) if isinstance(error, TwigcastError) else result.stderr


def rows(text: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in text.splitlines()
        if line.startswith("│")
    ]


# --- figures --------------------------------------------------------------------------------------


def test_the_six_strategies_of_the_paper_are_compared() -> None:
    answer = told(*SMALL)
    runs = by_strategy(answer)
    assert tuple(runs) == PAPER_STRATEGIES
    assert answer["is_right"]
    assert list(answer["subscribers"].values()) == ["b4", "b5", "b6", "b7"]
    assert list(answer["producers"].values()) == ["b1"]
    assert (answer["subscriptions"], answer["documents"]) == (48, 5)
    for run in runs.values():
        kinds = ("advertise", "unadvertise", "subscribe", "unsubscribe", "publish")
        assert run["received_by_brokers"] == sum(run["received"][kind] for kind in kinds)
        assert run["received"]["publish"] == run["crossings"] + 5
        assert run["deliveries"] == run["expected_deliveries"] > 0
    # To all 7 brokers; to the leaf, the one above it and the root.
    assert runs["flooding"]["received"]["subscribe"] == 7 * 48
    assert runs["advertisements"]["received"]["subscribe"] == 3 * 48
    assert runs["flooding"]["received"]["advertise"] == 1
    assert runs["advertisements"]["received"]["advertise"] == 7
    sizes = {name: run["tables"]["at_producers"] for name, run in runs.items()}
    assert sizes["advertisements-covering"] < sizes["advertisements"] == sizes["flooding"]
    assert sizes["imperfect-merging"] <= sizes["perfect-merging"]


def test_the_figures_of_a_network_file_can_be_told_by_hand(offices: Path) -> None:
    answer = told("--network", offices, offices.parent / "documents")
    (run,) = answer["strategies"]
    assert run["strategy"] == "covering"
    # Oslo is out of reach; of the three at Rome, two are told to Paris and London.
    assert run["received"]["subscribe"] == 3 + 2 + 2 + 1
    assert (run["received"]["advertise"], run["received"]["publish"]) == (1, 3 + 2 * 3)
    assert (run["deliveries"], run["expected_deliveries"]) == (3, 3)
    assert run["tables"] == {"patterns": 8, "entries": 8, "greatest": 3, "at_producers": 2}
    assert run["delay"]["mean"] == pytest.approx(0.010 + 3 * 0.0001)
    assert run["mean_hops"] == 2


def test_latencies_can_be_set(offices: Path) -> None:
    answer = told("--network", offices, "--latency-ms", "50", offices.parent / "documents")
    assert answer["strategies"][0]["delay"]["mean"] == pytest.approx(2 * 0.050 + 3 * 0.0001)


def test_documents_are_made_from_what_a_network_file_advertises(offices: Path) -> None:
    answer = told("--network", offices, "--documents", "7", "--strategy", "all")
    assert answer["documents"] == 7
    for run in answer["strategies"]:
        assert run["deliveries"] == 7


def test_the_overlay_of_a_file_can_have_other_clients(offices: Path) -> None:
    answer = told(*SMALL, "--topology", offices, "--strategy", "xnet", "--subscribers", "3")
    assert answer["brokers"] == ["london", "paris", "rome", "oslo"]
    assert list(answer["subscribers"]) == ["subscriber-1", "subscriber-2", "subscriber-3"]


def test_clients_can_be_spread() -> None:
    answer = told(*SMALL, "--subscribers", "6", "--producers", "3", "--strategy", "covering")
    assert len(answer["subscribers"]) == 6
    assert len(set(answer["subscribers"].values())) > 2
    assert len(answer["producers"]) == 3
    alone = told(*SMALL, "--subscribers", "6", "--strategy", "covering")
    assert alone["strategies"][0]["expected_deliveries"] == answer["strategies"][0]["deliveries"]


def test_paths_are_routed_by_themselves() -> None:
    answer = told(*SMALL, "--by-paths", "--strategy", "advertisements")
    whole = told(*SMALL, "--strategy", "advertisements")
    (by_paths,), (run,) = answer["strategies"], whole["strategies"]
    assert by_paths["deliveries"] == run["deliveries"]
    assert by_paths["received"]["publish"] > 2 * run["received"]["publish"]


def test_subscriptions_can_be_trees_with_values() -> None:
    options = (*SMALL, "--subscriptions", "3", "--shape", "tree", "--branching", "0.5")
    plain, compared = told(*options), told(*options, "--values", "1")
    for one, other in zip(plain["strategies"], compared["strategies"], strict=True):
        assert 0 < other["deliveries"] < one["deliveries"]


def test_a_publication_is_a_distinct_path(tmp_path: Path, offices: Path) -> None:
    offices.write_text(OFFICES.replace(', dear = "//stock[@price > 15]"', ""), encoding="utf-8")
    (run,) = told("--network", offices, "--by-paths", offices.parent / "documents")["strategies"]
    paths = [
        len(list(decompose(file.read_bytes(), ""))) for file in (tmp_path / "documents").iterdir()
    ]
    assert run["received"]["publish"] == 3 * sum(paths)


def test_subscribing_one_by_one_takes_more_messages_and_comes_to_the_same_tables() -> None:
    options = ("--dtd", PROTEIN, "--subscriptions", "40", "--documents", "3")
    (at_once,) = told(*options, "--strategy", "covering")["strategies"]
    (single,) = told(*options, "--strategy", "covering", "--one-by-one")["strategies"]
    assert single["received"]["subscribe"] > at_once["received"]["subscribe"]
    assert single["received"]["unsubscribe"] > at_once["received"]["unsubscribe"]
    assert single["tables"] == at_once["tables"]
    assert single["deliveries"] == at_once["deliveries"]


def test_every_broker_is_told_of() -> None:
    answer = told(*SMALL)
    for run in answer["strategies"]:
        brokers = run["by_broker"]
        assert [each["broker"] for each in brokers] == answer["brokers"]
        assert sum(each["messages"] for each in brokers) == run["received_by_brokers"]
        assert sum(each["patterns"] for each in brokers) == run["tables"]["patterns"]
        assert brokers[0]["patterns"] == run["tables"]["at_producers"]
        for kind, count in run["received"].items():
            assert sum(each["received"][kind] for each in brokers) == count


@pytest.mark.parametrize(
    ("shape", "wildcard", "descendant"), [("path", "0.02", "0.02"), ("tree", "0.1", "0.05")]
)
def test_how_wide_subscriptions_are_depends_on_their_shape(
    shape: str, wildcard: str, descendant: str
) -> None:
    options = (*SMALL, "--strategy", "covering", "--subscriptions", "60", "--shape", shape)
    usual = told(*options)["strategies"][0]["received"]
    chosen = ("--wildcard", wildcard, "--descendant", descendant)
    assert told(*options, *chosen)["strategies"][0]["received"] == usual
    for option in ("--wildcard", "--descendant"):
        assert told(*options, option, "0")["strategies"][0]["received"] != usual


def test_lost_frames_are_sent_again_and_change_nothing_else() -> None:
    (whole,) = told(*SMALL, "--strategy", "covering")["strategies"]
    (lossy,) = told(*SMALL, "--strategy", "covering", "--loss", "0.3")["strategies"]
    assert lossy["frames"]["lost"] > 10
    assert lossy["frames"]["resent"] > 10
    assert whole["frames"]["sent"] == 0
    for name in ("deliveries", "tables", "received"):
        assert lossy[name] == whole[name]
    assert lossy["delay"]["mean"] > whole["delay"]["mean"]


# --- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["flooding", "imperfect-merging:0.3", "xnet"])
def test_what_faults_lose_is_counted_and_afterwards_all_is_right(strategy: str) -> None:
    options = (*SMALL, "--documents", "20", "--strategy", strategy, "--faults", "6")
    answer = told(*options, "--loss", "0.05")
    (run,) = answer["strategies"]
    assert len(answer["faults"]) == 12
    assert run["missed"] > 0
    assert run["deliveries"] == run["expected_deliveries"] - run["missed"] + run["repeated"]
    assert answer["is_right"]
    text = shown(*options, "--loss", "0.05")
    assert "crashes" in text
    assert text.endswith(
        "right: once everything was whole again, every document went once to exactly those who "
        "want it\n"
    )


# --- what is shown --------------------------------------------------------------------------------


def test_the_table_tells_the_same_as_the_json() -> None:
    options = (*SMALL, "--strategy", "all", "--strategy", "xnet")
    runs = by_strategy(told(*options))
    text = shown(*options)
    for row in rows(text):
        run = runs[row[0]]
        received, tables = run["received"], run["tables"]
        assert [int(cell.replace(",", "")) for cell in row[1:9] + row[12:]] == [
            run["received_by_brokers"],
            *(received[kind] for kind in ("advertise", "subscribe", "unsubscribe", "publish")),
            run["crossings"],
            run["wasted"],
            run["deliveries"],
            *(tables[name] for name in ("greatest", "patterns", "at_producers")),
        ]
        assert float(row[9]) == pytest.approx(run["mean_hops"], abs=0.005)
        assert float(row[10]) == pytest.approx(1000 * run["delay"]["mean"], rel=0.01)
    assert [row[0] for row in rows(text)] == list(STRATEGIES)
    assert text.startswith("7 brokers, 6 links, 1 producer, 5 documents, 4 subscribers, 48 subscr")
    deliveries = runs["xnet"]["deliveries"]
    assert text.endswith(
        f"right: every document went once to exactly those who want it, {deliveries} deliveries\n"
    )


@pytest.mark.parametrize("columns", [80, 100, 120])
def test_tables_fit_the_console(columns: int) -> None:
    options = (*SMALL, "--faults", "2", "--loss", "0.1", "--measured")
    names = ("--strategy", "advertisements-covering", "--strategy", "imperfect-merging:0.25")
    text = shown(*options, *names, columns=columns)
    assert max(len(line) for line in text.splitlines() if line[0] in "│┃┏┡└") <= columns
    cells = {cell for row in rows(text) for cell in row}
    assert {"merging:0.25", "covering"} <= cells or "advertisements-covering" in cells
    assert "…" not in text


def test_the_same_command_prints_the_same() -> None:
    options = (*SMALL, "--strategy", "all", "--faults", "3", "--loss", "0.1")
    first = shown(*options)
    assert shown(*options) == first
    assert shown(*options, "--seed", "2") != first


def test_processor_time_is_shown_where_time_is_measured() -> None:
    names = ("--strategy", "covering")
    assert "processor" not in shown(*SMALL, *names)
    assert "processor" in shown(*SMALL, *names, "--measured")
    (measured,) = told(*SMALL, *names, "--measured")["strategies"]
    (fixed,) = told(*SMALL, *names)["strategies"]
    for name in ("received", "tables", "deliveries", "crossings", "by_link"):
        assert measured[name] == fixed[name]
    assert measured["processor_seconds"] > 0


def test_the_traffic_is_drawn(tmp_path: Path) -> None:
    target = tmp_path / "overlay.svg"
    shown(*SMALL, "--strategy", "covering", "--svg", target)
    texts = "".join(ElementTree.parse(target).getroot().itertext())
    assert "covering: messages between brokers" in texts
    (run,) = told(*SMALL, "--strategy", "covering")["strategies"]
    for link in run["by_link"]:
        assert f"{link['link'].replace('-', ' – ')}: {link['messages']:,} messages" in texts


def test_each_of_several_strategies_is_drawn(tmp_path: Path) -> None:
    names = ("--strategy", "flooding", "--strategy", "imperfect-merging:0.25")
    shown(*SMALL, *names, "--svg", tmp_path / "overlay.svg")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "overlay-flooding.svg",
        "overlay-imperfect-merging-0.25.svg",
    ]


# --- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ([], "name one with --dtd"),
        (["--dtd", "nowhere.dtd"], "name another DTD with --dtd"),
        ([*SMALL, "--topology", "tree:levels=3"], "as in 'tree:levels=3,fanout=2'"),
        ([*SMALL, "--topology", "ring:count=3"], "allowed are: tree:levels=3,fanout=2, chain"),
        ([*SMALL, "--strategy", "merging"], "choose one of: flooding, covering, advertisements"),
        ([*SMALL, "--strategy", "merging"], "all stands for the six"),
        ([*SMALL, "--strategy", "imperfect-merging:1.5"], "from 0 to 1"),
        (["--dtd", PROTEIN, "--by-paths", "--shape", "tree"], "--shape path, without --values"),
        ([*SMALL, "--by-paths", "--values", "0.5"], "without --values"),
        ([*SMALL, "--loss", "1"], "--loss"),
        ([*SMALL, str(EXAMPLES / "documents")], "leave it out, or the files"),
        (["--network", "nowhere.toml"], "give the path of a network file"),
    ],
)
def test_what_cannot_be_is_told_with_its_remedy(options: list[str], remedy: str) -> None:
    assert remedy in refused(*options)


def test_options_for_clients_that_are_made_do_not_go_with_a_file(offices: Path) -> None:
    said = refused("--network", offices, "--subscriptions", "5")
    assert f"--topology {offices} --dtd" in said


@pytest.mark.parametrize(
    ("before", "after", "remedy"),
    [
        ('dtd = "feed.dtd"', "anything = true", "name files to publish"),
        ('advertises = [{ id = "feed", dtd = "feed.dtd" }]', "", "no client advertises anything"),
        ("subscriptions = ", "namespaces = ", "no client subscribes to anything"),
    ],
)
def test_a_network_file_needs_both_sides(
    offices: Path, before: str, after: str, remedy: str
) -> None:
    text = OFFICES.replace('dear = "//stock[@price > 15]"', 'dear = "//s"')
    assert before in text
    offices.write_text(text.replace(before, after), encoding="utf-8")
    assert remedy in refused("--network", offices)


def test_merging_needs_something_to_count(offices: Path) -> None:
    offices.write_text(OFFICES.replace('dtd = "feed.dtd"', "anything = true"), encoding="utf-8")
    options = ("--network", offices, offices.parent / "documents")
    assert told(*options, "--strategy", "xnet")["is_right"]
    assert "let one advertise a dtd or a path" in refused(*options, "--strategy", "all")


def test_paths_need_linear_subscriptions_in_a_file_too(offices: Path) -> None:
    said = refused("--network", offices, "--by-paths")
    assert "'desk': 'dear' is //stock[@price>15]" in said


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("<feed><bond/></feed>", "no client advertises such documents"),
        ("<feed><stock></feed>", "bad.xml: line 1"),
    ],
)
def test_documents_that_cannot_be_published_are_named(
    offices: Path, content: str, reason: str
) -> None:
    path = offices.parent / "documents" / "bad.xml"
    path.write_text(content)
    said = refused("--network", offices, path.parent)
    assert reason in said
    assert str(path) in said


class Forgetful(Simulation):
    """Loses the content of every document, and has another one arrive."""

    def publish(self, client: str, content: Source, *, by_paths: bool = False) -> None:
        super().publish(client, b"<ProteinDatabase/>", by_paths=by_paths)


class Stuttering(Simulation):
    """Says everything twice."""

    def publish(self, client: str, content: Source, *, by_paths: bool = False) -> None:
        super().publish(client, content, by_paths=by_paths)
        super().publish(client, content, by_paths=by_paths)


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Forgetful, "does not get document 1"), (Stuttering, "which nobody published")],
)
def test_a_network_that_delivers_wrongly_is_an_error(
    kind: type[Simulation], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(RUN, "Simulation", kind)
    result = CliRunner().invoke(app, ["simulate", *SMALL, "--strategy", "covering"])
    assert result.exit_code == 1
    assert "covering: subscriber-" in result.stderr
    assert said in result.stderr
    assert "right" not in result.stdout
    answer = CliRunner().invoke(app, ["simulate", *SMALL, "--strategy", "covering", "--json"])
    assert answer.exit_code == 1
    assert not json.loads(answer.stdout)["is_right"]
