"""Small random DTDs, and what they mean, told without the schema package.

Element names are single letters, so a row of children is a word.  A model is drawn together with
the set of its words of at most four letters, and everything else follows from these sets.  A model
mentions at most four names, so four letters are enough to show every child.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from hypothesis import strategies as st
from lxml import etree

NAMES = ("a", "b", "c")
LONGEST_WORD = 4


@dataclass(frozen=True)
class Model:
    """A content model as DTD text, and the words it allows; ``text`` if it has characters."""

    spelling: str
    words: frozenset[str]
    text: bool = False


def _joined(words: frozenset[str], after: frozenset[str]) -> frozenset[str]:
    return frozenset(one + two for one in words for two in after if len(one + two) <= LONGEST_WORD)


def _repeated(words: frozenset[str]) -> frozenset[str]:
    """Words of the given ones, at least one of them."""
    found = words
    for _ in range(LONGEST_WORD):
        found = found | _joined(found, words)
    return found


NOTHING = frozenset(("",))
EMPTY = Model("EMPTY", NOTHING)
ANY = Model("ANY", NOTHING | _repeated(frozenset(NAMES)), text=True)
TEXT = Model("(#PCDATA)", NOTHING, text=True)


@st.composite
def _expressions(draw: st.DrawFn, leaves: int) -> tuple[str, frozenset[str]]:
    if leaves == 1:
        spelling = draw(st.sampled_from(NAMES))
        words = frozenset((spelling,))
    else:
        left = draw(st.integers(1, leaves - 1))
        one, words = draw(_expressions(left))
        two, others = draw(_expressions(leaves - left))
        if draw(st.booleans()):
            spelling, words = f"({one},{two})", _joined(words, others)
        else:
            spelling, words = f"({one}|{two})", words | others
    suffix = draw(st.sampled_from(("", "", "?", "*", "+")))
    if suffix in ("*", "+"):
        words = _repeated(words)
    return spelling + suffix, words | NOTHING if suffix in ("?", "*") else words


@st.composite
def models(draw: st.DrawFn) -> Model:
    kind = draw(st.integers(0, 9))
    if kind <= 1:
        return draw(st.sampled_from((EMPTY, TEXT, TEXT, ANY)))
    if kind <= 3:
        named = draw(st.lists(st.sampled_from(NAMES), min_size=1, unique=True))
        words = NOTHING | _repeated(frozenset(named))
        return Model(f"(#PCDATA|{'|'.join(named)})*", words, text=True)
    spelling, words = draw(_expressions(draw(st.integers(1, 4))))
    return Model(spelling if spelling.startswith("(") else f"({spelling})", words)


ATTRIBUTES = (
    "x CDATA #IMPLIED",
    "x (1|ab|b) #IMPLIED",
    'x CDATA #FIXED "2"',
    "y NMTOKEN #IMPLIED",
    "y (2|15) #REQUIRED",
    "y CDATA #REQUIRED",
)
VALUES = {
    "CDATA": ("", "1", "2", "2.0", "ab", "abc", " 15 ", "-3"),
    "(1|ab|b)": ("1", "ab", "b"),
    "NMTOKEN": ("1", "ab", "15"),
    "(2|15)": ("2", "15"),
}


@dataclass(frozen=True)
class SmallDtd:
    """A DTD whose root is ``a``."""

    models: Mapping[str, Model]
    attributes: Mapping[str, tuple[str, ...]]

    @property
    def text(self) -> str:
        lines = [f"<!ELEMENT {name} {model.spelling}>" for name, model in self.models.items()]
        for name, declared in self.attributes.items():
            lines += [f"<!ATTLIST {name} {attribute}>" for attribute in declared]
        return "\n".join(lines)

    @cached_property
    def words(self) -> dict[str, tuple[str, ...]]:
        """For each element the words that can be completed: none for an unproductive element."""
        height: dict[str, int] = {}
        for level in range(len(NAMES)):
            before = set(height)
            for name, model in self.models.items():
                if name not in height and any(set(word) <= before for word in model.words):
                    height[name] = level
        return {
            name: tuple(
                word for word in sorted(model.words) if name in height and set(word) <= set(height)
            )
            for name, model in self.models.items()
        }

    @cached_property
    def children(self) -> dict[str, frozenset[str]]:
        return {name: frozenset("".join(words)) for name, words in self.words.items()}

    @property
    def is_satisfiable(self) -> bool:
        return bool(self.words["a"])

    def paths(self, depth: int) -> Iterator[tuple[str, ...]]:
        """The label paths from the root with at most ``depth`` names, shorter ones first."""
        level: list[tuple[str, ...]] = [("a",)] if self.is_satisfiable else []
        for _ in range(depth):
            yield from level
            level = [(*path, name) for path in level for name in sorted(self.children[path[-1]])]

    def leaf_paths(self, depth: int) -> Iterator[tuple[str, ...]]:
        return (path for path in self.paths(depth) if "" in self.words[path[-1]])

    def document(self, chance: random.Random, depth: int = 5) -> str | None:
        """A valid document, or None where chance ran too deep."""
        return self._element("a", chance, depth)

    def _element(self, name: str, chance: random.Random, depth: int) -> str | None:
        words = self.words[name]
        if depth <= 1:
            words = tuple(word for word in words if not word)
        elif depth <= 3:
            words = tuple(word for word in words if len(word) < depth) or words
        if not words:
            return None
        children = [self._element(child, chance, depth - 1) for child in chance.choice(words)]
        if None in children:
            return None
        model = self.models[name]
        filler: Sequence[str] = ("",)
        if model.text:
            filler = ("", "", "1", "2", "15", "ab", "b", " ")
        elif model.spelling != "EMPTY":
            filler = ("", "", " ", "\n")
        content = chance.choice(filler) + "".join(
            f"{child}{chance.choice(filler)}" for child in children
        )
        return f"<{name}{self._attribute_text(name, chance)}>{content}</{name}>"

    def _attribute_text(self, name: str, chance: random.Random) -> str:
        text = ""
        for declared in self.attributes.get(name, ()):
            attribute, kind, default = declared.split(" ", 2)
            if default.startswith("#FIXED"):
                value = default.split('"')[1]
            else:
                value = chance.choice(VALUES[kind])
            if default == "#REQUIRED" or chance.random() < 0.6:
                text += f' {attribute}="{value}"'
        return text


@st.composite
def small_dtds(draw: st.DrawFn) -> SmallDtd:
    """A DTD of three elements that has valid documents."""
    attributes = {}
    for name in NAMES:
        x = draw(st.sampled_from((None, *ATTRIBUTES[:3])))
        y = draw(st.sampled_from((None, *ATTRIBUTES[3:])))
        attributes[name] = tuple(each for each in (x, y) if each is not None)
    chosen = {name: draw(models()) for name in NAMES}
    if not SmallDtd(chosen, attributes).is_satisfiable:
        chosen["a"] = ANY
    return SmallDtd(chosen, attributes)


def selects(expression: str, path: Sequence[str]) -> bool:
    """Whether a linear expression selects a node on the path; told by a regular expression."""
    found = re.findall(r"(//?)([^/]+)", expression)
    regex = "".join(
        ("(?:/[^/]+)*" if axis == "//" else "") + ("/[^/]+" if name == "*" else f"/{name}")
        for axis, name in found
    )
    return re.match(f"{regex}(?:/|$)", "".join(f"/{name}" for name in path)) is not None


def nested_document(path: Sequence[str]) -> str:
    """A document with that one path."""
    return "".join(f"<{name}>" for name in path) + "".join(f"</{name}>" for name in reversed(path))


def matching_expression(root: etree._Element, chance: random.Random) -> str:
    """An expression made of what stands in the document, so that it matches most often."""
    path = ""
    element, skipped = root, False
    while True:
        children = list(element)
        on_path = not children or chance.random() < 0.8
        if on_path:
            path += ("//" if skipped or chance.random() < 0.2 else "/") + _step(element, chance)
            skipped = False
        if not children or (on_path and chance.random() < 0.3):
            break
        skipped = skipped or not on_path
        element = chance.choice(children)
    if chance.random() < 0.3:
        below = _attribute_or_text(element, chance)
        if below is not None:
            path += chance.choice(("/", "//")) + below
    return path


def _step(element: etree._Element, chance: random.Random) -> str:
    step = "*" if chance.random() < 0.3 else str(element.tag)
    while chance.random() < 0.4:
        condition = _condition(element, chance)
        if chance.random() < 0.2:
            condition = f"{condition} or zoo"
        if chance.random() < 0.1:
            condition = f"({condition}) and not(zoo)"
        step += f"[{condition}]"
    return step


def _condition(element: etree._Element, chance: random.Random) -> str:
    kind = chance.randrange(6)
    inside = list(element.iterdescendants())
    if kind == 0 and inside:
        return f".//{chance.choice(inside).tag}"
    if kind == 1 and inside:
        return _step(chance.choice(list(element)), chance)
    if kind == 2 and inside:
        below = _attribute_or_text(chance.choice(inside), chance)
        if below is not None:
            return f".//{below}"
    if kind == 3 and inside:
        return f"contains({element[0].tag}, '{_string_value(element[0])}')"
    if kind == 4:
        return chance.choice(_true_tests(_string_value(element)))
    return _attribute_or_text(element, chance) or "not(zoo)"


def _attribute_or_text(element: etree._Element, chance: random.Random) -> str | None:
    nodes = [(f"@{name!s}", str(value)) for name, value in element.attrib.items()]
    texts = [element.text, *(child.tail for child in element)]
    nodes += [("text()", text) for text in texts if text]
    if not nodes:
        return None
    node, value = chance.choice(nodes)
    return node if chance.random() < 0.3 else f"{node}[{chance.choice(_true_tests(value))}]"


def _string_value(element: etree._Element) -> str:
    return "".join(map(str, element.itertext()))


def _true_tests(value: str) -> list[str]:
    """Comparisons that hold at a node of that string-value."""
    tests = [f".='{value}'", ".!='zoo'", ".!=77", f"starts-with(.,'{value[:1]}')"]
    tests.append(f"ends-with(.,'{value[-1:]}')")
    if value.strip().isdigit():
        tests += [f".={int(value)}", f".<{int(value) + 1}", ".>-99"]
    return tests
