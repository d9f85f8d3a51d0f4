"""A batch answers for each of its documents what the document alone would get.

Batches come as sequences and as Arrow arrays, bad documents stand anywhere in them, and the answer
can be had as lists, as numbers and as Arrow.
"""

from __future__ import annotations

import gc
import itertools
import subprocess
import sys
from collections.abc import Callable, Sequence
from random import Random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from matcher_answers import as_set, fill, one_by_one, parse_all

from twigcast import Matcher
from twigcast.documents import DocumentLimits
from twigcast.errors import DocumentError
from twigcast.matching import CompactDocument

if TYPE_CHECKING:
    from twigcast.matching import BatchMatches

PATTERNS = parse_all(
    [
        "//a",
        "//a/b",
        "//a/b[.='x']",
        "a//b",  # not the second one: a descendant
        "//b[@n>2]",
        "//b[@n>2] | //c",
        "/r[not(c)]",
        "//*[contains(., 'é')]",
        "//a",  # as the first one
        "/r/a[2]",
        "//nothing",
    ]
)

GOOD = (
    "<a/>",
    "<a><b>x</b></a>",
    "<r><a/><a><b n='3'>é</b></a></r>",
    "<r><c/><z/></r>",
    "<z/>",
    "<r><a><z><b n='1'>x</b></z></a></r>",
    "<!DOCTYPE r [<!ENTITY e '<c>é</c>'>]><r>&e;</r>",
    "<!DOCTYPE b [<!ATTLIST b n CDATA '5'>]><b/>",
    "<?xml version='1.0' encoding='utf-8'?>\n<!-- c --><r>é</r>",
)
BAD = ("", "<a>", "<a/><b/>", "<a>&e;</a>", "<p:a/>", "text", "<a></b>")


def expected_of(documents: Sequence[str | bytes]) -> list[set[str] | None]:
    """The answer for each document; None for a bad one."""
    answers: list[set[str] | None] = []
    for document in documents:
        try:
            answers.append(one_by_one(PATTERNS, document))
        except DocumentError:
            answers.append(None)
    return answers


def check(batch: BatchMatches, expected: Sequence[set[str] | None]) -> None:
    """Every way of reading the batch gives the expected answer."""
    answers = [set() if one is None else one for one in expected]
    assert len(batch) == len(expected)
    assert list(map(as_set, batch)) == answers
    assert [as_set(batch[number]) for number in range(len(batch))] == answers
    assert sorted(batch.errors) == [n for n, one in enumerate(expected) if one is None]
    assert all(isinstance(error, DocumentError) for error in batch.errors.values())
    check_numbers(batch, answers)
    check_arrow(batch.to_arrow(), expected)


def slices(offsets: memoryview, ids: memoryview) -> list[list[int]]:
    assert (offsets.format, ids.format) == ("q", "I")
    ends = offsets.tolist()
    numbers = ids.tolist()
    assert ends[0] == 0
    assert ends[-1] == len(numbers)
    assert ends == sorted(ends)
    return [numbers[start:end] for start, end in itertools.pairwise(ends)]


def check_numbers(batch: BatchMatches, answers: Sequence[set[str]]) -> None:
    """Numbers stand for keys, and numbers of distinct patterns for patterns, one to one."""
    by_number = slices(batch.offsets, batch.ids)
    assert _occurrences(by_number) == _occurrences(answers)
    by_pattern = slices(batch.pattern_offsets, batch.pattern_ids)
    assert _occurrences(by_pattern) == _occurrences(
        [{str(PATTERNS[key]) for key in answer} for answer in answers]
    )


def _occurrences(answers: Sequence[Sequence[int] | set[str]]) -> list[list[int]]:
    """For each thing that occurs in the answers, in which of them, without saying what it is."""
    places: dict[int | str, list[int]] = {}
    for number, things in enumerate(answers):
        assert len(set(things)) == len(things)
        for thing in things:
            places.setdefault(thing, []).append(number)
    return sorted(places.values())


def check_arrow(column: Any, expected: Sequence[set[str] | None]) -> None:
    assert column.type == pa.large_list(pa.dictionary(pa.int32(), pa.large_string()))
    column.validate(full=True)
    assert column.cast(pa.list_(pa.string())).to_pylist() == column.to_pylist()
    assert [None if one is None else as_set(one) for one in column.to_pylist()] == expected


