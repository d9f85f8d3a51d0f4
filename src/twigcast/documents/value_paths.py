"""A path to a value of a document, such as ``/order/@customer``: a small part of XPath.

    path       ::=  (("/" | "//") step)+ (("/" | "//") "@" name)?
    step       ::=  (name | "*") ("[" ("@")? name ("=" literal)? "]")*

The value is that of the first node in document order, so there is one at most.  A path without
positions and functions costs a step for each element and step of the path, whatever the document.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from twigcast.documents.tree import Document, Element, ExpandedName
from twigcast.language import name_text

LONGEST: Final = 500
"""Characters that a path has at most."""

_NAME: Final = r"(?:Q\{[^{}]*\})?[^\W\d][\w.-]*(?::[^\W\d][\w.-]*)?"
_CONDITION: Final = re.compile(
    rf"\[\s*(?P<at>@?)(?P<name>{_NAME})\s*(?:=\s*(?:'(?P<one>[^']*)'|\"(?P<two>[^\"]*)\")\s*)?\]"
)
_STEP: Final = re.compile(rf"(?P<down>//?)(?P<at>@?)(?P<name>{_NAME}|\*)")


class _Condition(NamedTuple):
    """That an element has an attribute, or a child; perhaps with a certain value."""

    is_attribute: bool
    name: ExpandedName
    value: str | None

    def holds(self, element: Element) -> bool:
        if self.is_attribute:
            values = [element.attributes[self.name]] if self.name in element.attributes else []
        else:
            children = [each for each in element.children if isinstance(each, Element)]
            values = [each.string_value() for each in children if each.name == self.name]
        return bool(values) if self.value is None else self.value in values

    def __str__(self) -> str:
        name = f"{'@' if self.is_attribute else ''}{name_text(*self.name)}"
        if self.value is None:
            return f"[{name}]"
        quote = '"' if "'" in self.value else "'"
        return f"[{name}={quote}{self.value}{quote}]"


class _Step(NamedTuple):
    """An element on the path: a child, or anywhere below; any name if there is none."""

    is_anywhere: bool
    name: ExpandedName | None
    conditions: tuple[_Condition, ...]

    def matches(self, element: Element) -> bool:
        if self.name is not None and self.name != element.name:
            return False
        return all(each.holds(element) for each in self.conditions)

    def __str__(self) -> str:
        name = "*" if self.name is None else name_text(*self.name)
        return f"{'//' if self.is_anywhere else '/'}{name}{''.join(map(str, self.conditions))}"


class ValuePath(NamedTuple):
    """A path to a value; its text is a normal form, with names spelled ``Q{uri}name``."""

    steps: tuple[_Step, ...]
    attribute: ExpandedName | None = None
    is_attribute_anywhere: bool = False

    def __str__(self) -> str:
        text = "".join(map(str, self.steps))
        if self.attribute is None:
            return text
        return f"{text}{'//' if self.is_attribute_anywhere else '/'}@{name_text(*self.attribute)}"

    def read(self, document: Document) -> str | None:
        """The value that a document has at the path, or None."""
        pending: list[tuple[Element, frozenset[int]]] = [(document.root, frozenset((0,)))]
        while pending:
            element, wanted = pending.pop()
            # How many steps the path from the root to this element fulfils.
            done = self._go_down(element, wanted)
            if len(self.steps) in done:
                if self.attribute is None:
                    return element.string_value()
                if self.attribute in element.attributes:
                    return element.attributes[self.attribute]
            if done:
                children = [each for each in element.children if isinstance(each, Element)]
                pending.extend((each, done) for each in reversed(children))
        return None

    def _go_down(self, element: Element, wanted: frozenset[int]) -> frozenset[int]:
        done = set()
        for count in wanted:
            if count == len(self.steps):
                if self.is_attribute_anywhere:
                    done.add(count)
                continue
            step = self.steps[count]
            if step.matches(element):
                done.add(count + 1)
            if step.is_anywhere:
                done.add(count)
        return frozenset(done)


def parse_value_path(text: str, namespaces: Mapping[str, str] | None = None) -> ValuePath:
    """The path that a text says; ValueError with the position of a mistake and what to write.

    ``namespaces`` are those of prefixes; an empty prefix is for element names without one.
    """
    if len(text) > LONGEST:
        raise ValueError(f"a path to a value has at most {LONGEST} characters, not {len(text):,}")
    bound = namespaces or {}
    steps: list[_Step] = []
    position = 0
    while position < len(text):
        step = _STEP.match(text, position)
        if step is None:
            raise _mistake(text, position)
        position = step.end()
        is_anywhere = step["down"] == "//"
        if step["at"]:
            if position < len(text) or step["name"] == "*":
                raise _mistake(text, step.start())
            return ValuePath(tuple(steps), _expanded(step["name"], bound, ""), is_anywhere)
        conditions = []
        while (condition := _CONDITION.match(text, position)) is not None:
            position = condition.end()
            conditions.append(_condition(condition, bound))
        element = bound.get("", "")
        name = None if step["name"] == "*" else _expanded(step["name"], bound, element)
        steps.append(_Step(is_anywhere, name, tuple(conditions)))
    if not steps:
        raise _mistake(text, 0)
    return ValuePath(tuple(steps))


def _condition(matched: re.Match[str], namespaces: Mapping[str, str]) -> _Condition:
    is_attribute = bool(matched["at"])
    default = "" if is_attribute else namespaces.get("", "")
    value = matched["one"] if matched["two"] is None else matched["two"]
    return _Condition(is_attribute, _expanded(matched["name"], namespaces, default), value)


def _expanded(name: str, namespaces: Mapping[str, str], default: str) -> ExpandedName:
    if name.startswith("Q{"):
        namespace, _, local = name[2:].partition("}")
        return namespace, local
    prefix, _, local = name.rpartition(":")
    if not prefix:
        return default, local
    if prefix not in namespaces:
        raise ValueError(f"the prefix {prefix!r} is not bound; give its namespace")
    return namespaces[prefix], local


def _mistake(text: str, position: int) -> ValueError:
    return ValueError(
        f"{text!r} is no path to a value (character {position + 1}); write one as in "
        "/order/@customer, //customer/id or //party[@role='buyer']/@id"
    )
