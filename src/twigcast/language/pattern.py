"""A parsed subscription."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NoReturn

from twigcast.language import normal
from twigcast.language.limits import LanguageLimits
from twigcast.language.linear import linear_branch
from twigcast.language.nodes import (
    ALWAYS,
    CHILD,
    ELEMENT,
    Condition,
    Either,
    Step,
    document_text,
    node_test,
)
from twigcast.language.operators import OPERATORS
from twigcast.language.plain import plain_branch
from twigcast.language.tokens import NAME
from twigcast.language.upward import at_document
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
    """A subscription: a document matches when one of the alternatives holds in it.

    Immutable and hashable.  Two patterns are equal when their normal forms are, and ``str()``
    gives the normal form's text, which parses back to the same pattern.  Made by
    :func:`twigcast.parse`.
    """

    __slots__ = ("_alternatives", "_text")

    _text: str
    _alternatives: tuple[Condition, ...] | None

    def __init__(self, alternatives: Iterable[Condition]) -> None:
        union = normal.either(map(at_document, alternatives))
        if union is ALWAYS:
            union = Step(CHILD, node_test(ELEMENT))  # every document has a root
        members = union.members if isinstance(union, Either) else (union,)
        joint = " | " if all(isinstance(member, Step) for member in members) else " or "
        _set(self, "_alternatives", members)
        _set(self, "_text", joint.join(map(document_text, members)) or _NEVER_TEXT)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError("a pattern is immutable")

    @property
    def alternatives(self) -> tuple[Condition, ...]:
        """The conditions at the document node one of which must hold; none if nothing matches.

        Most are branches; a conjunction, a negation or a residual may be there, too.

        Of a linear pattern only the text is kept until they are asked for; threads that ask at
        once get equal trees.
        """
        conditions = self._alternatives
        if conditions is None:
            conditions = (linear_branch(self._text),)
            _set(self, "_alternatives", conditions)
        return conditions

    def matches(self, document: Source, limits: DocumentLimits | None = None) -> bool:
        """Whether the expression is true of the document.

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
        step = self.alternatives[0] if isinstance(self.alternatives[0], Step) else None
        while step is not None:
            if step.test.kind is not ELEMENT or step.position is not None:
                return None
            steps.append(step)
            if not step.conditions:
                return tuple(steps)
            step = step.only_branch
        return None

    @property
    def by_alternative(self) -> tuple[Pattern, ...]:
        """A pattern for each alternative; a document matches if one of them does."""
        if len(self.alternatives) == 1:
            return (self,)
        return tuple(Pattern((each,)) for each in self.alternatives)

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


def plain_pattern(text: str) -> Pattern | None:
    """The pattern of a text in normal form where that is plain; None for any other text."""
    branch = plain_branch(text)
    if branch is None:
        return None
    pattern = Pattern.__new__(Pattern)
    _set(pattern, "_alternatives", (branch,))
    _set(pattern, "_text", branch.text)
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
