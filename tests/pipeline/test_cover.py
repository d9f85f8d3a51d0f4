"""``twigcast.pipeline.cover``: what Spark leaves is what one machine leaves."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tangled_patterns import CIRCLE, draw_tangle, minimal_places
from typer.testing import CliRunner
from workloads import example

from twigcast.cli import app
from twigcast.covering import CoveringTable, replaced_patterns
from twigcast.errors import PipelineError, SubscriptionFileError
from twigcast.language import Pattern, parse, read_subscriptions
from twigcast.workload import (
    PathParameters,
    TreeParameters,
    ValueParameters,
    generate_subscriptions,
)

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import pyarrow as pa

from twigcast.pipeline import cover
from twigcast.pipeline.cover.expressions import read_expressions
from twigcast.pipeline.cover.groups import GONE, HIDDEN, STAYS, Cells, Homes, take_first_look
from twigcast.pipeline.subscriptions import load_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

COVER = sys.modules["twigcast.pipeline.cover.job"]
"""The module; the package has the function itself under that name."""


def of_one_machine(path: Path) -> dict[str, tuple[int, int]]:
    """The texts that are forwarded, with the line of the first subscription and how many keys."""
    table = CoveringTable()
    first: dict[Pattern, int] = {}
    for number, subscription in enumerate(read_subscriptions(path), start=1):
        table.add(subscription.key, subscription.pattern)
        first.setdefault(subscription.pattern, number)
    replaced = replaced_patterns(table)
    return {
        str(pattern): (first[pattern], len(table.keys_of(pattern)))
        for pattern in table.patterns
        if pattern not in replaced
    }


def found(frame: DataFrame) -> dict[str, tuple[int, int]]:
    rows = frame.collect()
    assert len({row.position for row in rows}) == len(rows)
    return {row.pattern: (row.position, row["keys"]) for row in rows}


def written(path: Path, texts: Iterable[object]) -> Path:
    lines = [f"k{number}\t{text}\n" for number, text in enumerate(texts, start=1)]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def mixed(count: int) -> list[str]:
    """Paths and trees, some with values, in no order; a tenth of them twice."""
    schema = example("protein.dtd")
    paths = PathParameters(length=6, wildcard=0.03, descendant=0.05)
    trees = TreeParameters(height=6, wildcard=0.1, descendant=0.1, branching=0.3)
    values = ValueParameters(fraction=0.4)
    texts = [
        *map(str, islice(generate_subscriptions(schema, paths, seed=1), count // 3)),
        *map(str, islice(generate_subscriptions(schema, trees, seed=2), count // 3)),
        *map(str, islice(generate_subscriptions(schema, trees, seed=3, values=values), count // 3)),
    ]
    # With /* and its like nothing else would be left.
    texts = [text for text in texts if len(text) > 25]
    random = Random(4)
    texts += random.sample(texts, len(texts) // 10)
    random.shuffle(texts)
    return texts


def test_generated_subscriptions_leave_what_one_machine_leaves(
    spark: SparkSession, tmp_path: Path
) -> None:
    texts = mixed(3_000)
    path = written(tmp_path / "mixed.txt", texts)
    result = cover(spark, str(path))
    expected = of_one_machine(path)
    assert found(result.frame) == expected
    assert 100 < len(expected) < len(set(texts)) / 2
    assert (result.subscriptions, result.skipped) == (len(texts), 0)
    assert (result.distinct, result.forwarded) == (len(set(texts)), len(expected))
    assert result.refused.isEmpty()
    result.frame.unpersist()


def test_it_does_not_matter_how_the_work_is_cut(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(6)
    patterns: dict[Pattern, None] = {}
    for number in range(150):
        # Roots of their own, so that one wide pattern does not cover them all.
        for pattern in draw_tangle(random, 14, root=f"z{number}"):
            if str(pattern).startswith(f"/z{number}"):
                patterns[pattern] = None
    path = written(tmp_path / "tangle.txt", patterns)
    expected = of_one_machine(path)
    monkeypatch.setattr(COVER, "_MOST_TOGETHER", 40)
    assert found(cover(spark, str(path)).frame) == expected
    assert len(expected) > 60


NAMELESS = ["/*/*/*", "/*/*/*[1]", "/*/*[*[1]]", "/*/*[2]/*", "//*[*/*]/*", "//*/*[. > 1]/*/*"]
"""Patterns without names; some are equivalent, and some have a position."""


def test_a_first_look_leaves_out_of_sight_only_what_decides_nothing() -> None:
    random = Random(7)
    fates: Counter[int] = Counter()
    for _ in range(150):
        texts = map(str, draw_tangle(random, 14))
        patterns = list({parse(text): None for text in (*random.sample(NAMELESS, 3), *texts)})
        random.shuffle(patterns)
        places = random.sample(range(len(patterns)), len(patterns))
        seen = pa.RecordBatch.from_pydict(
            {
                "text": [str(patterns[place]) for place in places],
                "position": places,
                "keys": [1] * len(places),
            }
        )
        (looks,) = take_first_look(iter([seen]))
        fate_of = dict(zip(places, looks.column("fate").to_pylist(), strict=True))
        fates.update(fate_of.values())
        in_sight = sorted(place for place, fate in fate_of.items() if fate in (STAYS, HIDDEN))
        minimal = minimal_places([patterns[place] for place in in_sight])
        assert {in_sight[place] for place in minimal} == minimal_places(patterns)
    assert min(fates[fate] for fate in (STAYS, HIDDEN, GONE)) > 50


def test_of_equivalent_patterns_without_names_the_first_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = written(tmp_path / "nameless.txt", ["/*/*[1]", "/*/*", "/a/*[1]", "/a/*"])
    result = cover(spark, str(path))
    assert found(result.frame) == of_one_machine(path) == {"/*/*[1]": (1, 1)}


def test_of_a_circle_the_first_stays(spark: SparkSession) -> None:
    rows = [(str(number), text) for number, text in enumerate(CIRCLE)]
    frame = spark.createDataFrame(rows, "key string, xpath string").coalesce(1)
    result = cover(spark, frame)
    assert list(found(result.frame)) == [CIRCLE[0]]


def test_patterns_that_nothing_matches_are_covered_by_anything(
    spark: SparkSession, tmp_path: Path
) -> None:
    never = ["/a[2]", "/b[. = 1][. = 2]"]
    path = written(tmp_path / "never.txt", never)
    assert list(found(cover(spark, str(path)).frame)) == ["/a[2]"]
    path = written(tmp_path / "some.txt", [*never, "//c"])
    assert found(cover(spark, str(path)).frame) == of_one_machine(path) == {"//c": (3, 1)}


def test_prefixes_hold_for_the_lines_below_and_results_are_written_whole(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "prefixes.txt"
    lines = ["\ufeffxmlns:p = urn:one", "//p:a", "", "# a comment\r", "x\t//p:a/b\r"]
    lines += ["xmlns:p = 'urn:two'", "y\t//p:a", "z\t/c[.//b]", "xmlns = urn:d", "d\t//a"]
    path.write_bytes("\n".join(lines).encode())
    output = tmp_path / "out"
    result = cover(spark, str(path), output=str(output))
    expected = {
        "//Q{urn:one}a": (2, 1),
        "//Q{urn:two}a": (7, 1),
        "/c//b": (8, 1),
        "//Q{urn:d}a": (10, 1),
    }
    assert found(result.frame) == expected
    assert found(spark.read.parquet(str(output))) == expected
    with pytest.raises(PipelineError, match="there already"):
        cover(spark, str(path), output=str(output))
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["out", "prefixes.txt"]


def test_lines_that_bind_are_read_as_everywhere(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "desk.txt"
    path.write_text(
        "\ufeff$limit = 5\r\nrelative-to = document\none\ta[b > $limit]\n$limit = 7\n"
        "two\tc[b > $limit]\nversion = 2.0\nthree\td[b > $limit]\nversion\tversion = 2.0\n",
        encoding="utf-8",
    )
    expected = {each.key: str(each.pattern) for each in read_subscriptions(path)}
    assert expected["one"] == "/a[b>5]"
    read = read_expressions(spark, str(path)).frame.collect()
    assert {row.key: row.text for row in read} == expected
    path.write_text("one\t//a\n$limit = five\n", encoding="utf-8")
    with pytest.raises(SubscriptionFileError, match=r"line 2: 'five' is no value of \$limit"):
        cover(spark, str(path), skip_bad=True)


def test_columns_of_a_table_bind(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "key,xpath,variables,relative_to,version\n"
        'one,a[b > $limit],"{""limit"": 5}",document,\ntwo,c[b > 5],,,2.0\n',
        encoding="utf-8",
    )
    expected = {"one": "/a[b>5]", "two": "//c[xpath-2.0(b>5)]"}
    read = read_expressions(spark, str(path)).frame.collect()
    assert {row.key: row.text for row in read} == expected
    frame = spark.createDataFrame(
        [("one", "a[b > $limit]", {"limit": 5.0}), ("two", "//a", None)],
        "key string, xpath string, variables map<string, double>",
    )
    loaded = {each.key: str(each.pattern) for each in load_subscriptions(spark, frame)}
    assert loaded == {"one": "//a[b>5]", "two": "//a"}
    assert {row.key: row.text for row in read_expressions(spark, frame).frame.collect()} == loaded


def test_tables_are_read_like_texts(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        'key,xpath,namespaces\na,//p:x,"{""p"": ""urn:p""}"\n"b","/a[.=""1,2""]",\nc,//a,\n',
        encoding="utf-8",
    )
    expected = {"//Q{urn:p}x": (2, 1), "//a": (4, 1)}
    assert found(cover(spark, str(path)).frame) == expected
    path.write_text("key,expression\na,//x\n", encoding="utf-8")
    with pytest.raises(SubscriptionFileError, match="line 1: the column xpath is missing"):
        cover(spark, str(path))


def test_what_cannot_be_read_is_refused_with_its_place_or_skipped(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = tmp_path / "bad.txt"
    path.write_bytes(b"a\t//a\nb\t//b[\nc\t//c[amount(d)]\n\t//e\na\t//f\ng\t\xff\n")
    with pytest.raises(SubscriptionFileError) as raised:
        cover(spark, str(path))
    with pytest.raises(SubscriptionFileError) as expected:
        list(read_subscriptions(path))
    assert str(raised.value) == str(expected.value)
    assert raised.value.line == 2
    assert "^" in str(raised.value)

    result = cover(spark, str(path), skip_bad=True)
    assert (result.subscriptions, result.forwarded, result.skipped) == (1, 1, 5)
    refused = {row.position: (row.key, row.problem) for row in result.refused.collect()}
    assert sorted(refused) == [2, 3, 4, 5, 6]
    assert refused[4] == ("", "the key is empty")
    assert refused[5] == ("a", "the key 'a' stands for another subscription already")
    assert "UTF-8" in refused[6][1]
    path.write_text("a\t//a\nb\t//b\na\t//c\n", encoding="utf-8")
    with pytest.raises(SubscriptionFileError, match="line 3: the key 'a' stands for another"):
        cover(spark, str(path))


def test_rows_without_a_file_are_told_by_their_keys(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("one", "//a"), ("two", "//b[")], "key string, xpath string")
    with pytest.raises(PipelineError, match="the subscription 'two'"):
        cover(spark, frame)
    with pytest.raises(PipelineError, match="the column key is missing"):
        cover(spark, frame.select("xpath"))
    with pytest.raises(PipelineError, match="no such file"):
        cover(spark, "/nowhere/subscriptions.txt")
    with pytest.raises(PipelineError, match="not standard input"):
        cover(spark, "-")


def test_the_command_tells_what_is_forwarded(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The command ends the session that it started; this one is for all tests.
    monkeypatch.setattr(type(spark), "stop", lambda self: None)
    path = written(tmp_path / "stocks.txt", ["//Stock", "//Stock[Price>15]", "//Stock", "//b["])
    output = tmp_path / "out"
    arguments = ["cover", "--spark", str(path), "--output", str(output)]
    result = CliRunner().invoke(app, [*arguments, "--skip-bad", "--json"])
    assert result.exit_code == 0, result.output
    told: dict[str, Any] = json.loads(result.stdout)
    assert told == {
        "subscriptions": 3,
        "patterns": 2,
        "forwarded": 1,
        "skipped": 1,
        "first": [{"pattern": "//Stock", "position": 1, "keys": 2}],
        "output": str(output),
    }
    assert "stocks.txt, line 4" in result.stderr
    result = CliRunner().invoke(
        app, [*arguments, "--skip-bad", "--overwrite"], env={"COLUMNS": "120"}
    )
    assert result.exit_code == 0, result.output
    assert "3 subscriptions, 2 distinct, 1 forwarded, 1 skipped" in result.stdout
    assert "//Stock" in result.stdout


def test_large_homes_are_cut_and_everyone_asks_where_no_name_is_needed() -> None:
    nowhere = 1 << 15
    cells = Cells.plan({1: 95, 2: 10, 3: 5, nowhere: 2}, most=30, asking=10_000, workers=12)
    assert (cells.block_count, cells.slices) == (4, 3)
    assert len(cells.blocks[1]) == 4
    asked = {cell // 3 for cell in cells.of_asking([2, 9], position=7)}
    assert asked == {*cells.blocks[2], *cells.blocks[nowhere]}
    for position in range(8):
        put = set(cells.of_member(1, position))
        assert len(put) == 3
        assert len(put & set(cells.of_asking([1], position))) == 1


def test_the_home_of_a_pattern_is_its_rarest_name() -> None:
    homes = Homes.by_count({5: 100, 6: 3, 7: 50})
    needs = pa.array([[5, 6, 7], [5, 7], [5], []], pa.list_(pa.int16()))
    assert homes.find(needs) == [6, 7, 5, 1 << 15]
