"""Locations: odd names, and folders that are put in place whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.errors import PipelineError
from twigcast.pipeline import Location

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ODD = (
    "plain", "a b", "a%20b", "a%b", "100%", "a#b", "a?b", "a*b", "a[b]", "{a,b}", "a+b", "a=b",
    "a:b", "a\\b", "ü€漢", "e\u0301", "_a", ".a", "a'b\"", "a\nb", "-",
)  # fmt: skip


# --- names --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_is_the_name_of_the_file(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).mkdir()
    (tmp_path / name / "file").write_bytes(b"here")
    given = Location(spark, f"{tmp_path}/{name}")
    for place in (given, Location(spark, given.url), Location(spark, str(tmp_path)).child(name)):
        assert place.local_path == str(tmp_path / name)
        assert place.name == name
        assert place.is_folder
        assert place.child("file").read_head(10) == b"here"
        assert place.child("file").beside("other").local_path == str(tmp_path / name / "other")
        assert [Path(entry.url.removeprefix("file:")) for entry in place.entries()] == [
            tmp_path / name / "file"
        ]
        assert not place.beside("not there").exists()
    assert [entry.name for entry in Location(spark, str(tmp_path)).entries()] == [name]


@pytest.mark.parametrize("name", ODD)
def test_an_odd_name_can_be_put_in_place(spark: SparkSession, tmp_path: Path, name: str) -> None:
    place = Location(spark, f"{tmp_path}/{name}")
    for text in ("one", "two"):
        with place.staged(overwrite=text == "two") as staging:
            staging.child("ü %20.txt").write_text(text)
    assert (tmp_path / name / "ü %20.txt").read_text() == "two"
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("form", ["file://{}", "file:{}", "{}/", "file://{}/", "{}//", "{}/x/.."])
def test_all_forms_of_a_path_are_the_same_place(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    place = Location(spark, form.format(tmp_path / "a b"))
    assert place.local_path == str(tmp_path / "a b")
    assert place.name == "a b"
    with place.staged() as staging:
        assert Path(str(staging.local_path)).parent == tmp_path
        staging.child("file").write_text("")
    assert (tmp_path / "a b" / "file").exists()


def test_a_relative_path_is_found_from_the_working_folder(spark: SparkSession) -> None:
    # Java keeps the folder in which it was started.
    here = Path(str(Location(spark, ".").local_path))
    assert here.is_dir()
    assert Location(spark, "a b/c%d").local_path == str(here / "a b" / "c%d")
    assert Location(spark, "./x/../y").local_path == str(here / "y")


def test_a_file_system_that_is_not_known_is_a_plain_error(spark: SparkSession) -> None:
    with pytest.raises(PipelineError, match=r"nosuch://host/a: .*nosuch"):
        Location(spark, "nosuch://host/a")


@pytest.mark.parametrize("path", ["", "a:b", "file:"])
def test_what_is_no_path_is_a_plain_error(spark: SparkSession, path: str) -> None:
    with pytest.raises(PipelineError):
        Location(spark, path)


@pytest.mark.parametrize("overwrite", [False, True])
def test_the_root_of_a_file_system_is_refused(spark: SparkSession, overwrite: bool) -> None:
    root = Location(spark, "/")
    with pytest.raises(PipelineError), root.staged(overwrite=overwrite):
        raise AssertionError("it must not come to this")


# --- reading and writing ------------------------------------------------------------------------


def test_the_head_of_a_file(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(bytes(range(256)) * 2)
    place = Location(spark, str(tmp_path / "file"))
    assert place.read_head(0) == b""
    assert place.read_head(300) == (bytes(range(256)) * 2)[:300]
    assert place.read_head(10_000) == bytes(range(256)) * 2
    (tmp_path / "file").write_bytes(b"")
    assert place.read_head(5) == b""


def test_text_comes_back_as_it_was(spark: SparkSession, tmp_path: Path) -> None:
    place = Location(spark, str(tmp_path / "file"))
    for text in ("", "ü€\n\0\r\n漢" * 10_000, "short"):
        place.write_text(text)
        assert place.read_text() == text
        assert (tmp_path / "file").read_bytes() == text.encode()


@pytest.mark.parametrize("ask", ["read_text", "read_head"])
def test_what_cannot_be_read_is_told_with_its_place(
    spark: SparkSession, tmp_path: Path, ask: str
) -> None:
    arguments = (10,) if ask == "read_head" else ()
    for path in (tmp_path / "missing", tmp_path):
        with pytest.raises(PipelineError, match=str(path)):
            getattr(Location(spark, str(path)), ask)(*arguments)


def test_what_is_not_there_is_empty_and_no_folder(spark: SparkSession, tmp_path: Path) -> None:
    place = Location(spark, str(tmp_path / "missing"))
    assert place.entries() == []
    assert not place.is_folder
    assert not place.exists()
    place.remove()


# --- put in place -------------------------------------------------------------------------------


def files_below(folder: Path) -> dict[str, str]:
    """The files that a reader sees or could stumble over, without Hadoop's checksums."""
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix != ".crc"
    }