def test_a_key_that_left_and_came_again_is_one_value_of_the_column() -> None:
    matcher = Matcher({"k": "//a", "z": "//a"})
    before = matcher.match_batch([b"<a/>"])
    matcher.remove("k")
    matcher.add("k", "//a")
    matcher.replace("z", "/a")
    matcher.add("gone", "//a")
    matcher.remove("gone")
    after = matcher.match_batch([b"<a/>", b"<a><a/></a>", b"<b/>"])
    column = after.to_arrow()
    assert [sorted(keys) for keys in column.to_pylist()] == [["k", "z"], ["k", "z"], []]
    assert sorted(column.flatten().dictionary.to_pylist()) == ["k", "z"]
    both = pa.concat_arrays([before.to_arrow().flatten(), column.flatten()])
    counted = pa.table({"key": both}).group_by("key").aggregate([([], "count_all")])
    assert sorted(map(tuple, zip(*counted.to_pydict().values(), strict=True))) == [
        ("k", 3),
        ("z", 3),
    ]


# --- what a batch may be ------------------------------------------------------------------------

FORMS: dict[str, Callable[[list[str]], Any]] = {
    "list of bytes": lambda texts: [text.encode() for text in texts],
    "list of str": list,
    "tuple of both": lambda texts: tuple(
        text.encode() if number % 2 else text for number, text in enumerate(texts)
    ),
    "binary": lambda texts: pa.array([text.encode() for text in texts], pa.binary()),
    "large binary": lambda texts: pa.array([text.encode() for text in texts], pa.large_binary()),
    "string": lambda texts: pa.array(texts, pa.string()),
    "large string": lambda texts: pa.array(texts, pa.large_string()),
    "chunks": lambda texts: pa.chunked_array([texts[:2], [], texts[2:3], texts[3:]], pa.string()),
    "binary chunks": lambda texts: pa.chunked_array(
        [[text.encode() for text in part] for part in (texts[:4], texts[4:], [])], pa.binary()
    ),
    "slice": lambda texts: pa.array(["<a/>", "<", *texts, "<r/>"])[2:-1],
    "slice of a slice": lambda texts: pa.array(["<a/>"] * 9 + texts)[4:][5:],
    "sliced chunks": lambda texts: pa.chunked_array([["<a/>", *texts[:3]], [*texts[3:], "<"]])[
        1:-1
    ],
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("texts", [list(GOOD), [*BAD, *GOOD], [*GOOD, *BAD, GOOD[2]], list(BAD)])
def test_batches_of_every_form(form: str, texts: list[str]) -> None:
    batch = fill(Matcher(), PATTERNS).match_batch(FORMS[form](texts))
    check(batch, expected_of(texts))
    for number, error in batch.errors.items():
        with pytest.raises(DocumentError) as alone:
            CompactDocument(texts[number])
        assert error.args == alone.value.args


@pytest.mark.parametrize("form", [form for form in FORMS if form != "sliced chunks"])
def test_empty_batches(form: str) -> None:
    batch = fill(Matcher(), PATTERNS).match_batch(FORMS[form]([]))
    check(batch, [])
    assert list(batch) == []
    assert batch.errors == {}
    with pytest.raises(IndexError):
        batch[0]
    assert batch.pattern_offsets.tolist() == batch.offsets.tolist() == [0]


def test_an_array_of_no_chunks() -> None:
    check(fill(Matcher(), PATTERNS).match_batch(pa.chunked_array([], pa.binary())), [])


def test_the_forms_of_the_samples_are_what_they_say() -> None:
    texts = list(GOOD)
    sliced, again = FORMS["slice"](texts), FORMS["slice of a slice"](texts)
    assert sliced.offset == 2
    assert again.offset == 9
    for form in FORMS.values():
        made = form(texts)
        plain = made if isinstance(made, list | tuple) else made.to_pylist()
        assert [one.decode() if isinstance(one, bytes) else one for one in plain] == texts


@pytest.mark.parametrize("kind", [pa.binary(), pa.large_binary(), pa.string(), pa.large_string()])
def test_a_null_is_an_error_of_its_own(kind: pa.DataType) -> None:
    texts = [None, "<a/>", None, None, "<r/>", "<", None]
    array = pa.array(texts, pa.string()).cast(kind)
    batch = fill(Matcher(), PATTERNS).match_batch(array)
    check(batch, [None if text is None else expected_of([text])[0] for text in texts])
    assert batch.errors[0].line == 0
    assert batch.errors[5].line > 0
    part = fill(Matcher(), PATTERNS).match_batch(array[2:5])
    assert sorted(part.errors) == [0, 1]
    whole = fill(Matcher(), PATTERNS).match_batch(pa.chunked_array([array[:3], array[3:]]))
    assert sorted(whole.errors) == [0, 2, 3, 5, 6]


def test_nothing_but_nulls() -> None:
    check(fill(Matcher(), PATTERNS).match_batch(pa.nulls(3, pa.binary())), [None] * 3)


@pytest.mark.parametrize(
    "wrong", [b"<a/>", "<a/>", 5, None, pa.array([1, 2]), pa.array([["<a/>"]]), [b"<a/>", 5]]
)
def test_what_is_no_batch_of_documents_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        fill(Matcher(), PATTERNS).match_batch(wrong)


def test_encodings_and_document_types_in_between() -> None:
    def encoded(encoding: str) -> bytes:
        text = f"<?xml version='1.0' encoding='{encoding}'?><r><a>é</a></r>"
        return text.encode(encoding)

    documents = [
        b"<a/>",
        encoded("utf-16"),
        encoded("iso-8859-1"),
        GOOD[6].encode(),
        b"\xef\xbb\xbf<a/>",
        encoded("utf-32"),
        b"<r>\xe9</r>",
        encoded("windows-1252"),
        encoded("cp037"),
        b"<a><b>x</b></a>",
    ]
    expected = expected_of(documents)
    assert [number for number, one in enumerate(expected) if one is None] == [6]
    assert sum(one is not None and "7" in one for one in expected) == 6
    check(fill(Matcher(), PATTERNS).match_batch(documents), expected)
    check(fill(Matcher(), PATTERNS).match_batch(pa.array(documents)), expected)


def test_limits_hold_for_each_document() -> None:
    limits = DocumentLimits(depth=3, size=60, attributes=2, name_length=9, entity_expansion=5)
    documents = [
        "<a/>",
        "<a><b><c><d/></c></b></a>",
        f"<a>{'x' * 80}</a>",
        "<a x='' y='' z=''/>",
        "<abcdefghij/>",
        "<!DOCTYPE r [<!ENTITY e '123'>]><r>&e;&e;</r>",
        "<a><b>x</b></a>",
    ]
    names = [None, "depth", "size", "attributes", "name_length", "entity_expansion", None]
    for form in ("list of bytes", "list of str", "binary", "string"):
        matcher = fill(Matcher(limits=limits), PATTERNS)
        batch = matcher.match_batch(FORMS[form](documents))
        for number, name in enumerate(names):
            if name is None:
                assert as_set(batch[number]) == one_by_one(PATTERNS, documents[number])
            else:
                assert f"DocumentLimits.{name} " in batch.errors[number].reason
        assert len(batch.errors) == 5


# --- the answer ---------------------------------------------------------------------------------


def test_a_batch_is_a_sequence() -> None:
    batch = fill(Matcher(), PATTERNS).match_batch([b"<a/>", b"<z/>", b"<"])
    assert isinstance(batch, Sequence)
    assert as_set(batch[0]) == as_set(batch[-3]) == {"0", "8"}
    assert batch[-1] == batch[2] == []
    for outside in (3, -4, 10**20):
        with pytest.raises(IndexError):
            batch[outside]
    assert list(reversed(batch)) == [batch[2], batch[1], batch[0]]
    batch[0].append("spoilt")
    assert as_set(batch[0]) == {"0", "8"}


def test_a_batch_keeps_the_answer_of_its_moment() -> None:
    matcher = fill(Matcher(), PATTERNS)
    texts = [*GOOD, *BAD]
    expected = expected_of(texts)
    batches = [matcher.match_batch(texts) for _ in range(4)]
    for key in PATTERNS:
        matcher.remove(key)
    check(batches[0], expected)
    fill(matcher, {f"new {key}": "//*" for key in PATTERNS})
    check(batches[1], expected)
    fill(matcher, dict.fromkeys(PATTERNS, "//nothing-of-this"))
    check(batches[2], expected)
    del matcher
    gc.collect()
    check(batches[3], expected)


def test_the_documents_may_go_before_the_answer_is_read() -> None:
    matcher = fill(Matcher(), PATTERNS)
    batch = matcher.match_batch(pa.array(list(GOOD)).cast(pa.binary())[1:])
    gc.collect()
    check(batch, expected_of(GOOD[1:]))
    offsets, ids = batch.offsets, batch.ids
    kept = offsets.tolist(), ids.tolist()
    del batch, matcher
    gc.collect()
    assert (offsets.tolist(), ids.tolist()) == kept


def test_an_empty_matcher_still_tells_bad_documents() -> None:
    batch = Matcher().match_batch([b"<a/>", b"<a>", b"<b/>"])
    assert list(batch) == [[], [], []]
    assert list(batch.errors) == [1]
    assert batch.to_arrow().to_pylist() == [[], None, []]
    assert batch.ids.tolist() == batch.pattern_ids.tolist() == []


def test_more_answers_than_documents_and_subscriptions() -> None:
    """Every one of 3,000 subscriptions of 3 patterns, on each of 200 documents."""
    matcher = Matcher()
    for number in range(3_000):
        matcher.add(f"key {number}", ("//a", "//a[b]", "/a/b")[number % 3])
    batch = matcher.match_batch([b"<a><b/></a>", b"<a/>"] * 100)
    assert len(batch.pattern_ids) == 100 * (3 + 1)
    assert len(batch.ids) == 100 * (3_000 + 1_000)
    assert set(batch.ids.tolist()) == set(batch.ids[:3_000].tolist())
    assert as_set(batch[198]) == set(matcher)
    assert as_set(batch[199]) == {f"key {number}" for number in range(0, 3_000, 3)}
    column = batch.to_arrow()
    assert len(column.flatten()) == 400_000


def test_long_batches_answer_alike_wherever_a_document_stands() -> None:
    random = Random(5)
    samples = [*GOOD, *BAD]
    expected = dict(zip(samples, expected_of(samples), strict=True))
    texts = [random.choice(samples) for _ in range(5_000)]
    batch = fill(Matcher(), PATTERNS).match_batch(pa.array(texts))
    assert [None if n in batch.errors else as_set(keys) for n, keys in enumerate(batch)] == [
        expected[text] for text in texts
    ]


WITHOUT_ARROW = """
import sys
sys.modules["pyarrow"] = None  # an import of it fails
from twigcast import Matcher
matcher = Matcher()
matcher.add("k", "//a")
batch = matcher.match_batch([b"<a/>", "<b/>", b"<"])
print(list(batch), sorted(batch.errors), batch.offsets.tolist())
"""


def test_sequences_need_no_arrow() -> None:
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_ARROW], capture_output=True, text=True, check=True
    )
    assert run.stdout == "[['k'], [], []] [2] [0, 1, 1, 1]\n"


