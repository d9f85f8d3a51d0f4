"""``twigcast cover``, as a user calls it."""

from __future__ import annotations

import json
import sys
from itertools import islice, permutations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from folders import EXAMPLES
from tangled_patterns import CHAIN
from typer.testing import CliRunner
from workloads import example

from twigcast.cli import app
from twigcast.cli.spark_options import spark_settings
from twigcast.covering import covers
from twigcast.errors import TwigcastError
from twigcast.language import parse, read_subscriptions
from twigcast.workload import PathParameters, TreeParameters, generate_subscriptions

COMMAND = sys.modules["twigcast.cli.cover"]
"""The module; the package has the command itself under that name."""

STOCKS = """\
all\t//Stock
dear\t//Stock[Price>15]
too\t//Stock
price\t//Price
one\t/Feed/Stock[Price>20]
menu\t/menu/drink
"""


@pytest.fixture
def stocks(tmp_path: Path) -> Path:
    path = tmp_path / "stocks.txt"
    path.write_text(STOCKS, encoding="utf-8")
    return path


def told(*arguments: str | Path) -> dict[str, Any]:
    result = CliRunner().invoke(app, ["cover", *map(str, arguments), "--json"])
    assert result.exit_code == 0, result.output
    (line,) = result.stdout.splitlines()
    answer: dict[str, Any] = json.loads(line)
    return answer


def shown(*arguments: str | Path, columns: int = 200) -> str:
    result = CliRunner().invoke(app, ["cover", *map(str, arguments)], env={"COLUMNS": str(columns)})
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["cover", *map(str, arguments)], env={"COLUMNS": "200"})
    assert result.exit_code != 0
    return result.stderr


def test_the_json_tells_what_is_forwarded_and_who_covers_whom(stocks: Path) -> None:
    assert told(stocks) == {
        "subscriptions": 6,
        "patterns": 5,
        "forwarded": [
            {"pattern": "//Stock", "keys": ["all", "too"]},
            {"pattern": "//Price", "keys": ["price"]},
            {"pattern": "/menu/drink", "keys": ["menu"]},
        ],
        "covered": [
            {"key": "dear", "pattern": "//Stock[Price>15]", "by": ["all", "too"]},
            {"key": "one", "pattern": "/Feed/Stock[Price>20]", "by": ["all", "too"]},
        ],
    }


def test_the_tables_tell_the_same(stocks: Path) -> None:
    rows = [
        [cell.strip() for cell in line.split("│")[1:-1]]
        for line in shown(stocks).splitlines()
        if line.startswith("│")
    ]
    assert rows == [
        ["//Stock", "all, too", "2"],
        ["//Price", "price", "0"],
        ["/menu/drink", "menu", "0"],
        ["all, too", "2", "dear  //Stock[Price>15]"],
        ["", "", "one  /Feed/Stock[Price>20]"],
    ]
    assert shown(stocks).endswith("6 subscriptions, 5 distinct, 3 forwarded\n")


def test_what_is_told_holds_for_generated_subscriptions(tmp_path: Path) -> None:
    schema = example("news.dtd")
    patterns = [
        *islice(generate_subscriptions(schema, TreeParameters(), seed=3), 150),
        *islice(
            generate_subscriptions(schema, PathParameters(wildcard=0.01, descendant=0.02), seed=3),
            150,
        ),
    ]
    path = tmp_path / "some.txt"
    path.write_text("".join(f"k{n}\t{p}\n" for n, p in enumerate(patterns)), encoding="utf-8")
    answer = told(path)
    forwarded = {key: parse(one["pattern"]) for one in answer["forwarded"] for key in one["keys"]}
    for one in answer["covered"]:
        assert one["key"] not in forwarded
        assert all(covers(forwarded[key], parse(one["pattern"])) for key in one["by"])
    keys = [*forwarded, *(one["key"] for one in answer["covered"])]
    assert sorted(keys) == sorted(entry.key for entry in read_subscriptions(path))
    maximal = list({str(pattern): pattern for pattern in forwarded.values()}.values())
    assert not any(covers(p, q) for p in maximal for q in maximal if p is not q)


def test_the_order_of_the_file_does_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "chain.txt"
    for order in permutations(CHAIN):
        path.write_text("\n".join(order), encoding="utf-8")
        answer = told(path)
        assert [each["pattern"] for each in answer["forwarded"]] == [CHAIN[0]]
        assert len(answer["covered"]) == 2


def test_settings_of_spark_are_read_by_name() -> None:
    given = ["spark.ui.enabled=false", "spark.x = a=b ", "spark.ui.enabled=true"]
    assert spark_settings(given) == {"spark.ui.enabled": "true", "spark.x": "a=b"}
    assert spark_settings(None) == {}


def test_long_tables_are_cut(tmp_path: Path) -> None:
    path = tmp_path / "many.txt"
    lines = [f"a{n}\t/a/b{n}\nc{n}\t/a/b{n}/c\nd{n}\t/a/b0\n" for n in range(100)]
    path.write_text("".join(lines), encoding="utf-8")
    text = shown(path)
    assert text.count("… and 60 more") == 1
    assert text.count("… and 90 more") == 1
    assert "a0, d0, d1, d2, d3 … and 96 more" in text
    assert "300 subscriptions, 200 distinct, 100 forwarded" in text


