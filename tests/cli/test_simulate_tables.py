"""What ``twigcast simulate`` shows: tables of any width, drawings, and to whom."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from folders import EXAMPLES
from simulate_calls import SMALL, by_strategy, rows, shown, told

from twigcast.routing import STRATEGIES


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


@pytest.mark.parametrize("columns", [40, 60, 80, 100, 120])
def test_tables_fit_the_console_and_nothing_in_them_is_cut(columns: int) -> None:
    options = (*SMALL, "--faults", "2", "--loss", "0.1", "--latency-ms", "55")
    names = ["advertisements-covering", "imperfect-merging:0.25"]
    named = [part for name in names for part in ("--strategy", name)]
    text = shown(*options, *named, columns=columns)
    assert max(len(line) for line in text.splitlines() if line[0] in "│┃┏┡└") <= columns
    found = rows(text)
    assert [row[0] for row in found] == names * (len(found) // 2)
    assert "…" not in "".join(line for line in text.splitlines() if line[0] in "│┃")
    wide = rows(shown(*options, *named, columns=300))
    assert len(wide) == 2
    for number, row in enumerate(wide):
        assert row[1:] == [cell for part in found[number::2] for cell in part[1:]]


def test_a_table_goes_beyond_the_edge_rather_than_be_cut() -> None:
    text = shown(*SMALL, "--strategy", "advertisements-covering", columns=20)
    assert {row[0] for row in rows(text)} == {"advertisements-covering"}
    assert "producer's" in text


@pytest.mark.parametrize(
    ("latency", "delay"), [("0.5", "1.30"), ("10", "20.3"), ("50", "100"), ("600", "1,200")]
)
def test_delays_have_three_digits_or_are_whole(latency: str, delay: str) -> None:
    text = shown(*SMALL, "--strategy", "covering", "--latency-ms", latency)
    assert rows(text)[0][10] == delay


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


def test_the_page_explains_every_field_of_the_json() -> None:
    page = (EXAMPLES.parent / "docs" / "simulation.md").read_text(encoding="utf-8")
    section = page.partition("## The JSON object")[2].partition("\n## ")[0]
    explained = set(re.findall(r"`(\w+)`", section))
    answer = told(*SMALL, "--strategy", "covering")
    (run,) = answer["strategies"]
    assert {*answer, *run, *run["delay"], *run["tables"], *run["frames"]} <= explained
    paper = {"advertise", "unadvertise", "subscribe", "unsubscribe", "publish"}
    assert set(run["received"]) <= explained | paper


@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_reader_who_goes_away_is_no_wrong_delivery(form: list[str]) -> None:
    script = "from twigcast.cli import main; main()"
    reader, writer = os.pipe()
    os.close(reader)
    try:
        result = subprocess.run(
            [sys.executable, "-c", script, "simulate", *SMALL, "--strategy", "covering", *form],
            stdout=writer,
            stderr=subprocess.PIPE,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (result.returncode, result.stderr) == (0, b"")
