"""The papers' experiments with brokers and networks, at sizes that take a moment."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from workloads import example

from lab.benchmarks.measure import quiet
from lab.experiments import (
    EXPERIMENTS,
    Outcome,
    Setting,
    false_positives,
    network_traffic,
    notification_delay,
    publication_routing,
)
from lab.experiments.broker_tables import (
    covered_table,
    matched,
    merged_table,
    publication_table,
)
from lab.experiments.publications import generate_publications
from lab.experiments.simulated_network import SimulatedNetwork, draw, sent_once
from lab.published.expression_sets import PROTEIN, covered_share
from lab.published.figures import NETWORK_MESSAGES
from twigcast import parse
from twigcast.covering import PathCounter
from twigcast.routing import PAPER_STRATEGIES
from twigcast.simulation import balanced_tree


@pytest.fixture
def setting(monkeypatch: pytest.MonkeyPatch) -> Setting:
    """Tiny sizes, whichever experiment is run."""
    monkeypatch.setattr(publication_routing, "_QUICK_EXPRESSIONS", 150)
    monkeypatch.setattr(publication_routing, "_QUICK_DOCUMENTS", 3)
    monkeypatch.setattr(false_positives, "_QUICK_EXPRESSIONS", 150)
    monkeypatch.setattr(false_positives, "_QUICK_DEALT", 60)
    monkeypatch.setattr(false_positives, "_QUICK_DOCUMENTS", 3)
    monkeypatch.setattr(false_positives, "_QUICK_DEGREES", (0.0, 0.1, 0.5))
    few = [replace(case, expressions=20, documents=1) for case in network_traffic._QUICK]
    monkeypatch.setattr(network_traffic, "_QUICK", tuple(few))
    short = replace(
        notification_delay._QUICK, expressions=60, proteins=60, hops=(1, 2, 3), documents=1
    )
    monkeypatch.setattr(notification_delay, "_QUICK", short)
    return Setting(example("news.dtd"), example("protein.dtd"), rounds=1)


def sheet(outcome: Outcome, name: str) -> list[dict[str, Any]]:
    (chosen,) = [one for one in outcome.sheets if one.name == name]
    rows: Any = chosen.as_json()["rows"]
    return list(rows)


# Table 1


def test_publications_are_routed_with_what_each_strategy_leaves(setting: Setting) -> None:
    outcome = EXPERIMENTS["publication-routing"].run(setting)
    assert [one.name[-5:] for one in outcome.sheets] == ["set-a", "set-b"]
    for name, first in (("set-a", 13.96), ("set-b", 14.23)):
        rows = sheet(outcome, f"publication-routing-{name}")
        assert [row["table"] for row in rows] == [
            "no covering",
            "covering",
            "perfect merging",
            "imperfect merging",
        ]
        sizes = [row["expressions left"] for row in rows]
        assert sizes[0] == 150 > sizes[1] >= sizes[2] >= sizes[3] > 0
        assert rows[0]["paper, ms"] == first
        assert (rows[0]["paper, ratio"], rows[0]["ratio"], rows[0]["its ratio"]) == (1, 1, 1)
        for row in rows:
            assert row["a publication, µs"] > 0
            assert row["a whole document, µs"] > row["for each of its paths, µs"] > 0


def test_the_paper_is_drawn_at_the_sizes_that_it_gives(setting: Setting) -> None:
    outcome = EXPERIMENTS["publication-routing"].run(setting)
    drawn = [panel.lines[-1].points for panel in outcome.panels]
    assert [point[0] for point in drawn[0]] == pytest.approx([6_700, 8_700, 10_000, 100_000])
    assert [point[1] for point in drawn[0]] == [1_270, 1_870, 2_150, 13_960]
    assert [point[0] for point in drawn[1]] == pytest.approx([50_000, 100_000])


def test_every_path_of_a_document_is_published() -> None:
    schema = example("protein.dtd")
    every = generate_publications(schema, 2, seed=1, size=2_000, distinct=False)
    once = generate_publications(schema, 2, seed=1, size=2_000)
    assert every.documents == once.documents
    for all_paths, distinct in zip(every.by_document, once.by_document, strict=True):
        assert len(set(all_paths)) == len(distinct) < len(all_paths)
    assert every.mean == len(every.paths) / 2
    assert once.paths[0] == b"<proteins><release></release></proteins>"


def test_a_merged_table_matches_what_the_expressions_do_and_perhaps_more() -> None:
    schema = example("protein.dtd")
    wanted = [
        parse(text) for text in ("/proteins/entry/header/uid", "/proteins/entry/header/created")
    ]
    covered = covered_table([*wanted, wanted[0]], "", quiet)
    assert covered == wanted
    merged = merged_table(covered, PathCounter(schema), 1.0, "", quiet)
    assert len(merged) < len(covered)
    paths = generate_publications(schema, 5, seed=1, size=2_000).paths
    exact, wide = (matched(publication_table(each), paths) for each in (covered, merged))
    assert 0 < exact < wide <= len(paths)


# Tables 2 and 3


def test_traffic_stands_beside_the_papers(setting: Setting) -> None:
    outcome = EXPERIMENTS["network-traffic"].run(setting)
    for name, brokers, leaves, printed in (("7", 7, 4, 7), ("31", 31, 16, 127)):
        rows = sheet(outcome, f"network-traffic-{name}-brokers")
        kinds = sheet(outcome, f"network-traffic-{name}-brokers-kinds")
        assert [row["strategy"] for row in rows] == list(PAPER_STRATEGIES)
        theirs = {row["strategy"]: row["paper, messages"] for row in rows}
        assert theirs == NETWORK_MESSAGES[printed]
        assert kinds[0]["subscriptions"] == leaves * 20 * brokers
        assert kinds[0]["advertisements"] == 0
        assert {row["advertisements"] for row in kinds[2:]} == {58 * brokers}
        # Strategies that allow no false positive send publications over the same links.
        assert len({row["publications"] for row in kinds[:-1]}) == 1
        assert all(row["of these in vain"] == 0 for row in kinds[:-1])
        for row, kind in zip(rows, kinds, strict=True):
            parts = ("advertisements", "subscriptions", "cancellations", "publications")
            assert row["our messages"] == sum(kind[part] for part in parts)
            assert row["our ms"] > row["processing, ms"] > 0
        assert rows[0]["our messages"] > rows[0]["sent once"] > kinds[0]["publications"]
        assert rows[1]["sent once"] is None
        sent = [kind["subscriptions"] + kind["cancellations"] for kind in kinds]
        assert sent[3] < sent[1] < sent[0]
        assert sent[3] < sent[2] < sent[0]
    gathered = sheet(outcome, "network-traffic-7-brokers-gathering")
    for name in ("advertisements-covering", "perfect-merging"):
        between = [row[name] for row in gathered]
        assert between[0] > between[-1]


def test_merging_before_sending_saves_what_brokers_say_to_each_other() -> None:
    """Less than 0.7 of what covering takes, though brokers never gather two expressions."""
    schema, overlay = example("protein.dtd"), balanced_tree(3, 2)
    wanted = draw(PROTEIN.take(schema, 200), overlay.leaves, 100, seed=1)
    covering, merging = (
        SimulatedNetwork(overlay, strategy, schema, "b2", wanted, quiet).control.between
        for strategy in ("advertisements-covering", "perfect-merging")
    )
    assert 0 < merging < 0.7 * covering


def test_what_is_sent_once_is_what_covering_sends_of_expressions_that_do_not_cover() -> None:
    schema = example("protein.dtd")
    overlay = balanced_tree(3, 2)
    texts = ("header/uid", "header/created", "summary/length", "summary/weight", "sequence")
    pool = [parse(f"/proteins/entry/{text}") for text in texts]
    wanted = draw(pool, overlay.leaves, 3, seed=2)
    assert all(len(set(each)) == 3 for each in wanted.values())
    assert wanted != draw(pool, overlay.leaves, 3, seed=3)
    for strategy, origin in (("covering", None), ("advertisements-covering", "b2")):
        network = SimulatedNetwork(overlay, strategy, schema, "b2", wanted, quiet)
        assert network.control.unsubscribe == 0
        assert network.control.subscribe == sent_once(overlay, wanted, origin)


def test_publications_are_followed_one_by_one() -> None:
    schema = example("protein.dtd")
    overlay = balanced_tree(2, 2, latency=0.5)
    pattern = parse("/proteins/release")
    network = SimulatedNetwork(overlay, "flooding", schema, "b1", {"b2": [pattern]}, quiet)
    wanted, other = b"<proteins><release/></proteins>", b"<proteins><entry/></proteins>"
    sent = network.publish([wanted, wanted, other], "", quiet)
    assert (sent.messages, sent.crossings, sent.wasted, sent.notifications) == (5, 2, 0, 2)
    assert sent.hops == 1
    assert 0.5 < sent.delay < 0.6
    assert 0.5 < network.carry(wanted) < 0.6


# Figure 9


def test_false_positives_come_with_imperfect_mergers_only(setting: Setting) -> None:
    outcome = EXPERIMENTS["false-positives"].run(setting)
    seen = 0
    for name in ("one-broker", "network"):
        rows = sheet(outcome, f"false-positives-{name}")
        assert len(rows) == 3 * 3
        for row in rows:
            seen += row["false positives"]
            if row["D allowed"] == 0:
                assert row["false positives"] == 0
            assert row["paper, share"] == ("below 2 %" if row["D allowed"] == 0.1 else None)
        assert {row["expressions"] for row in rows} == {"Set A", "Set B", "proteins"}
    assert seen
    assert all(panel.levels[0].height == 2 for panel in outcome.panels)


# Figures 10 and 11


def test_delays_grow_with_hops_and_size(setting: Setting) -> None:
    # The best of several rounds counts, which a busy machine does not disturb all.
    outcome = EXPERIMENTS["notification-delay"].run(replace(setting, rounds=7))
    for name in ("news", "proteins"):
        rows = sheet(outcome, f"notification-delay-{name}")
        assert [row["hops"] for row in rows] == [1, 2, 3] * 2
        for row in rows:
            on_links = 1e3 * row["hops"] * notification_delay.LATENCY
            assert row["delay, covering, ms"] == pytest.approx(on_links + row["covering, ms"])
            assert (
                row["ratio"] == row["covering, ms"] / row["by paths: processing, no covering, ms"]
            )
        # Ten times the size has several times the paths, whatever else the machine does.
        assert rows[-1]["covering, ms"] > rows[2]["covering, ms"] > 0
    summary = sheet(outcome, "notification-delay-summary")
    assert summary[0]["paper"] == "up to 74.0 % shorter"
    assert sum(row["paper"] == "linear" for row in summary) == 4


def test_a_workload_of_proteins_is_covered_as_the_papers_is() -> None:
    patterns = PROTEIN.take(example("protein.dtd"), 1_000)
    assert covered_share(patterns) == pytest.approx(0.9, abs=0.05)
