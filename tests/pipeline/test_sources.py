"""Where documents come from: what inputs stand for, and files of every kind, through Spark."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from pyspark.sql import DataFrame, SparkSession

from twigcast.errors import PipelineError
from twigcast.pipeline.sources import SourceOptions, as_documents, read_documents
from twigcast.pipeline.sources.files import read_files
from twigcast.pipeline.sources.listing import Reading, find_readings
from twigcast.pipeline.sources.names import Qualifier, ending_pattern, escape, kind_of, unescape


def found(frame: DataFrame) -> dict[str, bytes | None]:
    """The content by the id, whose uniqueness is checked; a problem goes with no content."""
    rows = frame.collect()
    assert len({row.id for row in rows}) == len(rows)
    assert all((row.content is None) is (row.problem is not None) for row in rows)
    return {row.id: None if row.content is None else bytes(row.content) for row in rows}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of every kind, good and bad, with awkward names."""
    folder = tmp_path_factory.mktemp("corpus")
    (folder / "sub" / "deep").mkdir(parents=True)
    (folder / "a b%20é+,x.xml").write_bytes(b"<a/>")
    (folder / "b*[1]{2}.xml").write_bytes(b"<b/>")
    (folder / "sub" / "deep" / "c.XML").write_bytes(b"<c/>")
    (folder / "g.xml.gz").write_bytes(gzip.compress(b"<g/>"))
    (folder / "bad.xml.gz").write_bytes(gzip.compress(b"<g/>")[:-4])
    (folder / "README").write_bytes(b"not a document")
    (folder / "feed.rss").write_bytes(b"<rss/>")
    (folder / "_hidden.xml").write_bytes(b"<no/>")
    (folder / "sub" / "empty %41+é.xml").write_bytes(b"")
    (folder / "empty.zip").write_bytes(b"")
    with zipfile.ZipFile(folder / "z.zip", "w") as archive:
        for number in range(20):
            archive.writestr(f"{number}.xml", f"<z>{number}</z>")
    with tarfile.open(folder / "sub" / "t.tar.gz", "w:gz") as tar:
        for _ in range(3):
            member = tarfile.TarInfo("same.xml")
            member.size = 4
            tar.addfile(member, io.BytesIO(b"<t/>"))
    return folder


def expected(folder: Path) -> dict[str, bytes | None]:
    wanted: dict[str, bytes | None] = {
        "a b%20é+,x.xml": b"<a/>",
        "b*[1]{2}.xml": b"<b/>",
        "sub/deep/c.XML": b"<c/>",
        "g.xml.gz": b"<g/>",
        "bad.xml.gz": None,
        "sub/empty %41+é.xml": b"",
        "empty.zip": None,
        "sub/t.tar.gz!same.xml": b"<t/>",
        "sub/t.tar.gz!same.xml#2": b"<t/>",
        "sub/t.tar.gz!same.xml#3": b"<t/>",
    }
    wanted |= {f"z.zip!{number}.xml": f"<z>{number}</z>".encode() for number in range(20)}
    return {f"file:{folder}/{name}": content for name, content in wanted.items()}


def test_a_folder_gives_the_documents_of_all_its_files(spark: SparkSession, corpus: Path) -> None:
    frame = read_documents(spark, str(corpus))
    assert frame.dtypes == [
        ("id", "string"),
        ("source", "string"),
        ("content", "binary"),
        ("problem", "string"),
    ]
    assert found(frame) == expected(corpus)


def test_a_large_zip_is_cut_into_tasks(spark: SparkSession, corpus: Path) -> None:
    [reading] = find_readings(spark, [str(corpus)], SourceOptions())
    frame = read_files(spark, reading, part=500).frame()
    whole = read_files(spark, reading).frame()
    assert frame.rdd.getNumPartitions() >= whole.rdd.getNumPartitions() + 4
    assert found(frame) == expected(corpus)


