"""What an explanation is made of, and how it is put into words.

    Explanation                     does the document match?
      └─ Finding                    one for each alternative of the subscription
           ├─ Witness …             the nodes that decided it
           └─ Finding …             one for each condition below

A path without predicates before its end is one :class:`Finding`, as a reader sees it:
``/news/story/title = "x"``.  Its ``progress`` says how far the document went along.

Everything is frozen and made of plain values, so ``dataclasses.asdict`` gives what JSON needs.
The size is that of the pattern: each condition stands in the tree once, with few witnesses and
shortened texts, whatever the document.  Spelling a tree recurses along the pattern, whose depth
is bounded, never along the document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from html import escape
from typing import Final

from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    FirstNode,
    Fold,
    Negation,
    Residual,
    Step,
    ValueTest,
    document_text,
    name_text,
    to_number,
)

_LONGEST_TEXT: Final = 1_000
_LONGEST_BRACKETS: Final = 60
_LONGEST_SHOWN: Final = 120
_LONGEST_NAMESPACE: Final = 16

_NAMESPACES: Final = re.compile(r"""("[^"]*"|'[^']*')|Q\{([^{}]*)\}""")


class Outcome(StrEnum):
    """What became of a condition."""

    HOLDS = "holds"
    FAILS = "fails"
    NOT_REACHED = "not reached"
    IS = "is"
    """A part of an expression has a value; the detail says which."""
    NO_VALUE = "has no value"
    """An expression has none on this document; the detail says why."""

    @property
    def mark(self) -> str:
        """A sign for the eye."""
        return {"holds": "✓", "fails": "✗", "is": "=", "has no value": "!"}.get(self, "–")


class ConditionKind(StrEnum):
    """What sort of condition a finding is about."""

    PATH = "path"
    VALUE = "value"
    FIRST_NODE = "first node"
    EITHER = "either"
    BOTH = "both"
    NEGATION = "negation"
    RESIDUAL = "residual"
    EXPRESSION = "expression"


_KINDS: Final[dict[type[Condition], ConditionKind]] = {
    Step: ConditionKind.PATH,
    ValueTest: ConditionKind.VALUE,
    FirstNode: ConditionKind.FIRST_NODE,
    Either: ConditionKind.EITHER,
    Both: ConditionKind.BOTH,
    Negation: ConditionKind.NEGATION,
    Residual: ConditionKind.RESIDUAL,
}


