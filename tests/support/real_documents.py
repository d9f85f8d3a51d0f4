"""The real documents beside the checkout, and subscriptions made of what stands in them.

Each subscription starts from one element of one document: its path from the root, and its
attributes, text, values and place among its siblings.  So each is known to match something, and
meets many documents that nearly match.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from lxml import etree

from twigcast.language import Pattern, name_text, parse, to_number

SUBSCRIPTIONS = 600


def read_folder(shared_data: Path, name: str) -> dict[str, bytes]:
    folder = shared_data / "documents" / name
    if not folder.is_dir():
        pytest.skip(f"documents/{name} is not among the shared data")
    paths = sorted(folder.rglob("*.xml"))
    assert paths, "the folder is empty"
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


# --- subscriptions from documents ---------------------------------------------------------------


def split(name: str) -> tuple[str, str]:
    namespace, brace, local = name.rpartition("}")
    return namespace.removeprefix("{") if brace else "", local


class Drafts:
    """Expressions that one element of a document matches."""

    def __init__(self, element: etree._Element, random: Random) -> None:
        self.element = element
        self.random = random
        line = [*reversed(list(element.iterancestors())), element]
        self.names = [split(str(one.tag)) for one in line]

    def draw(self) -> str:
        tail = self.random.choice(
            (self.nothing, self.attribute, self.text, self.number, self.child, self.negation)
        )
        return self.path() + tail()

    def path(self) -> str:
        """The path to the element, some of its steps loosened."""
        text, skipped = "", False
        for depth, (namespace, local) in enumerate(self.names):
            last = depth == len(self.names) - 1
            if not last and self.random.random() < 0.25:
                skipped = True
                continue
            step = name_text(namespace, local)
            if self.random.random() < 0.15:
                step = self.random.choice(("*", f"*:{local}"))
            text += ("//" if skipped else "/") + step
            skipped = False
        return text + self.place()

    def place(self) -> str:
        """Sometimes the element's place; the last step may be its name or wider, so a bound."""
        if self.random.random() < 0.85:
            return ""
        before = sum(1 for _ in self.element.itersiblings("*", preceding=True))
        return f"[position()<={before + 1}]"

    def nothing(self) -> str:
        return ""

    def attribute(self) -> str:
        if not self.element.attrib:
            return "[not(@*)]"
        name, value = self.random.choice(sorted(self.element.attrib.items()))
        spelled = name_text(*split(str(name)))
        literal = quoted(str(value))
        if literal is None or self.random.random() < 0.4:
            return self.random.choice((f"/@{spelled}", f"[@{spelled}]", f"[@{spelled}!='@']"))
        return self.random.choice(
            (
                f"[@{spelled}={literal}]",
                f"/@{spelled}[.={literal}]",
                f"[@*={literal}]",
                f"/@*[contains(., {literal})]",
            )
        )

    def text(self) -> str:
        value = "".join(map(str, self.element.itertext("*")))
        literal = quoted(value) if len(value) < 60 else None
        start = quoted(value[:8])
        middle = quoted(value[len(value) // 3 : len(value) // 3 + 6])
        drafts = [f"[.={literal}]"] if literal else []
        drafts += [f"[starts-with(., {start})]"] if start else []
        drafts += [f"[contains(., {middle})]"] if middle else []
        own = quoted(self.element.text or "")
        drafts += [f"/text()[.={own}]"] if own and self.element.text else []
        return self.random.choice(drafts or ["[. != 'x']"])

    def number(self) -> str:
        number = to_number("".join(map(str, self.element.itertext("*"))))
        if not abs(number) < 1e15:
            return self.text()
        whole = int(number)
        return self.random.choice((f"[.>={whole - 1}]", f"[.<{whole + 1}]", f"[.!={whole + 1}]"))

    def child(self) -> str:
        children = list(self.element.iterchildren("*"))
        if not children:
            return "[not(*)]"
        child = self.random.choice(children)
        spelled = name_text(*split(str(child.tag)))
        more = Drafts(child, self.random)
        return f"[{spelled}{more.text()}]" + self.random.choice(("", f"/{spelled}", "//*", "/*"))

    def negation(self) -> str:
        _, local = self.random.choice(self.names)
        return self.random.choice((f"[not({local})]", f"[not(.//*:{local}x)]", "[not(@no or no)]"))


def quoted(text: str) -> str | None:
    """The text as a literal of XPath 1.0, if there is one."""
    return next((f"{mark}{text}{mark}" for mark in "\"'" if mark not in text), None)


def draft_subscriptions(trees: list[etree._ElementTree], random: Random) -> dict[str, Pattern]:
    patterns: dict[str, Pattern] = {}
    while len(patterns) < SUBSCRIPTIONS:
        tree = random.choice(trees)
        element = random.choice(list(tree.iter("*")))
        expression = Drafts(element, random).draw()
        pattern = parse(expression)
        if random.random() < 0.05:
            pattern = parse(f"{expression} | /nothing/of/this")
        patterns[f"{len(patterns)}: {expression}"] = pattern
    return patterns