def test_files_that_spark_fetches_are_the_same(
    spark: SparkSession, corpus: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    [reading] = find_readings(spark, [str(corpus)], SourceOptions())
    large = f"file:{corpus}/z.zip"
    monkeypatch.setattr("twigcast.pipeline.sources.files.FETCHED", 1_500)
    monkeypatch.setattr(Reading, "is_local", property(lambda _reading: False))
    frame = read_files(spark, reading).frame()
    rest = {key: value for key, value in expected(corpus).items() if not key.startswith(large)}
    assert found(frame) == rest | {large: None}


def test_patterns_lists_and_single_files_can_be_mixed(spark: SparkSession, corpus: Path) -> None:
    inputs = [
        str(corpus / "b*[1]{2}.xml"),  # a name, though it looks like a pattern
        str(corpus / "g*.gz"),
        str(corpus / "feed.rss"),
        f"file://{corpus}/sub/../sub/deep",
        str(corpus / "sub" / "deep" / "c.XML"),  # again
    ]
    assert {name.rpartition("/")[2] for name in found(read_documents(spark, inputs))} == {
        "b*[1]{2}.xml",
        "g.xml.gz",
        "feed.rss",
        "c.XML",
    }


def names(readings: list[Reading]) -> list[set[str]]:
    return [{name.rpartition("/")[2] for name in reading.files} for reading in readings]


def test_what_inputs_stand_for(spark: SparkSession, corpus: Path) -> None:
    known = {"a b%20é+,x.xml", "b*[1]{2}.xml", "c.XML", "g.xml.gz", "bad.xml.gz", "z.zip"}
    known |= {"t.tar.gz", "empty %41+é.xml", "empty.zip"}

    def files(*inputs: str, **options: str) -> list[set[str]]:
        return names(find_readings(spark, inputs, SourceOptions(**options)))

    assert files(str(corpus)) == [known]
    # A pattern stands for the files that it fits, whatever their names are.
    assert files(f"{corpus}/*") == [known | {"README", "feed.rss"}]
    assert files(f"{corpus}/{{README,sub}}") == [{"README", "t.tar.gz", "c.XML", "empty %41+é.xml"}]
    assert files(str(corpus), pattern="*.rss") == [{"feed.rss"}]
    assert files(str(corpus), str(corpus / "sub")) == [known]
    assert files(str(corpus / "README"), format="csv") == [{"README"}]
    with pytest.raises(PipelineError, match="two of the inputs stand for it"):
        files(f"{corpus}/*.xml", f"{corpus}/a*")


@pytest.mark.parametrize(
    ("given", "options", "reason"),
    [
        ("missing", {}, "nothing is there"),
        ("missing/*.xml", {}, "nothing is there"),
        ("sub", {"pattern": "*.rss"}, r"no file is there that fits '\*.rss'"),
        ("_hidden.xml", {}, "hidden from Spark"),
        ("sub", {"format": "parquet", "pattern": "*.parquet"}, "no file is there"),
        ("z.zip", {"row_element": "row"}, "unpack it first"),
        ("sub", {"column": "xml"}, "no input is a table"),
        ("nowhere://host/x", {}, 'No FileSystem for scheme "nowhere"'),
    ],
)
def test_inputs_that_cannot_be_understood_are_told(
    spark: SparkSession, corpus: Path, given: str, options: dict[str, str], reason: str
) -> None:
    path = given if ":" in given else f"{corpus}/{given}"
    with pytest.raises(PipelineError, match=reason) as caught:
        read_documents(spark, path, SourceOptions(**options))
    assert given.partition("*")[0] in str(caught.value)


def test_a_folder_of_several_formats_is_not_guessed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_bytes(b"<a/>")
    (tmp_path / "b.csv").write_bytes(b"xml\n<b/>\n")
    with pytest.raises(PipelineError, match=r"several formats, such as a\.xml, b\.csv"):
        read_documents(spark, str(tmp_path))
    assert names(find_readings(spark, [str(tmp_path)], SourceOptions(format="csv"))) == [{"b.csv"}]
    assert names(find_readings(spark, [f"{tmp_path}/*"], SourceOptions())) == [{"a.xml"}, {"b.csv"}]
    (tmp_path / "a.xml").rename(tmp_path / "a.txt")
    (tmp_path / "b.csv").unlink()
    with pytest.raises(PipelineError, match=r"no file there ends in .*\.xml.*pattern"):
        read_documents(spark, str(tmp_path))


def test_many_single_files_are_loaded_together(spark: SparkSession, tmp_path: Path) -> None:
    paths = [tmp_path / f"{number}.xml" for number in range(100)]
    for path in paths:
        path.write_bytes(b"<a/>")
    frame = read_documents(spark, [str(path) for path in paths])
    assert frame.sparkSession is spark
    assert found(frame) == {f"file:{path}": b"<a/>" for path in paths}


def test_no_input_is_told(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match="no input is given"):
        read_documents(spark, [])


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"format": "xml"}, "'xml' is not known"),
        ({"format": "rows"}, "needs a row_element"),
        ({"format": "csv", "row_element": "row"}, "for the format 'rows'"),
        ({"row_element": "<row>"}, "not an element's name"),
        ({"row_element": "//row"}, "not an element's name"),
    ],
)
def test_options_that_make_no_sense_are_told(options: dict[str, str], reason: str) -> None:
    with pytest.raises(PipelineError, match=reason):
        SourceOptions(**options)