@dataclass(frozen=True, slots=True)
class Witness:
    """A node of the document that decided a condition.

    ``location`` is a path that selects this node alone, spelled as in a subscription: ``*:name``
    stands for a name in a namespace.  ``text`` is what was compared of the node's string-value,
    from the offset ``start``, shortened where ``length``, that of the whole, is greater; it is
    None where nothing was compared.
    """

    location: str
    text: str | None = None
    start: int = 0
    length: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How many nodes a step of a path reached, below all those that the step before reached."""

    step: str
    reached: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A condition, what became of it, and why.

    ``text`` spells the condition, with the inside of longer brackets left to ``parts``; ``asked``
    counts the nodes at which it was asked.  Where it holds, ``witnesses`` has the node that was
    found.  Where it fails, they are the nodes seen that did not pass: texts for a comparison, names
    for a step; ``more`` counts those not listed.  ``progress`` stands with failing paths.
    """

    kind: ConditionKind
    text: str
    outcome: Outcome
    detail: str = ""
    asked: int = 0
    witnesses: tuple[Witness, ...] = ()
    more: int = 0
    progress: tuple[Progress, ...] = ()
    parts: tuple[Finding, ...] = ()

    @property
    def sentence(self) -> str:
        """The finding in words, as ``Price > 15 fails: 12 at /Stock[1]/Price[1]``."""
        text, detail = _with_short_names(self.text, self.detail)
        joint = " " if self.outcome is Outcome.IS else ": "
        return f"{shorten(text)} {self.outcome}" + (f"{joint}{detail}" if detail else "")

    def reasons(self) -> Iterator[str]:
        """The sentences at the root of a failure."""
        if self.kind is ConditionKind.NEGATION:
            yield f"{self.sentence}, because {self.parts[0].sentence}"
            return
        failed = [part for part in self.parts if part.outcome in (Outcome.FAILS, Outcome.NO_VALUE)]
        for part in failed:
            yield from part.reasons()
        if not failed:
            yield self.sentence + self._decided_by()

    def _decided_by(self) -> str:
        """The parts of an expression that decided it."""
        if self.kind not in (ConditionKind.RESIDUAL, ConditionKind.EXPRESSION):
            return ""
        values = "; ".join(part.sentence for part in self.parts if part.outcome is Outcome.IS)
        if values:
            return f"{'; ' if self.detail else ': '}{values}"
        holding = [part for part in self.parts if part.outcome is Outcome.HOLDS]
        return f", because {holding[0].sentence}" if holding else ""


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Why a document matches a subscription, or does not; ``str()`` is a tree for people."""

    pattern: str
    matches: bool
    alternatives: tuple[Finding, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the document does not match, in a sentence for each thing that is missing."""
        if self.matches:
            return ()
        if not self.alternatives:
            return ("no document can match this subscription",)
        return tuple(reason for finding in self.alternatives for reason in finding.reasons())

    def __str__(self) -> str:
        lines = [f"{self.pattern} {'matches' if self.matches else 'does not match'}"]
        waiting = [(1, finding) for finding in reversed(self.alternatives)]
        while waiting:
            depth, finding = waiting.pop()
            lines.append(f"{'  ' * depth}{finding.outcome.mark} {finding.sentence}")
            waiting.extend((depth + 1, part) for part in reversed(finding.parts))
        return "\n".join(lines)

    def __repr__(self) -> str:
        answer = "matches" if self.matches else f"does not match: {'; '.join(self.reasons)}"
        return f"<Explanation: {shorten(self.pattern)} {shorten(answer)}>"

    def _repr_html_(self) -> str:
        """What notebooks show: the tree of ``str()`` as nested lists."""
        answer = "matches" if self.matches else "does not match"
        findings = "".join(map(_html_of, self.alternatives))
        return f"<p><code>{escape(self.pattern)}</code> {answer}</p><ul>{findings}</ul>"


def _html_of(finding: Finding) -> str:
    colour = {"holds": "green", "fails": "firebrick"}.get(finding.outcome, "gray")
    mark = f'<span style="color: {colour}">{finding.outcome.mark}</span>'
    below = "".join(map(_html_of, finding.parts))
    nested = f"<ul>{below}</ul>" if below else ""
    return f'<li style="list-style: none">{mark} {escape(finding.sentence)}{nested}</li>'


def kind_of(condition: Condition) -> ConditionKind:
    """What sort of condition this is."""
    return _KINDS[type(condition)]


def chain(step: Step) -> list[Step]:
    """The step and those below it for as long as there is nothing but one more step."""
    steps = [step]
    while (below := steps[-1].only_branch) is not None:
        steps.append(below)
    return steps


def lone_test(step: Step) -> ValueTest | None:
    """The comparison that is a step's only condition."""
    if len(step.conditions) == 1 and isinstance(step.conditions[0], ValueTest):
        return step.conditions[0]
    return None


def spell(condition: Condition) -> str:
    """The condition as it reads in a predicate, the inside of longer brackets left out."""
    return shorten(_spell(condition), _LONGEST_TEXT)


def spell_at_document(condition: Condition) -> str:
    """The condition as it reads at the document node, where a path has a first slash."""
    if isinstance(condition, Step):
        return shorten(_spell_path(chain(condition), ""), _LONGEST_TEXT)
    return shorten(document_text(condition), _LONGEST_TEXT)


def spell_step(step: Step) -> str:
    """The name and position of a step."""
    return step.test.text + ("" if step.position is None else f"[{step.position.text}]")


class _Spell(Fold[[], str]):
    def step(self, step: Step) -> str:
        path = _spell_path(chain(step), ".")
        return path[2:] if step.axis is Axis.CHILD else path

    def value_test(self, test: ValueTest) -> str:
        return _spell_test(test, ".")

    def first_node(self, condition: FirstNode) -> str:
        path = "".join(step.bracketed_text for step in condition.path)
        path = f".{path}" if condition.path[0].axis is Axis.DESCENDANT else path[1:]
        return _spell_test(condition.test, path)

    def either(self, condition: Either) -> str:
        return " or ".join(map(self.visit, condition.members))

    def both(self, condition: Both) -> str:
        return " and ".join(
            f"({self.visit(member)})" if isinstance(member, Either) else self.visit(member)
            for member in condition.members
        )

    def negation(self, condition: Negation) -> str:
        return f"not({self.visit(condition.condition)})"

    def residual(self, condition: Residual) -> str:
        return condition.text