def test_a_rename_refuses_a_place_where_something_is(spark: SparkSession, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_text(name)
    with pytest.raises(PipelineError, match="two is there already"):
        Location(spark, str(tmp_path / "one")).rename(Location(spark, str(tmp_path / "two")))
    assert files_below(tmp_path) == {"one/file": "one", "two/file": "two"}


def test_a_rename_of_nothing_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="one"):
        Location(spark, str(tmp_path / "one")).rename(Location(spark, str(tmp_path / "two")))


def test_a_folder_appears_only_at_the_end(spark: SparkSession, tmp_path: Path) -> None:
    place = Location(spark, str(tmp_path / "deep" / "er" / "out"))
    with place.staged() as staging:
        staging.child("file").write_text("new")
        assert not place.exists()
    assert files_below(tmp_path) == {"deep/er/out/file": "new"}


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_there_is_refused_before_any_work_or_replaced_whole(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    if kind == "folder":
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "old").write_text("old")
    else:
        (tmp_path / "out").write_text("old")
    before = files_below(tmp_path)
    place = Location(spark, str(tmp_path / "out"))
    with pytest.raises(PipelineError, match="out is there already"), place.staged():
        raise AssertionError("it must not come to this")
    assert files_below(tmp_path) == before
    with place.staged(overwrite=True) as staging:
        staging.child("file").write_text("new")
        assert files_below(tmp_path).items() >= before.items()
    assert files_below(tmp_path) == {"out/file": "new"}


@pytest.mark.parametrize("overwrite", [False, True])
@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_work_that_fails_leaves_everything_as_it_was(
    spark: SparkSession, tmp_path: Path, overwrite: bool, error: type[BaseException]
) -> None:
    if overwrite:
        (tmp_path / "out").mkdir()
        (tmp_path / "out" / "old").write_text("old")
    before = files_below(tmp_path)
    place = Location(spark, str(tmp_path / "out"))

    def fail() -> None:
        with place.staged(overwrite=overwrite) as staging:
            staging.child("file").write_text("new")
            raise error

    with pytest.raises(error):
        fail()
    assert files_below(tmp_path) == before
    assert [path.name for path in tmp_path.iterdir()] == (["out"] if overwrite else [])


def test_what_a_killed_job_has_left_is_removed_by_the_next(
    spark: SparkSession, tmp_path: Path
) -> None:
    place = Location(spark, str(tmp_path / "out"))
    with place.staged() as staging:
        left = Path(str(staging.local_path))
        staging.child("file").write_text("old")
    place.remove()
    (left / "deliveries").mkdir(parents=True)
    (left / "deliveries" / "part-of-a-killed-job").write_text("half")
    with place.staged() as staging:
        staging.child("file").write_text("new")
    assert files_below(tmp_path) == {"out/file": "new"}


def test_work_that_wrote_nothing_is_an_error_and_leaves_what_was_there(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    place = Location(spark, str(tmp_path / "out"))
    with pytest.raises(PipelineError), place.staged(overwrite=True):
        pass
    assert files_below(tmp_path) == {"out/old": "old"}


@pytest.mark.parametrize("overwrite", [False, True])
def test_of_two_jobs_for_one_place_one_is_whole_and_the_other_is_told(
    spark: SparkSession, tmp_path: Path, overwrite: bool
) -> None:
    place = Location(spark, str(tmp_path / "out"))
    if overwrite:
        with place.staged() as staging:
            staging.child("file").write_text("old")

    def overtaken() -> None:
        with place.staged(overwrite=overwrite) as slow:
            slow.child("slow").write_text("slow")
            with place.staged(overwrite=overwrite) as quick:
                quick.child("quick").write_text("quick")
            slow.child("slow-2").write_text("slow")

    with pytest.raises(PipelineError):
        overtaken()
    assert files_below(tmp_path) == {"out/quick": "quick"}


def test_where_the_new_one_cannot_be_put_in_place_the_old_one_is_back(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "old").write_text("old")
    place = Location(spark, str(tmp_path / "out"))
    rename = Location.rename

    def refuse_the_new_one(self: Location, target: Location) -> None:
        if target.name == "out" and "partial" in self.name:
            raise PipelineError("the disk is full")
        rename(self, target)

    monkeypatch.setattr(Location, "rename", refuse_the_new_one)
    with pytest.raises(PipelineError, match="full"), place.staged(overwrite=True) as staging:
        staging.child("file").write_text("new")
    assert files_below(tmp_path) == {"out/old": "old"}


def test_a_result_that_a_killed_job_had_set_aside_comes_back(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / ".out.former").mkdir()
    (tmp_path / ".out.former" / "old").write_text("old")
    place = Location(spark, str(tmp_path / "out"))
    with pytest.raises(PipelineError, match="already"), place.staged():
        pass
    assert files_below(tmp_path) == {"out/old": "old"}


def test_what_is_read_or_is_no_result_is_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "documents.xml").write_text("<a/>")
    place = Location(spark, str(tmp_path / "out"))
    with pytest.raises(PipelineError, match="is in it"):
        place.require_replaceable([str(tmp_path / "out" / "*.xml")], lambda _: True)
    with pytest.raises(PipelineError, match="no result"):
        place.require_replaceable([str(tmp_path / "output")], lambda _: False)
    place.require_replaceable([str(tmp_path / "output")], lambda _: True)
