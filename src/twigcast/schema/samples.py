"""A schema learned from sample documents: what they have, and how sure that is.

    samples ──read_document──► names, children, attributes, text of each element ──► declarations

An element may have the children that it has in some sample, in any order and number; likewise its
attributes and text.  Elements of one name are one, wherever they stand: a sample shows a few of the
paths that its producer has, and names show more than paths do.

What no sample shows is missing: unlike that of a DTD or an XSD, a "no" of this schema is a guess.
:class:`Samples` says how good a guess: how many samples there were, and how many at the end brought
nothing new.

Cost: each sample is read once and forgotten.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from twigcast.documents import Element, ExpandedName, read_document
from twigcast.errors import DocumentError, SchemaError
from twigcast.language import Kind, node_test
from twigcast.schema.content import Choice, Content, Empty, Mixed, Name, Repeat, Text
from twigcast.schema.declarations import Attribute, ElementDeclaration
from twigcast.schema.simple_type import SimpleType

Sample = bytes | str | os.PathLike[str]
"""A document, as bytes or text, or the path of its file."""

_SPACE = " \t\r\n"


@dataclass(frozen=True, slots=True)
class Samples:
    """What a schema was learned from; ``unchanged`` of the last samples brought nothing new."""

    count: int
    unchanged: int

    def __str__(self) -> str:
        documents = "1 sample" if self.count == 1 else f"{self.count:,} samples"
        return f"learned from {documents}, the last {self.unchanged:,} of which brought nothing new"


@dataclass(slots=True)
class _Seen:
    children: dict[ExpandedName, None] = field(default_factory=dict)
    attributes: dict[ExpandedName, None] = field(default_factory=dict)
    has_text: bool = False


def read_samples(
    samples: Iterable[Sample],
) -> tuple[dict[str, ElementDeclaration], tuple[str, ...], Samples]:
    """The declarations, the keys of the roots, and what they were learned from."""
    seen: dict[ExpandedName, _Seen] = {}
    roots: dict[ExpandedName, None] = {}
    count = unchanged = 0
    for sample in samples:
        count += 1
        before = (len(roots), _size(seen))
        root = _read(sample, count)
        roots.setdefault(root.name)
        _learn(root, seen)
        unchanged = unchanged + 1 if before == (len(roots), _size(seen)) else 0
    if not count:
        raise SchemaError("there is no sample to learn a schema from; pass at least one document")
    elements = {_key(name): _declare(name, each) for name, each in seen.items()}
    return elements, tuple(map(_key, roots)), Samples(count, unchanged)


def _read(sample: Sample, number: int) -> Element:
    name = f"sample {number}"
    try:
        if isinstance(sample, os.PathLike):
            name = os.fspath(sample)
            sample = Path(name).read_bytes()
        return read_document(sample).root
    except OSError as error:
        raise SchemaError(f"{name}: {error.strerror or error}") from None
    except DocumentError as error:
        raise SchemaError(f"{name}: {error}") from None


def _learn(root: Element, seen: dict[ExpandedName, _Seen]) -> None:
    waiting = [root]
    while waiting:
        element = waiting.pop()
        known = seen.setdefault(element.name, _Seen())
        for attribute in element.attributes:
            known.attributes.setdefault(attribute)
        for child in element.children:
            if isinstance(child, str):
                known.has_text = known.has_text or bool(child.strip(_SPACE))
            elif isinstance(child, Element):
                known.children.setdefault(child.name)
                waiting.append(child)


def _size(seen: dict[ExpandedName, _Seen]) -> int:
    return sum(
        1 + len(each.children) + len(each.attributes) + each.has_text for each in seen.values()
    )


def _key(name: ExpandedName) -> str:
    return node_test(Kind.ELEMENT, *name).text


def _declare(name: ExpandedName, seen: _Seen) -> ElementDeclaration:
    label = node_test(Kind.ELEMENT, *name)
    children = tuple(map(_key, seen.children))
    content: Content
    if not children:
        content = Text() if seen.has_text else Empty()
    elif seen.has_text:
        content = Mixed(children)
    else:
        names = tuple(map(Name, children))
        content = Repeat(names[0] if len(names) == 1 else Choice(names), 0, None)
    return ElementDeclaration(label.text, content, _attributes(seen), label)


def _attributes(seen: _Seen) -> tuple[Attribute, ...]:
    labels = (node_test(Kind.ATTRIBUTE, *name) for name in sorted(seen.attributes))
    return tuple(
        Attribute(label.text[1:], "cdata", "implied", label=label, simple=SimpleType("string"))
        for label in labels
    )
