"""Patterns, schemas and documents for random histories of networks.

Few names, so that patterns cover, equal and overlap each other often.  Schemas are tables of who
contains whom and how often; the document type definition and documents are both made from them, so
that every document keeps the promise that it is drawn for.
"""

from __future__ import annotations

from random import Random
from typing import Final

Table = dict[str, tuple[tuple[str, str], ...]]
"""By element, its children in order, each with the sign for how often it comes."""

SCHEMAS: Final[dict[str, Table]] = {
    "letters": {"a": (("b", "*"), ("c", "?")), "b": (("c", "*"), ("d", "?")), "c": (("d", "*"),)},
    "others": {"a": (("c", "+"), ("b", "?")), "c": (("b", "*"), ("d", "*")), "b": (("e", "?"),)},
    "nested": {"a": (("a", "?"), ("b", "*")), "b": (("b", "?"), ("c", "?"))},
    "wide": {
        "a": (("b", "?"), ("c", "?"), ("d", "?"), ("e", "?")),
        "b": (("c", "?"), ("d", "?"), ("e", "?")),
    },
    "apart": {"e": (("b", "*"), ("c", "")), "b": (("d", "?"),)},
}
PATHS: Final = ("/a/b/c", "/a/c/d", "/a(/b)+/c", "/a/b/d", "/e/*/d", "/a/*", "/e(/b|/c)+/d")
_PATHS_DRAWN: Final = {
    "/a/b/c": (("a", "b", "c"),),
    "/a/c/d": (("a", "c", "d"),),
    "/a(/b)+/c": (("a", "b", "c"), ("a", "b", "b", "c")),
    "/a/b/d": (("a", "b", "d"),),
    "/e/*/d": (("e", "b", "d"), ("e", "a", "d")),
    "/a/*": (("a", "b"), ("a", "e")),
    "/e(/b|/c)+/d": (("e", "b", "d"), ("e", "c", "b", "d"), ("e", "c", "c", "d")),
}
_WORDS: Final = (
    *(word for words in _PATHS_DRAWN.values() for word in words),
    *("a", "b", "c", "d"),
    *("abcd", "abd", "acd", "ab", "acbe", "abe", "raab", "rabbc", "rab"),
    *("ebd", "ec"),
)
"""Paths of documents, a letter each."""
_NAMES = ("a", "b", "c", "d", "e")
_VALUES = ("1", "2", "5", "x")


def definition(table: Table) -> str:
    """A schema as a document type definition."""
    names = dict.fromkeys((*table, *(child for row in table.values() for child, _ in row)))
    lines = []
    for name in names:
        row = table.get(name, ())
        content = ", ".join(f"{child}{sign}" for child, sign in row) or "#PCDATA"
        lines.append(f"<!ELEMENT {name} ({content})><!ATTLIST {name} x CDATA #IMPLIED>")
    first = next(iter(table))
    if any(child == first for row in table.values() for child, _ in row):
        # So that it is plain which element is the root.
        lines.append(f"<!ELEMENT {_ROOT} ({first}?)><!ATTLIST {_ROOT} x CDATA #IMPLIED>")
    return "".join(lines)


_ROOT = "r"
DEFINITIONS: Final = {name: definition(table) for name, table in SCHEMAS.items()}


# --- patterns and documents ----------------------------------------------------------------------


def draw_linear(random: Random) -> str:
    """A path of elements, mostly one that some document has, made more general here and there."""
    word = list(random.choice(_WORDS))
    if random.random() < 0.2:
        word[random.randrange(len(word))] = random.choice(_NAMES)
    start = random.choice((0, 0, random.randrange(len(word))))
    end = random.randint(start + 1, len(word))
    text = ""
    for index in range(start, end):
        axis = "//" if (index == start > 0) or random.random() < 0.15 else "/"
        text += axis + ("*" if random.random() < 0.25 else word[index])
    return text


def _words(schema: str, longest: int = 4) -> list[tuple[str, ...]]:
    """The paths from the root of a schema."""
    table = SCHEMAS[schema]
    first = next(iter(table))
    words: list[tuple[str, ...]] = [(_ROOT, first) if _has_own_root(schema) else (first,)]
    for word in words:  # which grows
        if len(word) < longest:
            words += [(*word, child) for child, _ in table.get(word[-1], ())]
    return words


def draw_siblings(random: Random, schema: str) -> list[str]:
    """Paths of a schema that differ in one step, which a merger may stand for; perhaps not all."""
    words = _words(schema)
    word = random.choice(words[1:])
    index = random.randrange(1, len(word))

    def rest(other: tuple[str, ...]) -> tuple[str, ...]:
        return other[:index] + other[index + 1 :]

    alike = [each for each in words if len(each) == len(word) and rest(each) == rest(word)]
    names = [f"/{'/'.join(each)}" for each in alike]
    return random.sample(names, random.randint(1, len(names)))


def draw_pattern(random: Random) -> str:
    """A path, a path with values, or a tree."""
    kind = random.randrange(10)
    path = draw_linear(random)
    if kind < 5:
        return path
    if kind == 5:
        return path + random.choice(
            ("/@x", "[@x]", "[@x > 1]", "[@x = 1]", "[@x >= 2]", "/@x[.<5]")
        )
    if kind == 6:
        return path + random.choice(("[. = 1]", "[. > 1]", "[. != 'x']", "[contains(., 'x')]"))
    if kind == 7:
        return f"{path} | {draw_linear(random)}"
    branch = random.choice(("b", "c", "d", ".//d", ".//c", "b/c", "*/d", "b[d]", "not(c)", "*"))
    return f"{path}[{branch}]" + random.choice(("", "", "[c]", "[.//d]", "/b", "//d"))


def draw_document(random: Random, schema: str) -> str:
    """A document of a schema."""
    table = SCHEMAS[schema]
    written = _element(random, table, next(iter(table)), 5)
    return f"<{_ROOT}>{written}</{_ROOT}>" if _has_own_root(schema) else written


def _has_own_root(schema: str) -> bool:
    return f"<!ELEMENT {_ROOT} " in DEFINITIONS[schema]


def _element(random: Random, table: Table, name: str, room: int) -> str:
    attribute = f' x="{random.choice(_VALUES)}"' if random.random() < 0.3 else ""
    inside = ""
    for child, sign in table.get(name, ()):
        least, most = {"": (1, 1), "?": (0, 1), "*": (0, 2), "+": (1, 2)}[sign]
        for _ in range(random.randint(least, most if room > 0 else least)):
            inside += _element(random, table, child, room - 1)
    if name not in table and random.random() < 0.7:
        inside = random.choice(_VALUES)
    return f"<{name}{attribute}>{inside}</{name}>"


def draw_paths(random: Random, promises: tuple[str, ...]) -> str | None:
    """A document with a path of each promise; None where their roots differ."""
    words = [random.choice(_PATHS_DRAWN[each]) for each in promises]
    if len({word[0] for word in words}) > 1:
        return None
    inside = ""
    for word in words:
        value = random.choice(("", "1", "x"))
        inside += "".join(f"<{each}>" for each in word[1:]) + value
        inside += "".join(f"</{each}>" for each in reversed(word[1:]))
    return f"<{words[0][0]}>{inside}</{words[0][0]}>"


def draw_any(random: Random, room: int = 3) -> str:
    """Any document."""
    name = random.choice(_NAMES)
    inside = "".join(draw_any(random, room - 1) for _ in range(random.randrange(3) if room else 0))
    return f"<{name}>{inside or random.choice(_VALUES)}</{name}>"
