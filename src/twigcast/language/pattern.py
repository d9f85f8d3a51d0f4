"""A parsed subscription."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, NoReturn

from twigcast.language import normal
from twigcast.language.limits import LanguageLimits
from twigcast.language.linear import linear_branch
from twigcast.language.nodes import DESCENDANT, ELEMENT, Either, Step
from twigcast.language.operators import OPERATORS
from twigcast.language.tokens import NAME
from twigcast.language.visiting import walk

if TYPE_CHECKING:
    from twigcast.documents import DocumentLimits, Source

_NAMES = re.compile(
    rf"""("[^"]*"|'[^']*')            # a literal stays as it is
       | Q\{{([^{{}}]*)\}}({NAME}|\*)  # a name in a namespace
       | \*:({NAME})                   # a name in any namespace
    """,
    re.VERBOSE,
)

_LITERALS = re.compile(r"""\"[^\"]*\"|'[^']*'""")

_NEVER_TEXT = "/*[not(.)]"
_NO_LIMITS = LanguageLimits(length=sys.maxsize, steps=sys.maxsize, depth=200)
_set = object.__setattr__


class Pattern:
    """A subscription: a document matches when one of the alternatives is in it.

    Immutable and hashable.  Two patterns are equal when their normal forms are, and ``str()``
    gives the normal form's text, which parses back to the same pattern.  Made by
    :func:`twigcast.parse`.
    """

    __slots__ = ("_alternatives", "_text")

    _text: str
    _alternatives: tuple[Step, ...] | None

    def __init__(self, alternatives: tuple[Step, ...]) -> None:
        steps = tuple(map(_at_document, alternatives))
        if len(steps) > 1:
            union = normal.either(steps)
            members = union.members if isinstance(union, Either) else (union,)
            steps = tuple(member for member in members if isinstance(member, Step))
        _set(self, "_alternatives", steps)
        _set(self, "_text", " | ".join(s.text for s in steps) or _NEVER_TEXT)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a pattern is immutable")

    @property
    def alternatives(self) -> tuple[Step, ...]:
        """The members of the union, each a branch from the document node; none if nothing matches.

        Of a linear pattern only the text is kept until they are asked for; threads that ask at
        once get equal trees.
        """
        steps = self._alternatives
        if steps is None:
            steps = (linear_branch(self._text),)
            _set(self, "_alternatives", steps)
        return steps

    def matches(self, document: Source, limits: DocumentLimits | None = None) -> bool:
        """Whether the expression, evaluated on the document, selects anything.

        Raises :class:`twigcast.errors.DocumentError` for a document that is not well-formed.
        """
        # An import upwards: a convenience that belongs on this class (see test_architecture).
        from twigcast.matching import matches

        return matches(self, document, limits)

    def to_xpath(self) -> tuple[str, dict[str, str]]:
        """An XPath 1.0 expression of the same meaning, and the prefixes that it uses.

        The canonical text is XPath 1.0 but for the names in namespaces and for functions of later
        versions.
        """
        prefixes: dict[str, str] = {}

        def spell(match: re.Match[str]) -> str:
            literal, namespace, local, anywhere = match.groups()
            if literal is not None:
                return str(literal)
            if anywhere is not None:
                return f'*[local-name()="{anywhere}"]'
            if namespace == "":
                return '*[namespace-uri()=""]'
            return f"{prefixes.setdefault(namespace, f'n{len(prefixes)}')}:{local}"

        text = _in_xpath_1(_NAMES.sub(spell, self._text))
        return text, {prefix: namespace for namespace, prefix in prefixes.items()}

    @property
    def linear_steps(self) -> tuple[Step, ...] | None:
        """The steps from the root where the pattern is one path of element names and ``*``.

        None for every other pattern: unions, predicates, attributes, text.
        """
        if len(self.alternatives) != 1:
            return None
        steps: list[Step] = []
        step: Step | None = self.alternatives[0]
        while step is not None:
            if step.test.kind is not ELEMENT or step.position is not None:
                return None
            steps.append(step)
            if not step.conditions:
                return tuple(steps)
            step = step.only_branch
        return None

    def steps(self) -> Iterator[Step]:
        """Every step of the tree, those within ``or`` and ``not`` included."""
        return (each for each in walk(*self.alternatives) if isinstance(each, Step))

    def __str__(self) -> str:
        return self._text

    def _repr_svg_(self) -> str:
        from twigcast.drawing import draw_pattern  # upwards too, for notebooks

        return draw_pattern(self)

    def __repr__(self) -> str:
        return f"twigcast.parse({self._text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Pattern) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __reduce__(self) -> tuple[object, ...]:
        return restore_pattern, (self._text,)


def linear_pattern(normal_form: str) -> Pattern:
    """The pattern of a linear expression, given in normal form."""
    pattern = Pattern.__new__(Pattern)
    _set(pattern, "_alternatives", None)
    _set(pattern, "_text", normal_form)
    return pattern


def require_pattern(value: object) -> None:
    """Refuse an expression that was not parsed, in words that say what to do."""
    if not isinstance(value, Pattern):
        kind = type(value).__name__
        raise TypeError(f"a Pattern is needed here, not {kind}; make one with twigcast.parse()")


def restore_pattern(text: str) -> Pattern:
    """The pattern of a canonical text, whatever limits it was parsed with."""
    from twigcast.language.parser import parse  # which imports this module

    return parse(text, limits=_NO_LIMITS)


def _at_document(step: Step) -> Step:
    """The document node has neither attributes nor text: ``/*//@a`` is ``//@a`` there."""
    below = step.only_branch
    if (
        step.is_wildcard
        and below is not None
        and below.axis is DESCENDANT
        and below.test.kind is not ELEMENT
    ):
        return below
    return step


def _in_xpath_1(text: str) -> str:
    """The expression without the functions that XPath 1.0 lacks, the innermost replaced first."""
    for row in OPERATORS:
        call = f"{row.spelling}("
        while row.xpath_1:
            # Literals hide nothing that looks like an expression.
            masked = _LITERALS.sub(lambda match: "~" * len(match[0]), text)
            start = masked.rfind(call)
            if start < 0:
                break
            inside = start + len(call)
            end, depth = inside, 1
            while depth:
                depth += {"(": 1, ")": -1}.get(masked[end], 0)
                end += 1
            comma = masked.rindex(",", inside, end)
            said = row.xpath_1.format(text[inside:comma], text[comma + 1 : end - 1])
            text = text[:start] + said + text[end:]
    return text
