"""Content models made ready for drawing: what each part needs and how large it is likely to be.

Each content model of the schema becomes a tree of parts, each of which knows, for every ``room``
(the number of levels that are left for children):

* ``need``: the least number of levels it takes, so that a document can always be closed in time;
* ``expected[room]``: the expected number of characters;
* ``flexible[room]``: the part of it within unbounded repetitions directly in this model, which
  is where a document that is too small can grow.

The expectations of ``room`` follow from those of ``room - 1``, from the leaves upwards::

    expected(element, room) = tags + attributes + expected(content, room - 1)

A draw takes a ``density``: 1 is the natural one, more multiplies the repetitions, less thins out
repetitions and optional parts, and 0 takes the least of everything.

Cost: levels × size of the DTD to prepare, in time and space.
"""

from __future__ import annotations

from collections.abc import Sequence

from twigcast import schema as models
from twigcast.errors import WorkloadError
from twigcast.workload.attributes import AttributeModel, attribute_models
from twigcast.workload.chance import Draw, below, between
from twigcast.workload.elements import UsableElements, levels_of
from twigcast.workload.escaping import escape
from twigcast.workload.names import Names
from twigcast.workload.values import Domain, Domains, Prose

_LARGEST = 1e12
"""Expectations of recursive schemas grow with the power of the levels; more need not be known."""

_MOST_REQUIRED = 1_000
"""A document that must hold more of one thing is not worth generating."""


class ElementModel:
    """An element, its attributes and its content."""

    content: Part

    def __init__(
        self, name: str, need: int, attributes: tuple[AttributeModel, ...], optional: float
    ) -> None:
        self.need = need
        self.opening = f"<{name}"
        self.closing = f"</{name}>"
        self.attributes = attributes
        self.written = len(self.opening) + len(self.closing) + 1.0
        for attribute in attributes:
            self.written += attribute.size * (1 if attribute.required else optional)
        self.expected: list[float] = []
        """By room, that of the element itself included; 0 where it is less than ``need``."""
        self.tallest = 1
        """The most levels it can take, at most those that a document may have."""
        self.grows = False
        """Whether its size can be increased by repeating something in it."""


Drawn = list["ElementModel | str"]
"""Children in order: elements, and text that is escaped already."""


class Part:
    """A part of a content model; by itself, content that is always empty."""

    def __init__(self, need: int = 0) -> None:
        self.need = need
        self.expected: list[float] = []
        self.flexible: list[float] = []

    def prepare(self, room: int) -> None:
        """Find the expectations for that room; those of all elements for it are known."""
        self.expected.append(0.0)
        self.flexible.append(0.0)

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        """Append children that together are valid for this part and need no more than ``room``."""

    def _append(self, expected: float, flexible: float) -> None:
        self.expected.append(min(expected, _LARGEST))
        self.flexible.append(min(flexible, _LARGEST))


class Characters(Part):
    """Text alone."""

    def __init__(self, domain: Domain) -> None:
        super().__init__()
        self._domain = domain

    def prepare(self, room: int) -> None:
        self._append(self._domain.mean_length, 0.0)

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        out.append(escape(self._domain.write(draw)))


class One(Part):
    """One element."""

    def __init__(self, element: ElementModel) -> None:
        super().__init__(element.need)
        self._element = element

    def prepare(self, room: int) -> None:
        self._append(self._element.expected[room], 0.0)

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        out.append(self._element)


class InOrder(Part):
    """All the parts, one after the other."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__(max(part.need for part in parts))
        self._parts = tuple(parts)

    def prepare(self, room: int) -> None:
        for part in self._parts:
            part.prepare(room)
        self._append(
            sum(part.expected[room] for part in self._parts),
            sum(part.flexible[room] for part in self._parts),
        )

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        for part in self._parts:
            part.fill(draw, room, density, out)


class OneOf(Part):
    """One of the parts, each that fits the room as likely; the smallest at a density of 0."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__(min(part.need for part in parts))
        self._parts = tuple(parts)
        self._fitting: list[tuple[Part, ...]] = []
        self._smallest: list[Part | None] = []

    def prepare(self, room: int) -> None:
        for part in self._parts:
            part.prepare(room)
        fitting = tuple(part for part in self._parts if part.need <= room)
        self._fitting.append(fitting)
        self._smallest.append(min(fitting, key=lambda part: part.expected[room], default=None))
        self._append(
            sum(part.expected[room] for part in fitting) / max(1, len(fitting)),
            sum(part.flexible[room] for part in fitting) / max(1, len(fitting)),
        )

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        fitting = self._fitting[room]
        part = fitting[below(draw, len(fitting))] if density else self._smallest[room]
        assert part is not None
        part.fill(draw, room, density, out)


class Maybe(Part):
    """The part or nothing."""

    def __init__(self, part: Part, chance: float) -> None:
        super().__init__()
        self._part = part
        self._chance = chance

    def prepare(self, room: int) -> None:
        self._part.prepare(room)
        chance = self._chance if self._part.need <= room else 0.0
        self._append(chance * self._part.expected[room], chance * self._part.flexible[room])

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        chance = self._chance * density if density < 1 else self._chance
        if self._part.need <= room and draw() < chance:
            self._part.fill(draw, room, density, out)


class Again(Part):
    """The part, ``least`` to ``most`` times; more often where the density is above 1.

    Never more often than ``limit``, if there is one.
    """

    def __init__(self, part: Part, least: int, most: int, limit: int | None = None) -> None:
        super().__init__(part.need if least else 0)
        self._part = part
        self._least = least
        self._most = most
        self._limit = limit

    def prepare(self, room: int) -> None:
        self._part.prepare(room)
        expected = 0.0
        if self._part.need <= room:
            expected = self._part.expected[room] * (self._least + self._most) / 2
        self._append(expected, expected if self._limit is None else 0.0)

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        if self._part.need <= room:
            count = repetitions(draw, self._least, self._most, density)
            for _ in range(count if self._limit is None else min(count, self._limit)):
                self._part.fill(draw, room, min(density, 1.0), out)


