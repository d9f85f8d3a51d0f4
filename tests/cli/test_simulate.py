"""``twigcast simulate``, as a user calls it."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

import pytest
from folders import EXAMPLES
from simulate_calls import PROTEIN, SMALL, by_strategy, refused, rows, shown, told
from typer.testing import CliRunner

from twigcast.cli import app
from twigcast.cli.simulate import simulate
from twigcast.documents import Source
from twigcast.routing import PAPER_STRATEGIES
from twigcast.simulation import Scenario, Simulation
from twigcast.simulation.scenario import run as scenario_run

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


# --- an overlay in parts --------------------------------------------------------------------------


def test_clients_that_no_way_leads_to_are_counted_and_told_of(offices: Path) -> None:
    folder = offices.parent / "documents"
    options = ["simulate", "--network", str(offices), str(folder)]
    result = CliRunner().invoke(app, options, env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert "warning: the overlay falls into 2 parts" in result.stderr
    assert "no link leads from the largest to: oslo;" in result.stderr
    assert "right" not in result.stdout
    assert result.stdout.endswith(
        "not all can be reached: no path leads to 3 wanted deliveries; every document went once to "
        "exactly the others who want it, 3 deliveries\n"
    )
    (row,) = rows(result.stdout)
    assert row[8:10] == ["3", "3"]  # delivered, and out of reach
    answer = told("--network", offices, folder)
    (run,) = answer["strategies"]
    assert (answer["parts"], run["unreachable_deliveries"]) == (2, 3)
    assert run["expected_deliveries"] == run["deliveries"] == 3


def test_an_overlay_in_one_part_is_not_warned_of() -> None:
    result = CliRunner().invoke(app, ["simulate", *SMALL, "--strategy", "covering"])
    assert result.stderr == ""
    assert "reach" not in result.stdout
    answer = told(*SMALL, "--strategy", "covering")
    assert (answer["parts"], answer["strategies"][0]["unreachable_deliveries"]) == (1, 0)


def test_a_budget_makes_tables_smaller_and_lets_documents_through_in_vain() -> None:
    options = ["--topology", "hierarchy:3x4", "--dtd", PROTEIN, "--strategy", "covering"]
    free, tight = (
        told(*options, "--documents", "10", *more) for more in ((), ("--most-patterns", "2"))
    )
    assert (free["options"]["most_patterns"], tight["options"]["most_patterns"]) == (None, 2)
    (run,), (cut,) = free["strategies"], tight["strategies"]
    assert cut["tables"]["greatest"] < run["tables"]["greatest"]
    assert run["wasted"] == 0
    assert cut["deliveries"] == run["deliveries"]
    assert "at most 2 patterns of a unit" in shown(*options, "--most-patterns", "2")


def test_what_units_keep_from_passing_is_said(tmp_path: Path) -> None:
    path = tmp_path / "three.toml"
    path.write_text(
        'brokers = ["south/s", "north/a", "north/m", "north/b", "west/w"]\n'
        'gateways = { "south/s" = "south", "north/a" = "north", "north/b" = "north", '
        '"west/w" = "west" }\n'
        'links = [{ between = ["south/s", "north/a"] }, { between = ["north/a", "north/m"] }, '
        '{ between = ["north/m", "north/b"] }, { between = ["north/b", "west/w"] }]\n',
        encoding="utf-8",
    )
    options = ["--topology", str(path), "--dtd", str(PROTEIN), "--strategy", "covering"]
    result = CliRunner().invoke(app, ["simulate", *options, "--documents", "5"])
    assert result.exit_code == 0
    assert "link the gateways of that unit with each other" in result.stderr
    assert "not all can be reached" in result.stdout
    path.write_text(
        path.read_text().replace("links = [", 'links = [{ between = ["north/a", "north/b"] }, ')
    )
    result = CliRunner().invoke(app, ["simulate", *options, "--documents", "5"])
    assert result.stderr == ""
    assert "right: every document" in result.stdout


def test_of_many_parts_the_first_are_named(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(20)]
    links = [{"between": [names[0], name]} for name in names[1:8]]
    links += [{"between": [names[8], name]} for name in names[9:15]]
    between = ", ".join(f"{{ between = {json.dumps(link['between'])} }}" for link in links)
    path = tmp_path / "parts.toml"
    path.write_text(f"brokers = {json.dumps(names)}\nlinks = [{between}]\n")
    options = (*SMALL, "--topology", str(path), "--strategy", "covering", "--subscribers", "20")
    result = CliRunner().invoke(app, ["simulate", *options])
    assert result.exit_code == 0
    assert (
        "falls into 7 parts, and no link leads from the largest to: "
        "n8, n9, n10, n11, n12 and 2 more; n15; n16; and 3 others;"
    ) in result.stderr


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


def test_subscriptions_can_be_trees_with_values() -> None:
    options = (*SMALL, "--subscriptions", "3", "--shape", "tree", "--branching", "0.5")
    plain, compared = told(*options), told(*options, "--values", "1")
    for one, other in zip(plain["strategies"], compared["strategies"], strict=True):
        assert 0 < other["deliveries"] < one["deliveries"]


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


def test_the_json_says_what_was_run(offices: Path) -> None:
    options = told(*SMALL, "--loss", "0.1", "--faults", "1", "--strategy", "xnet")["options"]
    assert options == {
        "topology": "tree:levels=3,fanout=2",
        "dtd": PROTEIN,
        "xsd": None,
        "root": None,
        "strategy": ["xnet"],
        "subscriptions": 12,
        "subscribers": None,
        "producers": 1,
        "documents": 5,
        "shape": "path",
        "length": 10,
        "wildcard": 0.02,
        "descendant": 0.02,
        "skew": 1.0,
        "values": 0.0,
        "one_by_one": False,
        "most_patterns": None,
        "latency_ms": None,
        "loss": 0.1,
        "faults": 1,
        "measured": False,
        "seed": 1,
    }
    tree = told(*SMALL, "--shape", "tree", "--wildcard", "0", "--strategy", "xnet")["options"]
    assert [tree[name] for name in ("wildcard", "descendant", "branching")] == [0, 0.05, 0.1]
    folder = str(offices.parent / "documents")
    of_file = told("--network", offices, folder)["options"]
    assert (of_file["network"], of_file["files"]) == (str(offices), [folder])
    assert of_file["strategy"] == ["covering"]
    assert not {"topology", "dtd", "shape", "length", "documents"} & set(of_file)


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


def test_every_option_of_the_command_is_a_field() -> None:
    options = set(simulate.__annotations__) - {"context", "return", "svg", "json"}
    assert {"strategy" if name == "strategies" else name for name in options} == {
        each.name for each in fields(Scenario)
    }


# --- what is wrong --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        ([], "name one with --dtd"),
        (["--dtd", "nowhere.dtd"], "name another file with --dtd or --xsd"),
        ([*SMALL, "--topology", "tree:levels=3"], "as in 'tree:levels=3,fanout=2'"),
        ([*SMALL, "--topology", "ring:count=3"], "allowed are: tree:levels=3,fanout=2, chain"),
        ([*SMALL, "--strategy", "merging"], "choose one of: flooding, covering, advertisements"),
        ([*SMALL, "--strategy", "merging"], "all stands for the six"),
        ([*SMALL, "--strategy", "imperfect-merging:1.5"], "from 0 to 1"),
        ([*SMALL, "--strategy", "imperfect-merging:x"], "a number from 0 to 1, not 'x'"),
        ([*SMALL, "--strategy", "merging"], "Invalid value for --strategy: "),
        ([*SMALL, "--topology", "ring:count=3"], "Invalid value for --topology: "),
        ([*SMALL, "--loss", "1"], "--loss"),
        ([*SMALL, str(EXAMPLES / "documents")], "leave it out, or the files"),
        (["--network", "nowhere.toml"], "give the path of a TOML file"),
    ],
)
def test_what_cannot_be_is_told_with_its_remedy(options: list[str], remedy: str) -> None:
    assert remedy in refused(*options)


def test_a_dtd_with_several_roots_is_named_with_the_option_that_chooses(tmp_path: Path) -> None:
    path = tmp_path / "two.dtd"
    path.write_text("<!ELEMENT a (c)><!ELEMENT b (c)><!ELEMENT c EMPTY>")
    said = refused("--dtd", path)
    assert said == f"{path}: the root element is not plain; choose one with --root: a, b"
    assert refused("--dtd", path, "--root", "d").startswith(f"{path}: ")
    assert told("--dtd", path, "--root", "b", "--subscriptions", "2")["is_right"]


def test_too_many_distinct_subscriptions_are_refused_with_what_would_help(tmp_path: Path) -> None:
    path = tmp_path / "small.dtd"
    path.write_text("<!ELEMENT a (b?)><!ELEMENT b EMPTY>")
    said = refused("--dtd", path, "--subscriptions", "3000")
    assert "distinct subscriptions, or hardly more" in said
    assert "fewer with --subscriptions" in said
    assert "--wildcard, --descendant" in said


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

    def publish(self, client: str, content: Source, *, scope: str = "") -> None:
        super().publish(client, b"<ProteinDatabase/>")


class Stuttering(Simulation):
    """Says everything twice."""

    def publish(self, client: str, content: Source, *, scope: str = "") -> None:
        super().publish(client, content)
        super().publish(client, content)


@pytest.mark.parametrize(
    ("kind", "said"),
    [(Forgetful, "does not get document 1"), (Stuttering, "which nobody published")],
)
def test_a_network_that_delivers_wrongly_is_an_error(
    kind: type[Simulation], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scenario_run, "Simulation", kind)
    result = CliRunner().invoke(app, ["simulate", *SMALL, "--strategy", "covering"])
    assert result.exit_code == 1
    assert "covering: subscriber-" in result.stderr
    assert said in result.stderr
    assert "right" not in result.stdout
    answer = CliRunner().invoke(app, ["simulate", *SMALL, "--strategy", "covering", "--json"])
    assert answer.exit_code == 1
    assert not json.loads(answer.stdout)["is_right"]
