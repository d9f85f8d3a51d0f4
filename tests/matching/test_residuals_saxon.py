"""Expressions of XPath 2.0 in the kernel: what Saxon answered, kept as data."""

from __future__ import annotations

from pathlib import Path

import pytest
from residuals import compiled, quoted

from twigcast.matching import CompactDocument

DOCUMENT = (
    '<a x="1" d="2024-02-29"><b id="i1">1</b><b y="2">2.5</b>text<c><d>3</d><!--inside--><e/>'
    '<?go there?>tail</c><b>abc</b><f xml:lang="de"> x  y z </f>'
    '<g when="2024-01-31T10:20:30.5+02:00">2024-03-01</g><g>2023-12-31</g><n>10</n><n>9</n><n>9</n>'
    '<e1><k p="1" q="2">t</k></e1><e1><k q="2" p="1">t<!--c--></k></e1>'
    '<e1><k p="1" q="3">t</k></e1></a>'
)
ERROR = "!"


def answers() -> list[list[str]]:
    lines = (Path(__file__).parent / "saxon_answers.tsv").read_text("utf-8").splitlines()
    return [line.split("\t") for line in lines if not line.startswith("#")]


def check(expression: str, answer: str, is_version_2: bool, document: CompactDocument) -> None:
    spelled = f"string-join(for $item in ({expression}) return string($item), '|')"
    test = compiled(f"{spelled} = {quoted(answer)}", is_version_2)
    matches, reason = document.decide(test)
    assert (matches, reason != "") == ((False, True) if answer == ERROR else (True, False)), (
        expression,
        answer,
        reason,
    )


@pytest.mark.parametrize("is_version_2", [False, True])
def test_values_are_those_of_saxon(is_version_2: bool) -> None:
    document = CompactDocument(DOCUMENT)
    for expression, *both in answers():
        if is_version_2 or len(both) == 2:
            check(expression, both[not is_version_2], is_version_2, document)


def test_the_time_is_that_of_the_call_in_utc() -> None:
    document = CompactDocument("<a/>")
    for text in (
        "current-date() ge xs:date('2024-01-01')",
        "current-dateTime() eq current-dateTime()",
        "xs:date(current-dateTime()) eq current-date()",
        "ends-with(string(current-time()), 'Z')",
    ):
        assert document.matches(compiled(text, True)), text
