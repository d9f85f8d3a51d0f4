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
        "\ufeff# a comment\n\nalice\t//a[b]\n//c\nxmlns:p = urn:p\n  bob x \t p:d \r\n//p:e\n"
        "xmlns:q='urn:q'\r\ncarol\tq:f\n",
        encoding="utf-8",
    )
    found = list(read_subscriptions(path))
    assert [(entry.key, entry.pattern) for entry in found] == [
        ("alice", parse("//a/b")),
        ("4", parse("//c")),
        ("bob x", parse("Q{urn:p}d")),
        ("7", parse("Q{urn:p}e")),
        ("carol", parse("Q{urn:q}f")),
    ]
    assert found[0].xpath == "//a[b]"


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfk\t//a\n\xff\n"), encoding="latin-1")
    monkeypatch.setattr("sys.stdin", given)
    reader = read_subscriptions("-")
    assert next(reader).key == "k"
    with pytest.raises(SubscriptionFileError, match="standard input, line 2: this is not UTF-8"):
        next(reader)


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
    path.write_text("ok\t//a\nbad\t//a[amount(b)]\n", encoding="utf-8")
    reader = read_subscriptions(path)
    assert next(reader).key == "ok"
    with pytest.raises(SubscriptionFileError) as caught:
        next(reader)
    assert caught.value.line == 2
    assert str(caught.value).startswith(f"{path}, line 2: the function amount()")
    assert str(caught.value).splitlines()[-1].strip() == "^"


@pytest.mark.parametrize(
    ("name", "content", "line", "reason"),
    [
        ("a.csv", b"key,expression\nk,//a\n", 1, "the column xpath is missing"),
        ("a.csv", b"key,xpath,namespaces\nk,//a,[1]\n", 2, "JSON object"),
        ("a.csv", b"key,xpath,namespaces\nk,//a,{\n", 2, "JSON object"),
        ("a.csv", b"key,xpath\nk\n", 2, "empty"),
        ("a.csv", b'key,xpath,namespaces\nk,//a,"{""p"": null}"\n', 2, "JSON object"),
        (
            "a.CSV",
            b"key,xpath\nk,//a\nk,//b\n",
            3,
            "the key 'k' stands for the subscription of line 2",
        ),
        ("a.csv", b"key,xpath\nk,//a[contains(b, 'c')]\n", 2, "3 cells where the first line has 2"),
        ("a.csv", b"key,xpath,relative-to\nk,b,document\n", 1, "'relative-to' as relative_to"),
        ("a.csv", b"key,XPath\nk,b\n", 1, "'XPath' as xpath"),
        ("a.csv", b"key;xpath\nk;b\n", 1, "there is 'key;xpath'"),
        ("a.csv", b"key,xpath\nk,//caf\xe9\n", 2, "UTF-8"),
        ("a.csv", b"key,xpath\nk," + b"x" * 200_000 + b"\n", 2, "field larger than"),
        ("a.parquet", b"", 0, "no Parquet file"),
        ("a.parquet", b"PAR1 or not", 0, "no Parquet file"),
        ("a.txt", b"k\t//a\n\xff\xfe\n", 2, "UTF-8"),
        ("a.txt", b"2\t//a\n//b\n", 2, "the key '2' stands for the subscription of line 1"),
        ("a.txt", b" \t//a\n", 1, "the key is empty"),
        ("a.txt", b"xmlns:xml = urn:x\n//a\n", 1, "belong together"),
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