def test_text_is_what_it_is_whatever_encoding_it_declares() -> None:
    matcher = Matcher()
    matcher.add("e", "//a[.='é']")
    texts = [
        f"<?xml version='1.0' encoding='{encoding}'?><a>é</a>"
        for encoding in ("ISO-8859-1", "UTF-16", "utf-8")
    ]
    assert list(matcher.match_batch(texts)) == [["e"]] * 3
    for kind in (pa.string(), pa.large_string()):
        assert list(matcher.match_batch(pa.array(texts, kind))) == [["e"]] * 3


def test_what_is_no_batch_is_refused_and_what_is_no_document_is_an_entry() -> None:
    matcher = Matcher()
    table = pa.table({"x": [b"<a/>"]})
    for wrong in ({"a": b"<a/>"}, table, table.to_batches()[0], pa.array([1, 2])):
        with pytest.raises(TypeError, match="documents are"):
            matcher.match_batch(wrong)
    with pytest.raises(TypeError, match="document 1 of the batch"):
        matcher.match_batch([b"<a/>", 5])
    batch = matcher.match_batch([b"<a/>", None])
    assert list(batch.errors) == [1]
    with pytest.raises(TypeError):
        batch.errors[0] = batch.errors[1]  # type: ignore[index]
    with pytest.raises(TypeError):
        batch[1.0]  # type: ignore[call-overload]


def test_numbers_count_documents_as_the_batch_itself_does() -> None:
    batch = Matcher({"a": "/a", "b": "/b", "both": "/*"}).match_batch([b"<a/>", b"<b/>", b"<"])
    for document in range(-3, 3):
        assert [batch.key(number) for number in batch.numbers(document)] == batch[document]
    for document in (-4, 3, 2**70, -(2**70)):
        with pytest.raises(IndexError, match="3 documents"):
            batch.numbers(document)
    for number in (-1, 3, 2**32, 2**70, -(2**70)):
        with pytest.raises(IndexError, match="is no number of a subscription"):
            batch.key(number)


def test_a_text_of_arrow_that_is_none_is_an_entry() -> None:
    """Spark casts any bytes to strings."""
    declared = b"<?xml version='1.0' encoding='utf-16'?>"
    bad = [b"<a>\xe9</a>", declared + b"<a>\xe9</a>", declared + b"<a>\xed\xa0\x80</a>"]
    data = pa.array([*bad, b"<a/>"])
    texts = pa.StringArray.from_buffers(len(data), *data.buffers()[1:])
    batch = Matcher({"a": "/a"}).match_batch(texts)
    assert (sorted(batch.errors), batch[3]) == ([0, 1, 2], ["a"])
