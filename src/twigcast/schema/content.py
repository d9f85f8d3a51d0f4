"""Content models: what may stand inside an element.

A model is one of ``Empty``, ``Any``, ``Text`` (characters only), ``Mixed`` (characters, and
elements in any order or as an expression says) or an expression over the keys of children::

    (title, (para | list)*, note?)

    Sequence ─┬─ Name title
              ├─ Repeat, from 0, unbounded ── Choice ─┬─ Name para
              │                                       └─ Name list
              └─ Repeat, from 0, at most 1 ── Name note

All are immutable and hashable.  The functions below answer questions about one model on its own;
:mod:`twigcast.schema.graph` joins the models of a whole DTD.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass

from twigcast.schema.simple_type import SimpleType


@dataclass(frozen=True, slots=True)
class Empty:
    """``EMPTY``: nothing at all, not even white space."""

    def __str__(self) -> str:
        return "EMPTY"


@dataclass(frozen=True, slots=True)
class Any:
    """``ANY``: characters and every declared element, in any order and number."""

    def __str__(self) -> str:
        return "ANY"


@dataclass(frozen=True, slots=True)
class Text:
    """``(#PCDATA)``: characters, no elements; in an XSD, those of a simple type."""

    simple: SimpleType | None = None

    def __str__(self) -> str:
        return "(#PCDATA)"


@dataclass(frozen=True, slots=True)
class Mixed:
    """``(#PCDATA | a | b)*``: characters and the named elements, in any order and number.

    With a ``model``, in the order and number that it says, which only an XSD can.
    """

    names: tuple[str, ...]
    model: Expression | None = None

    def __str__(self) -> str:
        if self.model is not None:
            return f"(#PCDATA & {self.model})"
        return f"(#PCDATA | {' | '.join(self.names)})*"


@dataclass(frozen=True, slots=True)
class Name:
    """One child element of that name."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Sequence:
    """Each of the parts, in that order."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Choice:
    """One of the parts; of none, what nothing fulfils."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return f"({' | '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Repeat:
    """The part ``minimum`` to ``maximum`` times, None for as often as wanted: ``?``, ``*``, ``+``.

    A DTD has only those three; never is it exactly once.
    """

    part: Expression
    minimum: int
    maximum: int | None

    def __str__(self) -> str:
        sign = {(0, 1): "?", (0, None): "*", (1, None): "+"}.get((self.minimum, self.maximum))
        return f"{self.part}{sign or f'{{{self.minimum},{self.maximum or str()}}}'}"


Expression = Name | Sequence | Choice | Repeat
Content = Empty | Any | Text | Mixed | Expression


def children_of(content: Content) -> Content:
    """The content without its characters, where an expression says what children there are."""
    return content.model if isinstance(content, Mixed) and content.model is not None else content


def nullable(content: Content) -> bool:
    """Whether an element with that content can be without child elements."""
    content = children_of(content)
    if isinstance(content, Name):
        return False
    if isinstance(content, Sequence):
        return all(map(nullable, content.parts))
    if isinstance(content, Choice):
        return any(map(nullable, content.parts))
    if isinstance(content, Repeat):
        return content.minimum == 0 or nullable(content.part)
    return True


def holds_text(content: Content) -> bool:
    """Whether characters other than white space may stand directly inside."""
    return isinstance(content, (Any, Text, Mixed))


def names(content: Content) -> tuple[str, ...]:
    """The child elements that the model names, each once, in order; none for ``ANY``."""
    return tuple(dict.fromkeys(_occurrences(content)))


def useful_children(content: Content, productive: Container[str]) -> frozenset[str] | None:
    """The names that occur in some sequence of children made of ``productive`` names only.

    None where every sequence that the model allows needs another name, so that an element with
    this content cannot be completed.
    """
    content = children_of(content)
    if isinstance(content, Name):
        return frozenset((content.name,)) if content.name in productive else None
    if isinstance(content, Mixed):
        return frozenset(name for name in content.names if name in productive)
    if isinstance(content, Repeat):
        inner = useful_children(content.part, productive)
        return frozenset() if inner is None and content.minimum == 0 else inner
    if isinstance(content, (Sequence, Choice)):
        each = [useful_children(part, productive) for part in content.parts]
        present = [part for part in each if part is not None]
        if len(present) < (len(each) if isinstance(content, Sequence) else 1):
            return None
        return frozenset().union(*present)
    return frozenset()


def companions(content: Content, productive: Container[str]) -> dict[str, set[str]] | None:
    """For each useful child of an expression, those that occur beside it in some sequence.

    A child is among its own companions: one node can be what two conditions ask for.  None where
    every child is beside every other (``ANY``, mixed content) or there is none at all.
    """
    content = children_of(content)
    if isinstance(content, (Empty, Any, Text, Mixed)):
        return None
    if isinstance(content, Name):
        return {content.name: {content.name}} if content.name in productive else None
    if isinstance(content, Repeat):
        inner = companions(content.part, productive)
        if inner is None or content.maximum == 1:
            return inner
        return {name: set(inner) for name in inner}
    merged: dict[str, set[str]] = {}
    for part in content.parts:
        inner = companions(part, productive)
        if inner is None:
            continue
        before = set(merged)
        for name, beside in inner.items():
            merged.setdefault(name, set()).update(beside)
        if isinstance(content, Sequence):
            for name in before:
                merged[name].update(inner)
            for name in inner:
                merged[name].update(before)
    return merged or None


def _occurrences(content: Content) -> Iterator[str]:
    if isinstance(content, Name):
        yield content.name
    elif isinstance(content, Mixed):
        yield from content.names
    elif isinstance(content, (Sequence, Choice)):
        for part in content.parts:
            yield from _occurrences(part)
    elif isinstance(content, Repeat):
        yield from _occurrences(content.part)
