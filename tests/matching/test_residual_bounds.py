"""What an expression may cost, and programs that lie."""

from __future__ import annotations

import pickle
from typing import get_args

import pytest
from residuals import compiled, holds, reason

from twigcast import Matcher
from twigcast.errors import EvaluationBudgetError
from twigcast.language.expression_codes import AXES, OPERATORS_OF_XPATH
from twigcast.language.expressions import STRENGTHS, AxisName
from twigcast.matching import CompactDocument, CompiledPattern
from twigcast.matching.expression_program import Form, KindAndName, Part
from twigcast.matching.program import Instruction, Operation, Program

WIDE = "<a>" + "<b><c>1</c></b>" * 30_000 + "</a>"
COSTLY = "//b[count(following::*) = 12345678]"


def test_the_kernel_knows_the_axes_and_operators_of_the_language() -> None:
    assert get_args(AxisName) == AXES
    assert STRENGTHS.keys() == OPERATORS_OF_XPATH.keys()


# --- budget -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        COSTLY,
        "count(1 to 1000000000) = 5",
        "//b[not(c = preceding::c/..)][zz]",
        (
            "string-length("
            "string-join(for $i in 1 to 3000000 return 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa')"
            ") = 1"
        ),
        "let $a := string-join(for $i in 1 to 100000 return '0123456789', '') return "
        "string-length(concat(" + ", ".join(["$a"] * 100) + ")) = 1",
    ],
)
def test_what_takes_too_much_is_not_decided(text: str) -> None:
    document = CompactDocument(WIDE)
    with pytest.raises(EvaluationBudgetError):
        document.matches(compiled(text))


@pytest.mark.parametrize(
    "text",
    [
        "//b[../zz]",
        "//c[ancestor::a/b[2]/c = 7]",
        "//b[c = //zz]",
        "//b[c = //b[c > 5]/c]",
        "//b[c > //c]",
        "//b//..//..//..//..//..//..//b//zz",
        "//b[preceding-sibling::b[1]/c = 3]",
        "//*[following::zz]",
        "//b[position() = last()]/c = 2",
    ],
)
def test_common_rules_on_wide_documents_are_decided(text: str) -> None:
    assert not holds(text, CompactDocument(WIDE))


def test_a_matcher_tells_what_is_not_decided_and_answers_for_all_others() -> None:
    matcher = Matcher({"costly": COSTLY, "too": COSTLY, "b": "//b", "c": "//b[count(c) = 1]"})
    with pytest.raises(EvaluationBudgetError) as caught:
        matcher.match(WIDE)
    assert sorted(caught.value.keys) == ["costly", "too"]
    assert sorted(caught.value.matched) == ["b", "c"]
    assert "'costly'" in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).keys == caught.value.keys
    batch = matcher.match_batch([WIDE, "<a><b><c/></b></a>", "<a"])
    assert [sorted(keys) for keys in batch] == [["b", "c"], ["b", "c"], []]
    assert isinstance(batch.errors[0], EvaluationBudgetError)
    assert batch.errors.keys() == {0, 2}


# --- errors -------------------------------------------------------------------------------------


def test_an_expression_without_a_value_does_not_match_and_says_why() -> None:
    assert not holds("xs:decimal(/a) > 1 or true()", "<a>x</a>")
    assert reason("xs:decimal(/a) > 1", "<a>x</a>") == (
        "a value that is none of the type that is wanted"
    )
    assert reason("xs:decimal(/a) > 1", "<a>2</a>") == ""
    assert not holds("not(/a + 1 = 2)", "<a>x</a>", is_version_2=True)


# --- programs that lie ----------------------------------------------------------------------------

TESTS = (KindAndName(1, b"", b"a"),)
ASK = Instruction(Operation.RESIDUAL, expression=0)


def program(*parts: Part, number: int | None = None) -> Program:
    ask = ASK._replace(expression=len(parts) - 1 if number is None else number)
    return Program(TESTS, (ask,), (0,), parts)


ALONG = Part(Form.ALONG)
TEXT = Part(Form.TEXT, text=b"a")


@pytest.mark.parametrize(
    "forged",
    [
        program(number=0),
        program(TEXT, number=1),
        program(Part(Form.ALONG, test=1)),
        program(Part(Form.ALONG, code=13)),
        program(Part(Form.FILTER)),
        program(ALONG, Part(Form.PATH, (0,))),
        program(ALONG, Part(Form.PATH, (0, 0))),
        program(ALONG, Part(Form.PATH, (0, 1))),
        program(ALONG, Part(Form.PATH, (0, 7))),
        program(Part(Form.CALL, code=200)),
        program(Part(Form.CALL, code=2)),
        program(TEXT, Part(Form.OPERATION, (0,), code=3)),
        program(TEXT, Part(Form.OPERATION, (0,), code=99)),
        program(Part(Form.VARIABLE)),
        program(TEXT, Part(Form.VARIABLE, test=1), Part(Form.BINDING, (0, 1))),
        program(TEXT, Part(Form.VARIABLE), Part(Form.BINDING, (0, 1), test=1)),
        program(TEXT, Part(Form.BINDING, (0,))),
        program(TEXT, Part(Form.TYPED, (0,), test=250)),
        program(TEXT, Part(Form.CONDITIONAL, (0,))),
        program(TEXT, *(Part(Form.FILTER, (at,)) for at in range(2_000))),
    ],
)
def test_programs_that_lead_nowhere_are_refused(forged: Program) -> None:
    with pytest.raises(ValueError, match="lead nowhere"):
        CompiledPattern(forged)


def test_forged_regular_expressions_are_refused() -> None:
    good = compiled("matches(/a, 'b+')").source
    call = good.expressions[-1]
    for text in (
        b"",
        b"x",
        call.text[:-4],
        call.text + b"\0\0\0\0",
        b"\xff" * len(call.text),
        call.text[:16] + b"\x09\0\0\0" + call.text[20:],
        call.text[:16] + b"\x01\0\0\0\xff\xff\0\0" + call.text[24:],
    ):
        with pytest.raises(ValueError, match="lead nowhere"):
            CompiledPattern(
                good._replace(expressions=(*good.expressions[:-1], call._replace(text=text)))
            )
    for at in range(0, len(call.text), 4):  # whatever the numbers are, nothing is read outside
        text = call.text[:at] + b"\x02\0\0\0" + call.text[at + 4 :]
        changed = good._replace(expressions=(*good.expressions[:-1], call._replace(text=text)))
        try:
            pattern = CompiledPattern(changed)
        except ValueError:
            continue
        CompactDocument("<a>abbbc</a>").matches(pattern)


def test_programs_with_expressions_survive_pickles() -> None:
    pattern = compiled("//a[matches(@x, '^[0-9]+$')][count(b) > 1.5]")
    again = pickle.loads(pickle.dumps(pattern))
    document = CompactDocument("<a x='12'><b/><b/></a>")
    assert document.matches(pattern)
    assert document.matches(again)
    matcher = Matcher({"k": "//a[matches(@x, '^[0-9]+$')][count(b) > 1.5][name() = 'a']"})
    copy = pickle.loads(pickle.dumps(matcher))
    assert copy.match("<a x='12'><b/><b/></a>") == ["k"]
    assert copy.match("<a x='z'><b/><b/></a>") == []
