"""Random lives of a matcher, for ``fuzz_matcher.py``: what is added, removed, matched and saved.

A life is a list of operations and depends on nothing but a seed and a number.  Expressions and
documents have few names and values, so that they meet often; documents are damaged in a few bytes,
so that many are refused and many are still well-formed.  Some expressions are of the whole grammar,
drawn from the strategies of the tests.
"""

from __future__ import annotations

import sys
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from hypothesis.internal.conjecture.data import ConjectureData

from twigcast.language.operators import FUNCTIONS

sys.path.append(str(Path(__file__).resolve().parent.parent / "tests" / "support"))

from expression_strategies import expressions_1

CACHES = (256 * 2**20, 20_000, 2_000, 0)
NAMESPACES = {"p": "urn:p"}
_NAMES = ("a", "b", "c", "p:a", "*", "*:b")
_TEXTS = ("", "1", "2", "15", " 15 ", "1e1", "ab", "abc", "b", "é")
_TOKENS = (
    *(b"<a>", b"</a>", b"<b/>", b"<", b">", b"</", b"/>", b"]]>", b"<![CDATA[", b"<!--", b"-->"),
    *(b"&amp;", b"&#49;", b"&e;", b"&", b"<?p ?>", b" x='1'", b" xmlns='urn:p'", b" xmlns=''"),
    *(b"<?xml version='1.0' encoding='iso-8859-1'?>", b"<!DOCTYPE a [<!ENTITY e '<b>1</b>'>]>"),
    *(b"\xef\xbb\xbf", b"\xff", b"\0", b"\xc3\xa9", b"\r\n", b"15", b"ab", b"'", b'"', b"="),
)


class Add(NamedTuple):
    """A subscription comes."""

    key: str
    expression: str


class Remove(NamedTuple):
    """A subscription goes."""

    key: str


class Match(NamedTuple):
    """Documents are matched, each by itself or all in one batch."""

    documents: tuple[bytes, ...]
    as_batch: bool


class Reload(NamedTuple):
    """The matcher is saved and loaded; with ``damage``, a file so changed must do no harm."""

    damage: tuple[tuple[int, bytes | None], ...] = ()
    """Where in the file, and what stands there instead; None cuts the file off."""


Operation: TypeAlias = Add | Remove | Match | Reload


# --- random lives -------------------------------------------------------------------------------


def draw_expression(random: Random, depth: int = 2) -> str:
    """A subscription with the prefixes of NAMESPACES."""
    if random.random() < 0.3:
        return ConjectureData(random=random).draw(expressions_1(depth)).text
    text = random.choice(("/", "//", "//", "")) + _path(random, depth)
    return text if random.random() < 0.9 else f"{text} | //{_path(random, depth)}"


def _path(random: Random, depth: int) -> str:
    steps = []
    for _ in range(random.randint(1, 3)):
        step = random.choice(_NAMES)
        if random.random() < 0.1:
            step += random.choice(("[1]", "[2]", "[position()>1]", "[position()<3]"))
        if depth and random.random() < 0.4:
            step += f"[{_condition(random, depth - 1)}]"
        steps.append(step)
    path = steps[0] + "".join(random.choice(("/", "/", "//")) + step for step in steps[1:])
    return path + random.choice(("", "", "", "", "/@x", "/text()", "//@*", "//text()"))


def _condition(random: Random, depth: int) -> str:
    node = random.choice((".", "@x", "text()", _path(random, 0), f".//{_path(random, 0)}"))
    constant = random.choice((f"'{random.choice(_TEXTS)}'", random.choice(("1", "2", "15", "-3"))))
    kind = random.randrange(6)
    if kind == 0:
        return _path(random, depth)
    if kind <= 2:
        return f"{node} {random.choice(('=', '!=', '<', '<=', '>', '>='))} {constant}"
    if kind == 3:
        text = random.choice(_TEXTS)
        return f"{random.choice(sorted(FUNCTIONS))}({node}, '{text}')"
    if kind == 4:
        return f"not({_condition(random, max(depth - 1, 0))})"
    left, right = (_condition(random, max(depth - 1, 0)) for _ in range(2))
    return f"({left} {random.choice(('and', 'or'))} {right})"


def draw_document(random: Random) -> bytes:
    """A well-formed document, of UTF-8 most of the time."""
    text = _element(random, random.randint(1, 6), " xmlns:p='urn:p'")
    if random.random() < 0.05:
        return f"<!DOCTYPE a [<!ENTITY e '<b x=\"2\">15</b>'>]>{text}".encode()
    return text.encode(random.choice(("utf-8",) * 20 + ("utf-16",)))


def _element(random: Random, depth: int, more: str = "") -> str:
    name = random.choice(("a", "a", "b", "b", "c", "p:a", "p:b", "d"))
    attribute = random.choice(("", "", f" x='{random.choice(_TEXTS)}'", " xmlns='urn:p'"))
    inside = random.choice(_TEXTS)
    for _ in range(random.randint(0, 3) if depth else 0):
        inside += _element(random, depth - 1) + random.choice(("", *_TEXTS, "<!--c-->"))
    return f"<{name}{attribute}{more}>{inside}</{name}>"


def damage_document(random: Random, data: bytes) -> bytes:
    """The document with a few places changed; sometimes it is still well-formed."""
    changed = bytearray(data)
    for _ in range(random.choice((0, 1, 1, 1, 2, 5))):
        start = random.randrange(len(changed) + 1)
        end = min(len(changed), start + random.choice((0, 1, 1, 4, 20)))
        kind = random.randrange(4)
        if kind == 0:
            changed[start:end] = random.choice(_TOKENS)
        elif kind == 1:
            del changed[start:end]
        elif kind == 2:
            changed[start:start] = changed[start:end] * random.choice((1, 1, 2, 30))
        elif start < len(changed):
            changed[start] = random.choice((random.randrange(256), *b"<>&'\"/= ab15"))
    return bytes(changed)


def draw_life(seed: int, number: int) -> tuple[int, list[Operation]]:
    """The bytes of cache, and what happens to the matcher."""
    random = Random(f"{seed} {number}")
    keys = [str(key) for key in range(random.choice((1, 3, 10, 40)))]
    operations: list[Operation] = [Add(key, draw_expression(random)) for key in keys]
    documents = [draw_document(random) for _ in range(5)]
    for _ in range(40):
        kind = random.randrange(10)
        key = random.choice(keys)
        if kind == 0:
            operations.append(Remove(key))
        elif kind == 1:
            operations.append(Add(key, draw_expression(random)))
        elif kind == 2:
            damage = [
                tuple(_draw_damage(random) for _ in range(random.choice((1, 1, 2))))
                for _ in range(5)
            ]
            operations += [Reload(), *map(Reload, damage)]
        else:
            count = random.choice((1, 1, 4))
            some = [damage_document(random, random.choice(documents)) for _ in range(count)]
            operations.append(Match(tuple(some), random.random() < 0.4))
    return random.choice(CACHES), operations


def _draw_damage(random: Random) -> tuple[int, bytes | None]:
    place = random.choice((random.randrange(64), random.randrange(2**20), -random.randrange(1, 64)))
    size = random.choice((1, 1, 1, 4, 8))
    return place, random.choice((None, random.randbytes(size), b"\0" * size, b"\xff" * size))
