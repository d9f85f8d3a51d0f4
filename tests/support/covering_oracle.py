"""Second opinions on covering, and the patterns and documents to ask them about.

The opinions share nothing with the package but the parsed steps: paths are decided by automata,
trees by documents that lxml evaluates.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape, quoteattr

from lxml import etree
from oracle import parse_tree
from strategies import ATTRIBUTES, COMPARISONS, LITERALS, NAMES, NAMESPACES, NUMBERS, TEXTS

from twigcast.covering.canonical import Canonical, Variant
from twigcast.covering.models import DOCUMENT, Model
from twigcast.covering.splitting import split
from twigcast.covering.survey import Survey
from twigcast.language import (
    Axis,
    Both,
    Condition,
    Either,
    Kind,
    NodeTest,
    Pattern,
    Step,
    ValueTest,
    node_test,
)
from twigcast.language.normal import both, branch, either, value_test
from twigcast.language.operators import FUNCTIONS

# --- Paths -------------------------------------------------------------------------------------

Word = tuple[str, str]
FRESH = "fresh"


def path_covers(p: Sequence[Step], q: Sequence[Step]) -> bool:
    """Whether every word of q has a prefix in p: subset construction over the expanded names."""
    tests = [step.test for step in (*p, *q)]
    alphabet = list(
        itertools.product(
            sorted({test.namespace or "" for test in tests} | {FRESH}),
            sorted({test.local for test in tests if test.local is not None} | {FRESH}),
        )
    )
    seen = {(0, frozenset({0}))}
    waiting = list(seen)
    while waiting:
        here, others = waiting.pop()
        for name in alphabet:
            after = frozenset(_moves(p, others, name))
            for there in _moves(q, {here}, name):
                if there == len(q):
                    if len(p) not in after:
                        return False
                elif (there, after) not in seen:
                    seen.add((there, after))
                    waiting.append((there, after))
    return True


def _moves(path: Sequence[Step], states: set[int] | frozenset[int], name: Word) -> set[int]:
    """Where an automaton of a path goes; its last state is never left."""
    found = set()
    for state in states:
        if state == len(path):
            found.add(state)
            continue
        if path[state].axis is Axis.DESCENDANT:
            found.add(state)
        if path[state].test.accepts(*name):
            found.add(state + 1)
    return found


# --- Trees without values: canonical documents, built as text ------------------------------------


def tree_covers(p: Pattern, q: Pattern, more: int = 0) -> bool:
    """Whether all canonical documents of q match p; no values, ``or``, ``not`` or positions."""
    longest = max((_star_run(step) for step in p.steps()), default=0) + 1 + more
    expression = etree.XPath(p.to_xpath()[0])
    return all(
        expression(etree.fromstring(written).getroottree())
        for alternative in q.alternatives
        if isinstance(alternative, Step)
        for written in _written(alternative, longest, at_root=True)
    )


def _star_run(step: Step) -> int:
    if step.test.kind is not Kind.ELEMENT or step.test.local is not None:
        return 0
    return 1 + max((_star_run(c) for c in step.conditions if isinstance(c, Step)), default=0)


def _written(step: Step, longest: int, *, at_root: bool = False) -> Iterator[str]:
    """The branch with every choice of stretches; an attribute stands as ``@x``."""
    kind = step.test.kind
    if kind is Kind.ATTRIBUTE:
        inner = [f"@{_name(step.test)}"]
    elif kind is Kind.TEXT:
        inner = ["text"]
    else:
        name = _name(step.test)
        parts = [list(_written(c, longest)) for c in step.conditions if isinstance(c, Step)]
        inner = [_element(name, chosen) for chosen in itertools.product(*parts)]
    least = 1 if at_root and kind is not Kind.ELEMENT else 0
    stretches = range(least, longest + 1) if step.axis is Axis.DESCENDANT else (0,)
    for content in inner:
        for stretch in stretches:
            written = content
            for _ in range(stretch):
                written = _element("f:z", [written])
            yield written


def _name(test: NodeTest) -> str:
    """A name that passes the test and no narrower one; f is bound to a namespace of its own."""
    return ("f:" if test.namespace is None else "") + (test.local or "z")


def _element(name: str, parts: Sequence[str]) -> str:
    attributes = sorted({f' {part[1:]}="v"' for part in parts if part.startswith("@")})
    if ":" in "".join((name, *attributes)):
        attributes.append(' xmlns:f="urn:f"')
    inside = "".join(f"{part}<!---->" for part in parts if not part.startswith("@"))
    return f"<{name}{''.join(attributes)}>{inside}</{name}>"


# --- Models as documents -----------------------------------------------------------------------


def written_model(model: Model) -> str:
    """A model as XML, a comment behind each text so that neighbours stay apart."""
    below: dict[int, list[int]] = {}
    for node, parent in enumerate(model.parents):
        below.setdefault(parent, []).append(node)
    (root,) = below[DOCUMENT]
    namespaces = sorted({namespace for namespace, _ in model.names if namespace})
    prefixes = {namespace: f"n{number}:" for number, namespace in enumerate(namespaces)}
    bindings = "".join(
        f" xmlns:{prefix[:-1]}={quoteattr(namespace)}" for namespace, prefix in prefixes.items()
    )

    def spell(name: Word) -> str:
        return prefixes.get(name[0], "") + name[1]

    def write(node: int) -> str:
        if model.kinds[node] is Kind.TEXT:
            return escape(model.values[node], {"\r": "&#13;"}) + "<!---->"
        attributes = "".join(
            f" {spell(model.names[each])}={quoteattr(model.values[each])}"
            for each in below.get(node, [])
            if model.kinds[each] is Kind.ATTRIBUTE
        )
        inside = "".join(
            write(each) for each in below.get(node, []) if model.kinds[each] is not Kind.ATTRIBUTE
        )
        name = spell(model.names[node])
        start = bindings if node == root else ""
        return f"<{name}{start}{attributes}>{inside}</{name}>"

    return write(root)


# --- Random patterns and documents -------------------------------------------------------------


def random_path(rng: random.Random, names: Sequence[str], longest: int) -> str:
    """A linear expression, absolute or relative."""
    steps = [rng.choice(names) for _ in range(rng.randint(1, longest))]
    start = rng.choice(("/", "//", ""))
    return start + "".join(
        step if place == 0 else rng.choice(("/", "//")) + step for place, step in enumerate(steps)
    )


def random_tree(rng: random.Random, names: Sequence[str], size: int) -> str:
    """A tree pattern of names, ``*``, ``/``, ``//``, attributes and ``text()``."""
    return rng.choice(("/", "//")) + _random_branch(rng, names, size, may_be_leaf=False)