_spell: Final = _Spell().visit


def _spell_path(steps: list[Step], start: str) -> str:
    """The path below ``start``, which is nothing for the document node.

    A comparison at its end goes into brackets where XPath wants it: ``a[b > 5]``, ``/a[. > 5]``.
    """
    *before, last = (_slashes(step) + spell_step(step) for step in steps)
    path = start + "".join(before)
    test = lone_test(steps[-1])
    if test is None:
        return path + last + _spell_brackets(steps[-1].conditions)
    if test.is_function or path == "":
        return f"{path}{last}[{_spell_test(test, '.')}]"
    if not before:
        return _spell_test(test, path + last)
    relative = last[1:] if steps[-1].axis is Axis.CHILD else f".{last}"
    return f"{path}[{_spell_test(test, relative)}]"


def _slashes(step: Step) -> str:
    return "/" if step.axis is Axis.CHILD else "//"


def _spell_brackets(conditions: tuple[Condition, ...]) -> str:
    brackets = "".join(f"[{_spell(condition)}]" for condition in conditions)
    (shown,) = _with_short_names(brackets)
    return brackets if len(shown) <= _LONGEST_BRACKETS else "[…]"


def _spell_test(test: ValueTest, subject: str) -> str:
    if test.is_function:
        literal = test.text[len(f"{test.operator}(.,") : -1]
        return f"{test.operator}({subject}, {literal})"
    return f"{subject} {test.operator} {test.text[len(f'.{test.operator}') :]}"


def spell_name(name: tuple[str, str], *, attribute: bool) -> str:
    """The name of an element or attribute."""
    return visible(shorten(("@" if attribute else "") + name_text(*name)))


def shorten(text: str, longest: int = _LONGEST_SHOWN) -> str:
    """The text, its middle left out where it is long."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[:half]}…{text[-half:]}"


def spell_compared(witnesses: Iterable[Witness], more: int, test: ValueTest) -> str:
    """What was compared, and where: ``12 at /a[1], 9 at /a[2], and 7 more``."""
    seen = [f"{_spell_text(w, test)} at {shorten(w.location)}" for w in witnesses]
    return listed(seen, more)


def listed(items: list[str], more: int) -> str:
    """The items in a row, and how many are left out."""
    if len(items) == 1 and more:
        return f"{items[0]} and {more:,} more"
    return ", ".join([*items, f"and {more:,} more"] if more else items)


def _spell_text(witness: Witness, test: ValueTest) -> str:
    text = witness.text or ""
    is_whole = len(text) == witness.length
    is_number = not math.isnan(to_number(text))
    if isinstance(test.operand, float) and is_whole and is_number:
        return text.strip()
    before = "…" if witness.start else ""
    after = "…" if witness.start + len(text) < witness.length else ""
    note = " (not a number)" if isinstance(test.operand, float) and is_whole else ""
    return f'{before}"{visible(text)}"{after}{note}'


def visible(text: str) -> str:
    """The text without characters that would steer a terminal, or turn the line around."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def _with_short_names(*texts: str) -> tuple[str, ...]:
    """The texts with long namespace names cut to their ends, where these distinguish them."""
    names = {match[2] for text in texts for match in _NAMESPACES.finditer(text)} - {None}
    short = {namespace: _end_of(namespace) for namespace in names}
    if len(set(short.values())) < len(short):
        return texts
    return tuple(
        _NAMESPACES.sub(lambda m: m[0] if m[2] is None else f"Q{{{short[m[2]]}}}", text)
        for text in texts
    )


def _end_of(namespace: str) -> str:
    if len(namespace) <= _LONGEST_NAMESPACE:
        return namespace
    end = namespace[-_LONGEST_NAMESPACE:]
    whole_words = re.fullmatch(r"[^/:#]*[/:#](.+)", end)
    return f"…{whole_words[1] if whole_words else end}"
