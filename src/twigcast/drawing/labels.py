"""Texts for boxes: cut where they are too long, and different where the patterns are.

A cut keeps both ends.  Patterns that differ only in what a cut would take away show that part::

    /nitf/body/body.conte…media/media-caption/em      of both, if each were cut by itself
    /nitf/body/body.con…ock/hl1/me…ia-caption/em
    /nitf/body/body.con…ock/hl2/me…ia-caption/em

Where patterns differ in several parts, the label grows, up to ``WIDEST`` columns.  Beyond, two
labels may look alike; the full text is in the title of the box.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Final
from unicodedata import east_asian_width

WIDEST: Final = 120
_AROUND: Final = 4
_LEAST: Final = 24


def distinct_labels(texts: Iterable[str], longest: int) -> dict[str, str]:
    """A label for each text, of so many columns; longer ones where others would look the same."""
    labels = _distinguish(dict.fromkeys(texts), longest)
    counts = Counter(labels.values())
    return {
        text: shorten(text if counts[label] > 1 else label, max(longest, WIDEST))
        for text, label in labels.items()
    }


def _distinguish(texts: Iterable[str], longest: int) -> dict[str, str]:
    """The labels; texts that look alike when cut are cut again behind what they share."""
    alike: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        alike[shorten(text, longest)].append(text)
    labels: dict[str, str] = {}
    for label, group in alike.items():
        if len(group) == 1:
            labels[group[0]] = label
            continue
        first, last = min(group), max(group)  # those between them in the order share as much
        pairs = zip(first, last, strict=False)
        shared = next((at for at, (one, two) in enumerate(pairs) if one != two), len(first))
        start = max(1, shared - _AROUND)
        before = group[0][:start]
        room = max(1, longest // 2 - 3)
        if columns(before) > room + 1:
            before = f"{_first(before, room)}…"
        rests = _distinguish([text[start:] for text in group], max(_LEAST, longest - room - 1))
        labels |= {text: before + rests[text[start:]] for text in group}
    return labels


def shorten(text: str, longest: int) -> str:
    """The text on one line of so many columns, with … in its middle for what is too much."""
    text = printable(text)
    if columns(text) <= longest:
        return text
    return f"{_first(text, (longest - 1) // 2)}…{_first(text[::-1], longest // 2)[::-1]}"


def _first(text: str, most: int) -> str:
    """As much of the beginning as goes into so many columns; the text is longer than that."""
    end = 0
    while (most := most - columns(text[end])) >= 0:
        end += 1
    return text[:end]


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