def _random_branch(
    rng: random.Random, names: Sequence[str], size: int, *, may_be_leaf: bool
) -> str:
    if may_be_leaf and rng.random() < 0.12:
        return rng.choice(("@x", "@y", "text()"))
    text = rng.choice(names)
    size -= 1
    while size > 0:
        part = rng.randint(1, size)
        size -= part
        below = _random_branch(rng, names, part, may_be_leaf=True)
        text += f"[{rng.choice(('', './/'))}{below}]"
    return text


def random_expression(rng: random.Random) -> str:
    """Anything that the language has, with the prefixes of NAMESPACES."""
    paths = [_random_relative(rng, 2) for _ in range(rng.choice((1, 1, 1, 2)))]
    return " | ".join(rng.choice(("/", "//", "")) + path for path in paths)


def random_wide_expression(rng: random.Random) -> str:
    """Anything that XPath 1.0 has: conditions of the whole document and expressions, too."""
    parts = [_random_whole(rng) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    return rng.choice((" and ", " and ", " or ")).join(parts)


def _random_whole(rng: random.Random) -> str:
    kind = rng.random()
    path = rng.choice(("/", "//")) + _random_relative(rng, 2)
    if kind < 0.4:
        return path
    if kind < 0.6:
        return f"{path}[{random_residual(rng)}]"
    if kind < 0.75:
        return f"not({path})"
    if kind < 0.9:
        return f"{path}[not({random_residual(rng)})]"
    return rng.choice((f"count({path}) > 1", f"string({path}) = 'u'", f"number({path}) > 1"))


def random_residual(rng: random.Random) -> str:
    """A condition that no pattern says, or the first node of a path."""
    path = rng.choice(("a", "b", ".//b", "b/c", "@x", "*", "c[b]", "b[@x]"))
    return rng.choice(
        (
            f"count({path}) {rng.choice(COMPARISONS)} {rng.choice((1, 2))}",
            f"string({path}) = {rng.choice(LITERALS)}",
            f"number({path}) > {rng.choice(NUMBERS)}",
            f"{path} = c",
            f"{path}/following-sibling::a",
            f"string-length({path}) > 1",
        )
    )


def _random_relative(rng: random.Random, depth: int) -> str:
    steps = [_random_step(rng, depth) for _ in range(rng.choice((1, 1, 2, 2, 3)))]
    if rng.random() < 0.2:
        leaf = rng.choice(("text()", "@x", "@y", "@*", "@p:x"))
        steps.append(leaf if rng.random() < 0.5 else f"{leaf}[{_random_comparison(rng, '.')}]")
    path = steps[0]
    for step in steps[1:]:
        path += rng.choice(("/", "/", "//")) + step
    return path


def _random_step(rng: random.Random, depth: int) -> str:
    text = rng.choice((*NAMES, *NAMES, "*", "*", "p:a", "*:b", "q:*"))
    if rng.random() < 0.1:
        text += rng.choice(("[1]", "[2]", "[position()<3]", "[position()>1]", "[position()!=2]"))
    if depth > 0:
        for _ in range(rng.choice((0, 0, 1, 1, 2))):
            text += f"[{_random_predicate(rng, depth - 1)}]"
    return text


def _random_predicate(rng: random.Random, depth: int) -> str:
    kind = rng.random()
    if kind < 0.4:
        return rng.choice(("", "", ".//")) + _random_relative(rng, depth)
    if kind < 0.75:
        target = rng.choice((".", "@x", "@y", "a", "b", "c", ".//b", "text()", "b/@x"))
        return _random_comparison(rng, target)
    if kind < 0.83:
        target = rng.choice((".", "@x", "b", ".//c"))
        return f"{rng.choice(sorted(FUNCTIONS))}({target}, {rng.choice(LITERALS)})"
    if kind < 0.9:
        return f"not({_random_predicate(rng, depth - 1)})" if depth > 0 else "not(c)"
    parts = [_random_predicate(rng, depth - 1) if depth > 0 else "b" for _ in range(2)]
    return rng.choice((" and ", " or ")).join(f"({part})" for part in parts)


def _random_comparison(rng: random.Random, target: str) -> str:
    return f"{target} {rng.choice(COMPARISONS)} {rng.choice(LITERALS + NUMBERS)}"


def random_document(rng: random.Random, depth: int = 4) -> str:
    """A document over the names and values of the strategies."""
    bindings = "".join(f' xmlns:{prefix}="{uri}"' for prefix, uri in NAMESPACES.items())
    head, mark, rest = _random_element(rng, depth).partition(">")
    return f"{head}{bindings}{mark}{rest}"


def _random_element(rng: random.Random, depth: int) -> str:
    name = rng.choice((*NAMES, *NAMES, "p:a", "q:b"))
    attributes = "".join(
        f" {attribute}={quoteattr(rng.choice(TEXTS))}"
        for attribute in (*ATTRIBUTES, "p:x")
        if rng.random() < 0.3
    )
    inside = ""
    for _ in range(rng.choice((0, 1, 1, 2, 3)) if depth > 0 else 0):
        inside += (
            _random_element(rng, depth - 1) if rng.random() < 0.7 else escape(rng.choice(TEXTS))
        )
    if not inside and rng.random() < 0.7:
        inside = escape(rng.choice(TEXTS))
    return f"<{name}{attributes}>{inside}</{name}>"


# --- Stronger patterns -------------------------------------------------------------------------


def with_one_more(rng: random.Random, pattern: Pattern, more: Condition) -> Pattern:
    """The pattern with one more condition at one of its steps, or at the document node."""
    alternatives = list(pattern.alternatives)
    index = rng.randrange(len(alternatives))
    alternatives[index] = _stronger(rng, alternatives[index], more)
    return Pattern(alternatives)


def _stronger(rng: random.Random, condition: Condition, more: Condition) -> Condition:
    if isinstance(condition, Either | Both):
        members = list(condition.members)
        index = rng.randrange(len(members))
        members[index] = _stronger(rng, members[index], more)
        return either(members) if isinstance(condition, Either) else both(members)
    if not isinstance(condition, Step) or condition.test.kind is not Kind.ELEMENT:
        return condition
    inner = [c for c in condition.conditions if isinstance(c, Step | Either | Both)]
    conditions = list(condition.conditions)
    if inner and rng.random() < 0.6:
        index = conditions.index(rng.choice(inner))
        conditions[index] = _stronger(rng, conditions[index], more)
    else:
        conditions.append(more)
    return branch(condition.axis, condition.test, condition.position, conditions)


# --- Weaker patterns ---------------------------------------------------------------------------


def weakened(rng: random.Random, pattern: Pattern, chance: float = 0.3) -> Pattern:
    """A pattern that surely covers another one: less is asked for, in some of its corners."""
    return Pattern([_weaker_condition(rng, each, chance) for each in pattern.alternatives])


def _weaker_step(rng: random.Random, step: Step, chance: float) -> Condition:
    test, position, axis = step.test, step.position, step.axis
    if test.kind is not Kind.TEXT and rng.random() < chance:
        test, position = _weaker_test(rng, test), None
    if rng.random() < chance:
        axis = Axis.DESCENDANT
    if rng.random() < chance:
        position = None
    conditions: list[Condition] = []
    for condition in step.conditions:
        if rng.random() < chance / 2:
            continue
        conditions.append(_weaker_condition(rng, condition, chance))
    return branch(axis, test, position, conditions)


def _weaker_test(rng: random.Random, test: NodeTest) -> NodeTest:
    namespace = None if rng.random() < 0.5 else test.namespace
    return node_test(test.kind, namespace, None if rng.random() < 0.5 else test.local)


def _weaker_condition(rng: random.Random, condition: Condition, chance: float) -> Condition:
    if isinstance(condition, Step):
        inner = [c for c in condition.conditions if isinstance(c, Step)]
        if inner and rng.random() < chance / 2:
            # b/c becomes .//c
            chosen = rng.choice(inner)
            return branch(Axis.DESCENDANT, chosen.test, chosen.position, chosen.conditions)
        return _weaker_step(rng, condition, chance)
    if isinstance(condition, ValueTest) and rng.random() < chance:
        return _weaker_test_of_value(rng, condition)
    if isinstance(condition, Either):
        return either(_weaker_condition(rng, member, chance) for member in condition.members)
    if isinstance(condition, Both):
        return both(_weaker_condition(rng, member, chance) for member in condition.members)
    return condition


def _weaker_test_of_value(rng: random.Random, test: ValueTest) -> Condition:
    operator, operand = test.operator, test.operand
    if isinstance(operand, float):
        if operator in (">", ">="):
            return value_test(rng.choice((">", ">=")), operand - rng.choice((1, 2.5)))
        if operator in ("<", "<="):
            return value_test(rng.choice(("<", "<=")), operand + rng.choice((1, 2.5)))
        if operator == "=":
            return value_test(*rng.choice(((">=", operand), ("<", operand + 1), ("!=", 99.0))))
        return test
    if operator == "=":
        return value_test(
            *rng.choice(
                (("starts-with", operand[:1]), ("ends-with", operand[-1:]), ("!=", operand + "?"))
            )
        )
    if test.is_function:
        return value_test("contains", operand[1:])
    return test


def matched(patterns: Sequence[Pattern], written: Sequence[str]) -> list[int]:
    """Which documents each pattern matches, as sets in integers: what lxml says."""
    trees = [parse_tree(document) for document in written]
    found = []
    for pattern in patterns:
        expression, prefixes = pattern.to_xpath()
        evaluate = etree.XPath(expression, namespaces=prefixes or None)
        found.append(sum(1 << place for place, tree in enumerate(trees) if evaluate(tree)))
    return found


def documents_of(rng: random.Random, pattern: Pattern, other: Pattern, most: int) -> list[str]:
    """Documents made from the twigs of one pattern with an eye on the values of another."""
    found = []
    asked = Survey(split(other))
    for twig in split(pattern)[:most]:
        plan = Canonical(twig, asked)
        if not all(slot.values for slot in plan.slots):
            continue
        for _ in range(most):
            variant = Variant(
                siblings=rng.random() < 0.3,
                text=rng.random() < 0.3,
                inner_text=rng.random() < 0.2,
                branches=tuple(asked.denied) if rng.random() < 0.3 else (),
            )
            stretches = [rng.choice(slot.stretches) for slot in plan.slots]
            model = plan.document(stretches, [rng.choice(s.values) for s in plan.slots], variant)
            if model is not None:
                found.append(written_model(model))
    return found
