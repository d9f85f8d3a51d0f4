"""The lines of files that arrive: numbers, ends of lines, limits; without Spark."""

from __future__ import annotations

import gzip
import io

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from twigcast.pipeline.sources import lines
from twigcast.pipeline.sources.lines import TOO_LONG, read_lines


def read(data: bytes, name: str = "a.jsonl") -> list[tuple[str, bytes | None, str | None]]:
    found = read_lines(name, io.BytesIO(data))
    return [(one.id, one.content, one.problem) for one in found]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("start", [b"", b"\xef\xbb\xbf"])
def test_lines_end_in_three_ways_and_blank_ones_do_not_count(start: bytes, end: bytes) -> None:
    data = start + end.join([b"", b"one", b"", b" \t", b" two\xff ", b"", b"three"])
    wanted = [("#1", b"one"), ("#2", b"two\xff"), ("#3", b"three")]
    for name, content in (("a.jsonl", data + end), ("a.jsonl.GZ", gzip.compress(data))):
        assert read(content, name) == [(f"{name}{place}", line, None) for place, line in wanted]


def test_a_file_with_nothing_in_it_has_no_lines() -> None:
    assert read(b"") == read(b"\r\n \n") == read(gzip.compress(b""), "a.json.gz") == []


def test_a_line_that_is_too_long_takes_no_other_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "LONGEST", 10)
    data = b"a" * 9 + b"\n" + b"b" * 10 + b"\n" + b"c" * 35 + b"\nd\n" + b"e" * 11
    assert read(data) == [
        ("a.jsonl#1", b"a" * 9, None),
        ("a.jsonl#2", None, TOO_LONG),
        ("a.jsonl#3", None, TOO_LONG),
        ("a.jsonl#4", b"d", None),
        ("a.jsonl#5", None, TOO_LONG),
    ]


def test_a_damaged_file_keeps_the_lines_before() -> None:
    packed = gzip.compress(b"one\ntwo\n")
    *before, last = read(packed[:-4], "a.jsonl.gz")
    assert before == [("a.jsonl.gz#1", b"one", None), ("a.jsonl.gz#2", b"two", None)]
    assert last[:2] == ("a.jsonl.gz", None)
    assert "cannot be read to its end" in (last[2] or "")
