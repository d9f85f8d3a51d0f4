"""Files of subscriptions in each of their forms."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from twigcast.errors import SubscriptionFileError
from twigcast.language import parse, read_subscriptions


def test_text(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.txt"
    path.write_text(
        "\ufeff# a comment\n\nalice\t//a[b]\n//c\nxmlns:p = urn:p\n  bob x \t p:d \r\n//p:e\n",
        encoding="utf-8",
    )
    found = list(read_subscriptions(path))
    assert [(entry.key, entry.pattern) for entry in found] == [
        ("alice", parse("//a/b")),
        ("4", parse("//c")),
        ("bob x", parse("Q{urn:p}d")),
        ("7", parse("Q{urn:p}e")),
    ]
    assert found[0].xpath == "//a[b]"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("k\t//a\n"))
    assert [entry.key for entry in read_subscriptions("-")] == ["k"]


def test_csv(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.csv"
    path.write_text(
        'key,xpath,subscriber,namespaces\nk1,"//a[b=""x,y""]",alice,\n'
        'k2,//p:a,,"{""p"": ""urn:p""}"\n',
        encoding="utf-8",
    )
    first, second = read_subscriptions(path)
    assert (first.key, first.subscriber, first.pattern) == ("k1", "alice", parse("//a[b='x,y']"))
    assert (second.key, second.subscriber) == ("k2", None)
    assert second.pattern == parse("Q{urn:p}a")


def test_parquet(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet", reason="Parquet needs pyarrow")
    path = tmp_path / "subscriptions.parquet"
    columns = {
        "key": ["k1", "k2"],
        "xpath": ["//a", "//p:a"],
        "other": [1, 2],
        "namespaces": arrow.array(
            [None, [("p", "urn:p")]], arrow.map_(arrow.string(), arrow.string())
        ),
    }
    parquet.write_table(arrow.table(columns), path)
    found = list(read_subscriptions(path))
    assert [(entry.key, str(entry.pattern)) for entry in found] == [
        ("k1", "//a"),
        ("k2", "//Q{urn:p}a"),
    ]


def test_a_bad_expression_names_file_and_line(tmp_path: Path) -> None:
    path = tmp_path / "subscriptions.txt"
    path.write_text("ok\t//a\nbad\t//a[count(b)]\n", encoding="utf-8")
    reader = read_subscriptions(path)
    assert next(reader).key == "ok"
    with pytest.raises(SubscriptionFileError) as caught:
        next(reader)
    assert caught.value.line == 2
    assert str(caught.value).startswith(f"{path}, line 2: the function count()")
    assert str(caught.value).splitlines()[-1].strip() == "^"


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("a.csv", b"key,expression\nk,//a\n", 1, "the column xpath is missing"),
        ("a.csv", b"key,xpath,namespaces\nk,//a,[1]\n", 2, "JSON object"),
        ("a.csv", b"key,xpath,namespaces\nk,//a,{\n", 2, "JSON object"),
        ("a.csv", b"key,xpath\nk\n", 2, "empty"),
        ("a.txt", b"k\t//a\n\xff\xfe\n", 1, "UTF-8"),
        ("a.txt", b"xmlns:p = urn:p\nk\t//q:a\n", 2, "the prefix q is not bound"),
    ],
)
def test_other_errors(tmp_path: Path, name: str, content: bytes, line: int, reason: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(SubscriptionFileError) as caught:
        list(read_subscriptions(path))
    assert caught.value.line == line
    assert reason in caught.value.reason