def test_full_urls_are_those_that_hadoop_writes(spark: SparkSession) -> None:
    full = Qualifier(spark)
    assert full("/a/./b/../c.xml") == "file:/a/c.xml"
    assert full("file:///a//b/") == "file:/a/b"
    assert full("s3a://bucket/a/../b*.xml") == "s3a://bucket/b*.xml"
    assert full("x.xml") == f"file:{Path.cwd()}/x.xml"


def test_names_and_endings() -> None:
    assert kind_of("A.XML") == kind_of("x.tar.gz") == "files"
    assert kind_of("x.json.gz") == "jsonl"
    assert kind_of("x.gz") is None
    assert ending_pattern("s3a://b/x.Tar.GZ") == "*.Tar.GZ"
    assert ending_pattern("s3a://b/x.y.rss") == "*.rss"
    assert ending_pattern("s3a://b/RE*ME") == "RE\\*ME"
    for name in ("a*b", "a\\b", "{a,b}", "plain", "\\*"):
        assert unescape(escape(name)) == name


def test_any_frame_with_a_column_of_xml_gives_documents(spark: SparkSession) -> None:
    rows = [("<a/>", "s", 1), (None, "t", 2), ("<a/>", None, 3)]
    frame = spark.createDataFrame(rows, "body string, source string, number int")
    first, empty, again = as_documents(frame).collect()
    assert first.id == again.id == again.source
    assert len(first.id) == 64
    assert (bytes(first.content), first.source, first.problem) == (b"<a/>", "s", None)
    assert (empty.content, empty.problem) == (None, "the cell is empty (null)")
    named = as_documents(frame, SourceOptions(column="source", id_column="number"))
    assert [(row.id, row.source) for row in named.collect()] == [(n, n) for n in "123"]
    documents = as_documents(frame)
    assert as_documents(documents).collect() == documents.collect()


def test_a_frame_keeps_brokers_and_times(spark: SparkSession) -> None:
    rows = [(b"<a/>", "x", "north", "2026-01-02 03:04:05"), (b"<b/>", "y", None, "no time")]
    frame = spark.createDataFrame(rows, "data binary, id string, broker string, sent string")
    options = SourceOptions(column="data", at_column="broker", time_column="sent")
    documents = as_documents(frame, options)
    one, other = documents.collect()
    assert (one.id, one.at, str(one.time)) == ("x", "north", "2026-01-02 03:04:05")
    assert (other.id, other.at, other.time) == ("y", None, None)
    assert as_documents(documents).collect() == [one, other]


def test_a_frame_without_a_telling_column_is_refused(spark: SparkSession) -> None:
    frame = spark.createDataFrame([("a", "b", 1)], "one string, two string, three int")
    with pytest.raises(PipelineError, match="which column holds the XML\\? There are one, two"):
        as_documents(frame)
    with pytest.raises(PipelineError, match="no string or binary column is named 'three'"):
        as_documents(frame, SourceOptions(column="three"))
    with pytest.raises(PipelineError, match="no column 'four', which id_column names"):
        as_documents(frame, SourceOptions(column="one", id_column="four"))
