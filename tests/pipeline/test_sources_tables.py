"""Tables with a column of XML, rows cut from huge files, and streams of both, through Spark."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from lxml import etree
from pyspark.sql import DataFrame, SparkSession

from twigcast import parse
from twigcast.errors import PipelineError
from twigcast.pipeline.sources import SourceOptions, read_documents, stream_documents
from twigcast.pipeline.sources.blocks import load_in_blocks
from twigcast.pipeline.sources.files import fetched
from twigcast.pipeline.sources.listing import Reading, find_readings
from twigcast.pipeline.sources.rows import INCOMPLETE, read_rows

Short = tuple[str, bytes | None]


def short(frame: DataFrame) -> list[Short]:
    """Names and contents in order; a problem goes with no content."""
    rows = frame.collect()
    assert all((row.content is None) is (row.problem is not None) for row in rows)
    return sorted(
        (row.id.rpartition("/")[2], None if row.content is None else bytes(row.content))
        for row in rows
    )


DECLARED = "<?xml version='1.0' encoding='ISO-8859-1'?><a>é</a>"


def test_parquet_rows_are_numbered_and_text_is_utf_8(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "t+a b"
    rows = [("k1", DECLARED, "north"), (None, "<b/>", "north"), ("k3", None, None)]
    frame = spark.createDataFrame(rows, "key string, xml string, place string")
    frame.coalesce(1).write.partitionBy("place").parquet(str(folder))
    options = SourceOptions(id_column="key", at_column="place")
    found = {row.id: row for row in read_documents(spark, str(folder), options).collect()}
    second = next(row for name, row in found.items() if name not in ("k1", "k3"))
    assert found["k1"].source.startswith(f"file:{folder}/place=north/part-")
    assert found["k1"].source.endswith(".parquet#1")
    assert second.id == second.source == found["k1"].source[:-1] + "2"
    assert [found[key].at for key in ("k1", "k3")] == ["north", None]
    assert found["k3"].problem == "the cell is empty (null)"
    content = bytes(found["k1"].content)
    assert len(content.decode()) == len(DECLARED)
    assert etree.fromstring(content).text == "é"
    assert parse("/a[.='é']").matches(content)
    assert bytes(second.content) == b"<b/>"


def test_json_lines_keep_every_line(spark: SparkSession, tmp_path: Path) -> None:
    lines = [
        json.dumps({"id": 7, "xml": "<a>é\n</a>", "when": "2026-01-02T03:04:05Z"}),
        '{"xml": broken',
        "",
        json.dumps({"xml": DECLARED, "when": "never"}),
        json.dumps({"id": 9}),
        "[1]",
        json.dumps({"id": None, "xml": "<z/>"}),
    ]
    (tmp_path / "0.jsonl").write_bytes(b"")
    (tmp_path / "a b.jsonl.gz").write_bytes(gzip.compress("\n".join(lines).encode()))
    fixed = DECLARED.replace("'ISO-8859-1'", '"UTF-8"     ').encode()
    wanted: list[Short] = [
        ("a b.jsonl.gz#1", "<a>é\n</a>".encode()),
        ("a b.jsonl.gz#2", None),
        ("a b.jsonl.gz#3", fixed),
        ("a b.jsonl.gz#4", None),
        ("a b.jsonl.gz#5", None),
        ("a b.jsonl.gz#6", b"<z/>"),
    ]
    assert short(read_documents(spark, str(tmp_path))) == wanted
    options = SourceOptions(id_column="id", time_column="when")
    rows = read_documents(spark, str(tmp_path), options).collect()
    assert {row.id.rpartition("/")[2] for row in rows} == {
        *("7", "9"),
        *(f"a b.jsonl.gz#{number}" for number in (2, 3, 5, 6)),
    }
    assert [str(row.time) for row in rows if row.time is not None] == ["2026-01-02 03:04:05"]
    with pytest.raises(PipelineError, match="has 'body', which column names; there are id, xml"):
        read_documents(spark, str(tmp_path), SourceOptions(column="body"))


def test_json_that_is_not_in_lines_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps([{"xml": "<a/>"}], indent=1))
    with pytest.raises(PipelineError, match="JSON lines have one in each line"):
        read_documents(spark, str(tmp_path / "a.json"))


def test_blocks_do_not_depend_on_other_files_and_the_session_stays(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("x" * 999 + "\n" + "y" * 999 + "\n" + "z\n")
    (tmp_path / "b.txt").write_text("b\n")
    before = spark.conf.get("spark.sql.files.maxPartitionBytes")

    def starts(path: Path) -> list[tuple[str, int]]:
        frame = load_in_blocks(spark, lambda apart: apart.read.text(str(path)), 1_000)
        assert frame.sparkSession is spark
        rows = frame.selectExpr("value", "_metadata.file_block_start").collect()
        return sorted((row[0][0], row[1]) for row in rows)

    assert starts(tmp_path / "a.txt") == [("x", 0), ("y", 0), ("z", 1_000)]
    assert starts(tmp_path) == [("b", 0), ("x", 0), ("y", 0), ("z", 1_000)]
    assert spark.conf.get("spark.sql.files.maxPartitionBytes") == before


def test_csv_has_quotes_and_line_breaks(spark: SparkSession, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    documents = [f'<a b="{number}">\n"x", é\n\n</a>' for number in range(5)]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["number", "my.xml", "place"])
        writer.writerows([number, text, "north"] for number, text in enumerate(documents))
        file.write("7,<b/>\n8,,x\n9,<c/>,x,y\n10,<d/>,south\n")
    options = SourceOptions(column="my.xml", at_column="place")
    found = read_documents(spark, str(path), options)
    wanted: list[Short] = [
        (f"t.csv#{number + 1}", text.encode()) for number, text in enumerate(documents)
    ]
    wanted += [("t.csv#6", None), ("t.csv#7", None), ("t.csv#8", None), ("t.csv#9", b"<d/>")]
    assert short(found) == wanted
    assert [row.at for row in found.collect() if row.problem is None] == ["north"] * 5 + ["south"]
    by_number = read_documents(spark, str(path), SourceOptions(column="my.xml", id_column="number"))
    assert {row.id for row in by_number.collect()} >= {"0", "4", "10"}


def test_folders_that_look_like_columns_hide_no_file(spark: SparkSession, tmp_path: Path) -> None:
    for given, name, files in (
        ("day=1", "day=1/sub/b.csv", "b"),  # the input's own name tells nothing
        ("day=1", "day=1/a.csv", "ab"),
        ("day=1/sub", "day=1/sub/n=2/c.csv", "bc"),  # only one of them is below such a folder
        ("day=*", "day=2/d.csv", "abcd"),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("xml\n<a/>\n")
        found = short(read_documents(spark, f"{tmp_path}/{given}"))
        assert found == [(f"{one}.csv#1", b"<a/>") for one in files]


@pytest.mark.parametrize(
    ("root", "files", "wanted"),
    [
        ("s3a://b/", ["s3a://b/n=1/a", "s3a://b/n=2/m=1/x/b"], True),
        ("s3a://b/n=1", ["s3a://b/n=1/a", "s3a://b/n=1/sub/b"], False),
        ("file:/in", ["file:/in/n=1/a", "file:/in/b"], False),
        ("file:/in", ["file:/in/n=/a"], False),
        ("file:/in", ["file:/in/n=1"], False),
        ("file:/in/n=1/a", ["file:/in/n=1/a"], False),
        ("file:/in/*", ["file:/in/x/n=1/a"], True),
        ("file:/in/*", ["file:/in/n=1/a"], False),
    ],
)
def test_columns_are_named_below_the_root(root: str, files: list[str], wanted: bool) -> None:
    assert Reading("csv", (root,), tuple(files)).is_partitioned is wanted


def rows_file() -> bytes:
    rows = "".join(
        f'<p:row n="{number}" a="x > y"><q:b>é&e;</q:b><c xmlns=""/>{"z" * (number % 70)}</p:row>\n'
        f'<!-- c --><other/><p:row m="{number}"/>'
        for number in range(60)
    )
    text = (
        '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        '<!DOCTYPE feed [<!ENTITY e "é"> <!ATTLIST p:row d CDATA "v">]>\n'
        '<feed xmlns="urn:a" xmlns:q="urn:q"><x><y xmlns:q="urn:q2" xmlns:p="urn:p">\n'
        f"{rows}</y></x></feed>\n"
    )
    return text.encode("iso-8859-1")


def test_rows_of_files_are_lxmls_subtrees(spark: SparkSession, tmp_path: Path) -> None:
    data = rows_file()
    empty = b"<r>" + b"".join(b'<p:row n="%d" />\n' % number for number in range(99)) + b"</r>"
    (tmp_path / "plain [1].xml").write_bytes(data)
    (tmp_path / "packed.xml.gz").write_bytes(gzip.compress(data))
    (tmp_path / "attributes.xml").write_bytes(empty)
    (tmp_path / "none.xml").write_bytes(b"<feed/>")
    (tmp_path / "bad.xml").write_bytes(b"<feed><a></feed>")
    whole = [
        etree.tostring(row, method="c14n", with_tail=False)
        for row in etree.fromstring(data).iter("{urn:p}row")
    ]
    options = SourceOptions(row_element="p:row")
    [reading] = find_readings(spark, [str(tmp_path)], options)
    runs = [read_rows(spark, reading, options, block).frame().collect() for block in (700, 1 << 25)]
    for rows in runs:
        assert len({row.id for row in rows}) == len(rows)
        for name in ("plain [1].xml", "packed.xml.gz"):
            mine = [row for row in rows if row.id.startswith(f"file:{tmp_path}/{name}#")]
            assert [row.problem for row in mine] == [None] * len(whole)
            assert [
                etree.tostring(etree.fromstring(bytes(row.content)), method="c14n") for row in mine
            ] == whole
        numbers = [
            bytes(row.content) for row in rows if row.id.startswith(f"file:{tmp_path}/attributes")
        ]
        assert numbers == [b'<p:row n="%d" />' % number for number in range(99)]
        [bad] = [row for row in rows if row.problem is not None]
        assert bad.id == f"file:{tmp_path}/bad.xml"
        assert "mismatched tag" in bad.problem
    assert runs[1][-2].id.rpartition("#")[2].isdigit()


def test_files_that_end_too_early_are_told(spark: SparkSession, tmp_path: Path) -> None:
    rows = [b"<row>%d %b</row>" % (number, b"x" * 90) for number in range(40)]
    data = b"<r>" + b"".join(rows) + b"</r>"
    (tmp_path / "a.xml").write_bytes(data[:2_050])  # within a row, in the third block
    (tmp_path / "b.xml.gz").write_bytes(gzip.compress(data)[:-9])
    (tmp_path / "c.xml").write_bytes(data[:550])
    options = SourceOptions(row_element="row")
    [reading] = find_readings(spark, [str(tmp_path)], options)
    found = read_rows(spark, reading, options, 1_000).frame().collect()
    good = [bytes(row.content) for row in found if row.content is not None]
    assert set(good) <= set(rows)
    ended = {row.id.rpartition("/")[2] for row in found if row.problem == INCOMPLETE}
    assert ended == {"a.xml#end", "b.xml.gz#end", "c.xml#end"}
    assert [bytes(row.content) for row in found if "/a.xml#" in row.id and row.content] == rows[:19]


def test_a_misspelled_row_is_told(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<r><row/></r>")
    with pytest.raises(PipelineError, match=r"a\.xml: no element rwo is in it; check the name"):
        read_documents(spark, str(tmp_path), SourceOptions(row_element="rwo"))


def streamed(frame: DataFrame, name: str) -> list[Short]:
    """What a stream gives for the files that are there."""
    query = frame.writeStream.format("memory").queryName(name).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(60)
    finally:
        query.stop()
    return short(frame.sparkSession.table(name))


def test_streams_give_what_reading_at_once_gives(spark: SparkSession, tmp_path: Path) -> None:
    files, lines, table = (tmp_path / name for name in ("files", "lines", "table"))
    for folder in (files, lines, table):
        folder.mkdir()
    (files / "a b.xml").write_bytes(b"<a/>")
    (files / "c.xml.gz").write_bytes(gzip.compress(b"<c/>"))
    (files / "x.txt").write_bytes(b"no")
    (lines / "a.jsonl").write_text('{"xml": "<a/>"}\n\n{"xml": bad\n{"xml": "<b/>"}\n')
    (lines / "b c.jsonl").write_bytes(b'{"xml": "<a/>"}\r\n\r\n{"xml": "<b/>"}\r\n')
    (table / "t.csv").write_text('xml,n\n"<a\n/>",1\n<b/>,2\n')
    for number, folder in enumerate((files, lines, table)):
        there = short(read_documents(spark, str(folder)))
        assert len(there) >= 2
        assert (
            streamed(stream_documents(spark, str(folder), max_files=1).frame(), f"s{number}")
            == there
        )


def test_a_stream_does_not_fetch_what_is_too_large(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    (tmp_path / "b.xml").write_bytes(b"<b>" + b"x" * 100 + b"</b>")
    monkeypatch.setattr("twigcast.pipeline.sources.files.FETCHED", 50)
    apart = spark.newSession()
    apart.conf.set("spark.sql.sources.binaryFile.maxLength", 50)  # more would fail the batch
    schema = "path string, modificationTime timestamp, length bigint, content binary"
    frame = apart.readStream.format("binaryFile").schema(schema).load(str(tmp_path))
    documents = fetched(frame)
    assert len(documents.parts) == 1
    assert streamed(documents.frame(), "large") == [("a.xml", b"<a/>"), ("b.xml", None)]


def test_a_stream_that_cannot_start_is_told(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path)
    for options, reason in [
        (SourceOptions(row_element="row"), "cannot be cut at an element"),
        (SourceOptions(format="parquet"), "put one there before the stream"),
        (SourceOptions(format="jsonl"), "no file is there yet, so the column"),
        (SourceOptions(column="xml"), "files of XML have none"),
    ]:
        with pytest.raises(PipelineError, match=reason):
            stream_documents(spark, folder, options)
    with pytest.raises(PipelineError, match="make the folder before the stream"):
        stream_documents(spark, f"{folder}/missing")
    frame = stream_documents(spark, folder, SourceOptions(format="jsonl", column="xml")).frame()
    assert frame.isStreaming
    assert frame.columns == ["id", "source", "content", "problem"]