class Blend(Part):
    """Running text with elements in it."""

    def __init__(self, elements: Sequence[ElementModel], most: int, prose: Prose) -> None:
        super().__init__()
        self._elements = tuple(elements)
        self._fitting: list[tuple[ElementModel, ...]] = []
        self._most = most
        self._prose = prose

    def prepare(self, room: int) -> None:
        fitting = tuple(element for element in self._elements if element.need <= room)
        self._fitting.append(fitting)
        flexible = 0.0
        if fitting:
            total = sum(element.expected[room] for element in fitting)
            flexible = total / len(fitting) * self._most / 2
        self._append(self._prose.mean_length + flexible, flexible)

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        fitting = self._fitting[room]
        count = repetitions(draw, 0, self._most, density) if fitting else 0
        words = self._prose.words(draw)
        for number in range(count + 1):
            # A blank at the seam keeps the words of a document apart when its tags are removed.
            start, end = (len(words) * edge // (count + 1) for edge in (number, number + 1))
            if start < end:
                text = escape(" ".join(words[start:end]))
                out.append(f"{' ' if number else ''}{text}{' ' if number < count else ''}")
            if number < count:
                out.append(fitting[below(draw, len(fitting))])


class Woven(Part):
    """Running text between elements that stand as a model says."""

    def __init__(self, part: Part, prose: Prose) -> None:
        super().__init__(part.need)
        self._part = part
        self._prose = prose

    def prepare(self, room: int) -> None:
        self._part.prepare(room)
        self._append(self._prose.mean_length + self._part.expected[room], self._part.flexible[room])

    def fill(self, draw: Draw, room: int, density: float, out: Drawn) -> None:
        children: Drawn = []
        self._part.fill(draw, room, density, children)
        words = self._prose.words(draw)
        for number in range(len(children) + 1):
            start, end = (len(words) * edge // (len(children) + 1) for edge in (number, number + 1))
            out.append(escape("".join(f" {word} " for word in words[start:end])))
            out += children[number : number + 1]


def repetitions(draw: Draw, least: int, most: int, density: float) -> int:
    """How often to repeat: evenly from ``least`` to ``most``, more or fewer by the density."""
    count = float(between(draw, least, most))
    count = count * density if density < 1 else count + (least + most) / 2 * (density - 1)
    return max(least, int(count + draw()))


def element_models(
    elements: UsableElements,
    levels: int,
    repeats: int,
    optional: float,
    extra: float,
    domains: Domains,
) -> dict[str, ElementModel]:
    """The models of all usable elements, ready for documents of up to ``levels`` levels.

    ``optional`` is the chance of a part that may be left out, ``extra`` that of an attribute.
    """
    names = Names(elements.declarations.values())
    by_name = {
        name: ElementModel(
            names.element(declaration),
            elements.levels[name],
            attribute_models(declaration, domains, names),
            extra,
        )
        for name, declaration in elements.declarations.items()
    }
    by_name[elements.root].opening += names.bindings

    def completes(expression: models.Expression) -> bool:
        return levels_of(expression, elements.levels) < float("inf")

    def compile_part(expression: models.Expression) -> Part:
        """The part for an expression that can be completed."""
        if isinstance(expression, models.Name):
            return One(by_name[expression.name])
        if isinstance(expression, models.Sequence):
            return InOrder([compile_part(each) for each in expression.parts])
        if isinstance(expression, models.Choice):
            return OneOf([compile_part(each) for each in expression.parts if completes(each)])
        if not completes(expression.part):
            return Part()
        part = compile_part(expression.part)
        least, most = expression.minimum, expression.maximum
        if (least, most) == (0, 1):
            return Maybe(part, optional)
        if least > _MOST_REQUIRED:
            raise WorkloadError(
                f"the schema requires something {least:,} times; documents are generated where it "
                f"requires nothing more than {_MOST_REQUIRED:,} times"
            )
        usual = max(repeats, least)
        return Again(part, least, usual if most is None else min(usual, most), most)

    for name, declaration in elements.declarations.items():
        content = declaration.content
        if isinstance(content, models.Text):
            by_name[name].content = Characters(domains.text(declaration))
        elif isinstance(content, models.Mixed) and content.model is not None:
            by_name[name].content = Woven(compile_part(content.model), domains.prose(name))
        elif isinstance(content, (models.Mixed, models.Any)):
            below_it = [by_name[child] for child in elements.children[name]]
            by_name[name].content = Blend(below_it, repeats, domains.prose(name))
        elif isinstance(content, models.Empty):
            by_name[name].content = Part()
        else:
            by_name[name].content = compile_part(content)
    _prepare(by_name, elements, levels)
    return by_name


def _prepare(by_name: dict[str, ElementModel], elements: UsableElements, levels: int) -> None:
    for room in range(levels + 1):
        for element in by_name.values():
            content = element.content.expected[room - 1] if room else 0.0
            fits = element.need <= room
            element.expected.append(min(element.written + content, _LARGEST) if fits else 0.0)
        for element in by_name.values():
            element.content.prepare(room)
    for name, tallest in elements.tallest(levels).items():
        by_name[name].tallest = tallest
    # What holds for a child holds one level further up; after as many rounds all is known.
    for _ in range(levels):
        for name, element in by_name.items():
            element.grows = element.content.flexible[-1] > 0 or any(
                by_name[child].grows for child in elements.children[name]
            )
