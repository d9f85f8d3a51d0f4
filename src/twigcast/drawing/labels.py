"""Texts for boxes: cut where they are too long, and different where the patterns are.

A cut keeps both ends.  Patterns that differ only in what a cut would take away show that part::

    /nitf/body/body.conte…media/media-caption/em      of both, if each were cut by itself
    /nitf/body/body.…k/hl1/med…/media-caption/em
    /nitf/body/body.…k/hl2/med…/media-caption/em

Where the part in which they differ is too long for that, the label grows, up to ``WIDEST`` columns.
Beyond, two labels may look alike; the full text is in the title of the box.

Cost: linear in the length of all texts, once more whenever labels of one group turn out to look
like a label of another group, which is seldom.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from unicodedata import east_asian_width

WIDEST: Final = 120
_AROUND: Final = 4
_LEAST_END: Final = 8


def distinct_labels(texts: Mapping[int, str], longest: Mapping[int, int]) -> dict[int, str]:
    """A label for each text, of so many columns; longer ones where others would look the same."""
    shown = {node: printable(text) for node, text in texts.items()}
    room: dict[str, int] = {}
    for node, text in shown.items():
        room[text] = min(longest[node], room.get(text, longest[node]))
    groups = [[text] for text in room]
    while True:
        labels: dict[str, str] = {}
        for group in groups:
            labels.update(_distinguish(group, min(room[text] for text in group)))
        joined = _join_alike(groups, labels)
        if len(joined) == len(groups):
            return {node: labels[text] for node, text in shown.items()}
        groups = joined


def _join_alike(groups: Sequence[list[str]], labels: Mapping[str, str]) -> list[list[str]]:
    """The groups, those that share a label joined into one."""
    joined: dict[int, list[str]] = {}
    group_of: dict[str, int] = {}
    for number, group in enumerate(groups):
        for other in {group_of[labels[text]] for text in group if labels[text] in group_of}:
            group = joined.pop(other) + group
        joined[number] = group
        group_of.update((labels[text], number) for text in group)
    return list(joined.values())


def _distinguish(texts: Sequence[str], longest: int) -> dict[str, str]:
    """Labels that differ, for different texts whose cuts would look the same."""
    if len(texts) == 1:
        return {texts[0]: shorten(texts[0], longest)}
    begin = _shared(texts)
    left = min(map(len, texts)) - begin  # what both ends share is not counted twice
    end = min(left, _shared([text[::-1] for text in texts]))
    start, stop = max(0, begin - _AROUND), max(0, end - _AROUND)
    parts = {text: text[start : len(text) - stop] for text in texts}
    widest = 2 + max(map(columns, parts.values()))
    ends = max(longest - widest, 2 * _LEAST_END)
    if widest + ends > max(WIDEST, longest):
        return {text: shorten(text, WIDEST) for text in texts}
    labels = {}
    for text, part in parts.items():
        before, after = text[:start], text[len(text) - stop :]
        if columns(before) > ends // 2 + 1:
            before = f"{_first(before, ends // 2)}…"
        if columns(after) > ends - ends // 2 + 1:
            after = f"…{_last(after, ends - ends // 2)}"
        labels[text] = f"{before}{part}{after}"
    return labels


def _shared(texts: Sequence[str]) -> int:
    """How many characters different texts have in common at the beginning."""
    first, last = min(texts), max(texts)  # those between them in the order share as much
    pairs = zip(first, last, strict=False)
    return next((at for at, (one, other) in enumerate(pairs) if one != other), len(first))


def shorten(text: str, longest: int) -> str:
    """The text on one line of so many columns, with … in its middle for what is too much."""
    text = printable(text)
    if columns(text) <= longest:
        return text
    return f"{_first(text, (longest - 1) // 2)}…{_last(text, longest // 2)}"


def _first(text: str, most: int) -> str:
    """As much of the beginning as goes into so many columns; the text is longer than that."""
    end = 0
    while (most := most - columns(text[end])) >= 0:
        end += 1
    return text[:end]


def _last(text: str, most: int) -> str:
    return _first(text[::-1], most)[::-1]


def columns(text: str) -> int:
    """How many columns of a font of fixed width a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(each) in "WF" else 1 for each in text)


def printable(text: str) -> str:
    """The text with signs for characters that are invisible, or not allowed in XML."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        chr(0x2400 + ord(each)) if each < " " else each if _is_allowed(each) else "\ufffd"
        for each in text
    )


def _is_allowed(each: str) -> bool:
    return not ("\x7f" <= each < "\xa0" or "\ud800" <= each < "\ue000" or each in "\ufffe\uffff")