def test_those_that_stand_for_nearly_all_are_named_last(tmp_path: Path) -> None:
    path = tmp_path / "wide.txt"
    lines = [f"a{n}\t/a/b{n}\n" for n in range(60)] + [f"c{n}\t/c/d{n}\n" for n in range(30)]
    path.write_text("".join([*lines, "c\t/c\n", "a\t/a\n", "e\t/e\n"]), encoding="utf-8")
    text = shown(path)
    assert text.endswith(
        "93 subscriptions, 93 distinct, 3 forwarded\na /a stands for 60\nc /c stands for 30\n"
    )
    rows = [[cell.strip() for cell in line.split("│")[1:-1]] for line in text.splitlines()]
    assert [row for row in rows if row and row[0] == "a"] == [["a", "60", "a0  /a/b0"]]
    assert ["", "", "… and 55 more"] in rows


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Two of the three children of an element, and everything below it with one in between."""
    (tmp_path / "small.dtd").write_text(
        "<!ELEMENT r (a, b, c)><!ELEMENT a (x)><!ELEMENT b (x)><!ELEMENT c (x)><!ELEMENT x EMPTY>"
    )
    path = tmp_path / "reports.txt"
    path.write_text("one\t/r/a/x\ntwo\t/r/b/x\n", encoding="utf-8")
    return path


def test_mergers_are_told_with_members_degree_and_rule(reports: Path) -> None:
    dtd = reports.parent / "small.dtd"
    answer = told(reports, "--dtd", dtd, "--merge", "0.5")
    assert answer["merged"] == ["/r/*/x"]
    (merger,) = answer["mergers"]
    assert merger["members"] == ["/r/a/x", "/r/b/x"]
    assert merger["degree"] == pytest.approx(1 / 3)
    assert merger["rule"] == "one element differs"
    perfect = told(reports, "--dtd", dtd, "--merge", "0")
    assert (perfect["merged"], perfect["mergers"]) == (["/r/a/x", "/r/b/x"], [])
    text = shown(reports, "--dtd", dtd, "--root", "r", "--merge", "0.5")
    assert "0.333" in text
    assert "2 subscriptions, 2 distinct, 2 forwarded, 1 after merging" in text


def test_paths_are_counted_to_the_depth_asked_for(tmp_path: Path) -> None:
    dtd = tmp_path / "deep.dtd"
    dtd.write_text(
        "<!ELEMENT r (a, b, c)><!ELEMENT a (x)><!ELEMENT b (x)><!ELEMENT c (d)>"
        "<!ELEMENT d (x)><!ELEMENT x EMPTY>"
    )
    path = tmp_path / "deep.txt"
    path.write_text("one\t/r/a//x\ntwo\t/r/b//x\n", encoding="utf-8")
    options = (path, "--dtd", dtd, "--merge", "0")
    # Within three elements /r/c/d/x, which neither asked for, is out of sight.
    assert told(*options, "--depth", "3")["merged"] == ["/r/*//x"]
    assert told(*options, "--depth", "4")["merged"] == ["/r/a//x", "/r/b//x"]
    assert told(*options) == told(*options, "--depth", "10")


def test_drawings_hold_the_patterns(stocks: Path, tmp_path: Path) -> None:
    svg, dot = tmp_path / "order.svg", tmp_path / "order.dot"
    shown(stocks, "--svg", svg, "--dot", dot)
    texts = "".join(ElementTree.parse(svg).getroot().itertext())
    for pattern in ("//Stock", "//Price", "/menu/drink"):
        assert pattern in texts
    assert "->" in dot.read_text(encoding="utf-8")


def test_large_sets_are_drawn_too(
    stocks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(COMMAND, "_MOST_IN_TREE", 2)
    svg, dot = tmp_path / "order.svg", tmp_path / "order.dot"
    shown(stocks, "--svg", svg, "--dot", dot)
    assert "each is below one that covers it" in svg.read_text(encoding="utf-8")
    assert dot.read_text(encoding="utf-8").count("->") == 2


@pytest.mark.parametrize(
    ("options", "remedy"),
    [
        (["--merge", "0"], "name one with --dtd"),
        (["--dtd", str(EXAMPLES / "news.dtd")], "goes with --merge"),
        (["--root", "news"], "goes with --dtd"),
        (["--depth", "5"], "goes with --merge"),
        (["--dtd", str(EXAMPLES / "news.dtd"), "--merge", "1.5"], "--merge"),
        (["--spark", "--merge", "0"], "--merge does not go with --spark"),
        (["--spark", "--svg", "order.svg"], "--svg does not go with --spark"),
        (["--spark", "--overwrite"], "--overwrite goes with --output"),
        (["--spark", "--conf", "spark.driver.memory"], "--conf takes NAME=VALUE"),
        (["--spark", "--conf", "memory=4g"], "its names start with spark."),
        (["--output", "out"], "--output goes with --spark"),
        (["--master", "local[1]"], "--master goes with --spark"),
        (["--conf", "spark.ui.enabled=false"], "--conf goes with --spark"),
    ],
)
def test_options_that_do_not_go_together_are_refused(
    stocks: Path, options: list[str], remedy: str
) -> None:
    assert remedy in refused(stocks, *options)


def test_a_bad_line_is_told_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "bad.txt"
    path.write_text("a\t/a\nb\t/a[\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["cover", str(path)])
    assert isinstance(result.exception, TwigcastError)
    assert "bad.txt, line 2" in str(result.exception)


def test_an_empty_file_has_nothing_to_forward(tmp_path: Path) -> None:
    path = tmp_path / "none.txt"
    path.write_text("# nobody\n", encoding="utf-8")
    assert told(path) == {"subscriptions": 0, "patterns": 0, "forwarded": [], "covered": []}
    assert "0 subscriptions" in shown(path)
