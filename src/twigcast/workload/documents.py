"""Documents generated from a DTD or an XSD, valid against it.

A document is drawn from the root downwards: optional parts by their chance, repetitions up to
``repeats``, alternatives evenly, text from the vocabulary.  Each part knows the least number of
levels it needs (:mod:`twigcast.workload.sizes`), so whatever does not fit the levels left is not
begun, and no document is deeper than asked.

With a target ``size`` every element gets a share of it.  The expected size of the element at its
level says the density at which it is drawn:

* share above expectation: the repetitions of this element take up the difference;
* share below: repetitions and options are thinned out, a little at each level below rather than
  all at once here, so that small documents of a recursive DTD are slim, not flat;

and what is left then goes to the children in proportion to their own expectations.  Documents are
written front to back, and what one element took too much or too little is settled with all that
are still waiting.  An element that could take its share but was drawn without anything that grows
is drawn anew.

Cost: a few microseconds an element; the stack of open elements is explicit, so depth is no matter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count

from twigcast.errors import WorkloadError
from twigcast.keywords import exact_keywords
from twigcast.schema import Schema
from twigcast.workload.attributes import Identifiers
from twigcast.workload.chance import Draw, stream
from twigcast.workload.elements import UsableElements
from twigcast.workload.sizes import Drawn, ElementModel, element_models
from twigcast.workload.values import Domains
from twigcast.workload.vocabulary import DEFAULT_VOCABULARY, Vocabulary

_DEEPEST = 1_000
_NATURAL_LIMIT = 1_000_000
_LARGEST = 100_000_000
_DOCUMENT_TRIES = 20
_CONTENT_TRIES = 20
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>\n'
_STRETCH = 4.0
_TOLERANCE = 0.1


@exact_keywords
@dataclass(frozen=True, slots=True)
class DocumentParameters:
    """How documents are drawn.

    ``levels`` bounds the depth, ``repeats`` how often something under ``*`` or ``+`` stands.
    ``optional`` is the chance of an optional part and ``attributes`` that of an attribute that is
    not required.  ``size`` is the number of characters aimed at (bytes, but for letters beyond
    ASCII): to reach it, something may be repeated more often than ``repeats``.  Without it
    documents have the size that comes about, though from a million characters on only what
    validity requires is added.
    """

    levels: int = 10
    repeats: int = 3
    optional: float = 0.5
    attributes: float = 0.3
    size: int | None = None
    vocabulary: Vocabulary = DEFAULT_VOCABULARY

    def __post_init__(self) -> None:
        if not 1 <= self.levels <= _DEEPEST:
            raise WorkloadError(f"levels must be from 1 to {_DEEPEST:,}, not {self.levels}")
        if self.repeats < 1:
            raise WorkloadError(f"repeats must be at least 1, not {self.repeats}")
        for name in ("optional", "attributes"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise WorkloadError(f"{name} is a probability, from 0 to 1, not {value}")
        if self.size is not None and not 1 <= self.size <= _LARGEST:
            raise WorkloadError(f"size must be from 1 to {_LARGEST:,} characters, not {self.size}")


class DocumentPlan:
    """Everything that does not change from one document to the next.

    ``plan.document(index)`` needs no other document, and a plan can be pickled; so parts of one
    sequence can be generated on different machines.
    """

    def __init__(self, schema: Schema, parameters: DocumentParameters, *, seed: int) -> None:
        elements = UsableElements(schema)
        least = elements.levels[elements.root]
        if least > parameters.levels:
            raise WorkloadError(
                f"a document of this schema needs at least {least} levels, not {parameters.levels}"
            )
        self._schema = schema
        self._parameters = parameters
        self._seed = seed
        models = element_models(
            elements,
            parameters.levels,
            parameters.repeats,
            parameters.optional,
            parameters.attributes,
            Domains(parameters.vocabulary),
        )
        self._root = models[elements.root]
        self._refers = any(
            attribute.required and attribute.kind in ("idref", "idrefs")
            for element in models.values()
            for attribute in element.attributes
        )

    def document(self, index: int) -> bytes:
        """The document with that index."""
        draw = stream("document", self._seed, index)
        for _ in range(_DOCUMENT_TRIES):
            chunks = [_DECLARATION]
            identifiers = Identifiers(chunks)
            self._write(draw, chunks, identifiers)
            if identifiers.resolve(draw):
                return "".join(chunks).encode()
        raise WorkloadError("a required reference finds no element with an identifier to point to")

    def _write(self, draw: Draw, chunks: list[str], identifiers: Identifiers) -> None:
        size = self._parameters.size
        target = float(_NATURAL_LIMIT if size is None else size)
        spent = float(len(_DECLARATION))
        promised = share = 0.0 if size is None else target
        stack: list[tuple[ElementModel | str, int, float]] = [
            (self._root, self._parameters.levels, share)
        ]
        while stack:
            element, room, share = stack.pop()
            if isinstance(element, str):
                chunks.append(element)
                continue
            expected = element.expected[room]
            if size is None:
                budget = expected if spent < target else 0.0
            else:
                # All that still waits is stretched or squeezed to what is left.
                stretch = (target - spent) / promised if promised > 0 else 0.0
                budget = share * max(0.0, min(_STRETCH, stretch))
                promised -= share
            density = _density(element, room, budget)
            before = len(chunks)
            chunks.append(element.opening)
            self._write_attributes(draw, element, chunks, identifiers)
            children = self._children(draw, element, room - 1, density, budget)
            if not children:
                chunks.append("/>")
                spent += sum(map(len, chunks[before:]))
                continue
            chunks.append(">")
            own = sum(map(len, chunks[before:])) + len(element.closing)
            own += sum(len(child) for child in children if isinstance(child, str))
            spent += own
            stack.append((element.closing, 0, 0.0))
            plain, growing = _shares(children, room - 1, budget - own)
            for child in reversed(children):
                share = 0.0
                if size is not None and not isinstance(child, str):
                    share = child.expected[room - 1] * (growing if child.grows else plain)
                    promised += share
                stack.append((child, room - 1, share))

    def _children(
        self, draw: Draw, element: ElementModel, room: int, density: float, budget: float
    ) -> Drawn:
        """The content of an element; drawn anew where it would end the document far too early."""
        size = self._parameters.size
        for _ in range(_CONTENT_TRIES):
            children: Drawn = []
            element.content.fill(draw, room, density, children)
            if size is None or not density or not element.grows:
                break
            taken = 0.0
            for child in children:
                if isinstance(child, str):
                    taken += len(child)
                else:
                    taken += budget if child.grows else child.expected[room]
            if budget - taken < size * _TOLERANCE:
                break
        return children

    def _write_attributes(
        self, draw: Draw, element: ElementModel, chunks: list[str], identifiers: Identifiers
    ) -> None:
        chance = self._parameters.attributes
        for attribute in element.attributes:
            if attribute.required or draw() < chance:
                if attribute.kind == "value":
                    chunks.append(attribute.write(draw))
                elif attribute.kind == "id":
                    chunks.append(identifiers.add(attribute))
                else:
                    identifiers.refer(attribute)
            elif self._refers and attribute.kind == "id":
                identifiers.spare(attribute)

    def __reduce__(self) -> tuple[object, ...]:
        # The models refer to each other in rings, deeper than pickle can follow: make them anew.
        return partial(DocumentPlan, seed=self._seed), (self._schema, self._parameters)


@exact_keywords
def generate_documents(
    schema: Schema, parameters: DocumentParameters, *, seed: int
) -> Iterator[bytes]:
    """Documents without end; take as many as needed with ``itertools.islice``.

    They are the documents of a :class:`DocumentPlan` in order of their index: UTF-8, with an XML
    declaration and without a document type declaration.
    """
    return map(DocumentPlan(schema, parameters, seed=seed).document, count())


def _density(element: ElementModel, room: int, budget: float) -> float:
    """How densely to draw the content of an element for its share of the size."""
    expected = element.expected[room]
    if budget >= expected:
        flexible = element.content.flexible[room - 1]
        return 1 + (budget - expected) / flexible if flexible else 1.0
    if budget < element.written:
        return 0.0
    levels = max(1, min(room, element.tallest) - 1)
    return float((budget / expected) ** (1 / levels))


def _shares(children: Drawn, room: int, left: float) -> tuple[float, float]:
    """The factors for the expectations of children that cannot grow and of those that can.

    What is left is split in proportion; only growing children take more than they expect.
    """
    fixed = growing = 0.0
    for child in children:
        if not isinstance(child, str):
            if child.grows:
                growing += child.expected[room]
            else:
                fixed += child.expected[room]
    if left <= 0 or fixed + growing == 0:
        return 0.0, 0.0
    if left <= fixed + growing:
        ratio = left / (fixed + growing)
        return ratio, ratio
    return 1.0, (left - fixed) / growing if growing else 1.0
