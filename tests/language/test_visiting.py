"""Walking, folding and rewriting: every kind of condition has its answer, others are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from strategies import NAMESPACES, expressions

from twigcast.language import (
    Condition,
    Fold,
    Question,
    Rewrite,
    Step,
    nodes,
    parse,
    parts,
    visiting,
    walk,
)
from twigcast.language.visiting import _KINDS

ALL_KINDS = "//a[b or c and d][not(e)][. > 1][contains(.//f/g, 'x')][count(h) > 2]"


def kinds() -> set[type[Condition]]:
    """The kinds of conditions that there are."""
    classes = (each for each in vars(nodes).values() if isinstance(each, type))
    return {each for each in classes if issubclass(each, Condition)} - {Condition}


class Unknown(Condition):
    """A kind of condition that nobody has heard of."""

    text = "unknown"


def test_every_kind_has_an_entry_and_a_method() -> None:
    assert set(_KINDS) == kinds()
    assert set(_KINDS.values()) == Fold.__abstractmethods__


def test_all_kinds_are_walked() -> None:
    assert {type(each) for each in walk(*parse(ALL_KINDS).alternatives)} == set(_KINDS)


def test_a_condition_comes_before_its_parts() -> None:
    seen: list[Condition] = []
    for each in walk(*parse(ALL_KINDS).alternatives):
        assert not any(part is other for part in parts(each) for other in seen)
        seen.append(each)


@given(expressions())
def test_rewriting_nothing_gives_the_same(expression: str) -> None:
    class Same(Rewrite[[]]):
        pass

    for step in parse(expression, NAMESPACES).alternatives:
        assert Same().visit(step) == step


def test_an_unknown_kind_is_refused_wherever_a_tree_is_taken_apart() -> None:
    with pytest.raises(TypeError, match="Unknown is no kind of condition"):
        parts(Unknown())
    with pytest.raises(TypeError, match="Unknown"):
        list(walk(Unknown()))


def test_a_fold_that_lacks_a_kind_cannot_be_made() -> None:
    class Lacking(Question[[]]):
        def step(self, step: Step) -> bool:
            return True

    with pytest.raises(TypeError, match="first_node"):
        Lacking()  # type: ignore[abstract]


def test_the_door_exports_what_is_public() -> None:
    public = {"Fold", "Question", "Rewrite", "parts", "walk", "walk_within"}
    assert public <= set(vars(visiting))
