"""The compiled kernel answers what libxml2 answers, whatever the size, at a bounded cost."""

from __future__ import annotations

import math
import pickle
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import etree
from oracle import parse_tree

from twigcast.documents import DocumentLimits
from twigcast.language import NUMBER_OPERATORS, number_text, parse, to_number
from twigcast.language.operators import OPERATORS
from twigcast.matching import CompactDocument, CompiledPattern, compile_pattern
from twigcast.matching.expression_program import KindAndName
from twigcast.matching.program import Instruction, Operation, Program, make_program

if TYPE_CHECKING:
    from collections.abc import Callable

DEEP = DocumentLimits(depth=1_000_000)
LARGEST = sys.float_info.max


def asks(xpath: str, document: CompactDocument) -> bool:
    return document.matches(compile_pattern(parse(xpath)))


# --- size ---------------------------------------------------------------------------------------


def nested(depth: int, inside: str = "<b>x</b>") -> CompactDocument:
    return CompactDocument("<a>" * depth + inside + "</a>" * depth, DEEP)


def test_depth_costs_no_stack() -> None:
    depth = 100_000
    document = nested(depth)
    assert len(document) == depth + 3
    assert document.node(depth) == ("element", "", "a", depth - 1, depth + 3, depth, "x")
    assert document.node(depth + 2)[:1] == ("text",)
    assert asks("/a//a/a//a/b[.='x']", document)
    assert asks("//a[not(a)][b]", document)
    assert asks("//a[not(.//a[not(contains(., 'x'))])]", document)
    assert asks("//a[starts-with(.//a//b, 'x')]", document)
    assert asks("//a[1][. != 'y' or .//c]/a[not(a)]/b", document)
    assert not asks("//a[2]", document)
    assert not asks("//b//b", document)


def test_width() -> None:
    document = CompactDocument("<a>" + "<b c='1'/>x" * 100_000 + "<c/></a>")
    assert len(document) == 300_003
    assert asks("/a/b[100000]", document)
    assert not asks("/a/b[100001]", document)
    assert asks("/a[text()[99999]='x']/c", document)
    assert asks("//b[position()>=99999]/@c", document)


def test_huge_text() -> None:
    text = "x" * 20_000_000
    document = CompactDocument(f"<a b='{text}y'>{text}<c>é</c>{text}</a>", DocumentLimits())
    assert asks("//a[contains(., 'xéx')]", document)
    assert not asks("//a[contains(., 'xéé')]", document)
    assert asks("//@b[contains(., 'xy')]", document)
    assert not asks("//text()[contains(., 'xé')]", document)
    assert document.byte_size < 8 * len(text)


# --- answers ------------------------------------------------------------------------------------


def random_tree(random: Random, depth: int) -> str:
    """A small tree of few names, so that names nest in themselves and siblings repeat."""
    name = random.choice("aab")
    attribute = random.choice(["", "", " x='1'", " y='2' x='3'"])
    inside = random.choice(["", "", "1", "2", "<!--c-->"])
    for _ in range(random.choice([0, 1, 1, 2, 3]) if depth else 0):
        inside += random_tree(random, depth - 1) + random.choice(["", "", "1", "2", "<!--c-->3"])
    return f"<{name}{attribute}>{inside}</{name}>"


FOREST = [random_tree(Random(seed), 5) for seed in range(150)]
FOREST.append(f"<r>{''.join(FOREST)}</r>")  # large enough for dense sets of nodes
READ = [(parse_tree(text), CompactDocument(text)) for text in FOREST]


def test_the_forest_is_varied() -> None:
    assert len(set(FOREST)) > 120
    sizes = sorted(len(document) for _, document in READ)
    assert sizes[len(sizes) // 4] < 10 < 30 < sizes[-len(sizes) // 4] < 2_000 < sizes[-1]


LEAVES = ("", "", "", "/text()", "//text()", "/@x", "//@*", "//text()[2]")


@st.composite
def paths(draw: st.DrawFn, depth: int, leaves: tuple[str, ...] = LEAVES) -> str:
    """A relative path; its steps have predicates of their own while ``depth`` lasts."""
    path = draw(st.sampled_from(["", ".//"]))
    for number in range(draw(st.integers(1, 3))):
        path += draw(st.sampled_from(["/", "//"])) if number else ""
        path += draw(st.sampled_from(["a", "a", "b", "*", "*:a"]))
        path += draw(st.sampled_from(["", "", "", "", "[1]", "[2]", "[position()>=2]"]))
        if depth and draw(st.integers(0, 2)) == 0:
            path += f"[{draw(conditions(depth - 1))}]"
    return path + draw(st.sampled_from(leaves))


@st.composite
def conditions(draw: st.DrawFn, depth: int) -> str:
    kind = draw(st.sampled_from(["path", "value", "first", "first", "not", "and", "or"]))
    if kind == "path":
        return draw(paths(depth))
    if kind == "value":
        comparison = draw(st.sampled_from(["= '1'", "!= ''", "= 2", "> 1", "<= 12", "!= 1"]))
        return f"{draw(st.just('.') | paths(0))} {comparison}"
    if kind == "first":
        function = draw(st.sampled_from(["contains", "starts-with", "ends-with"]))
        literal = draw(st.sampled_from(["'1'", "'2'", "'12'", "'3'"]))
        return f"{function}({draw(st.just('.') | paths(depth))}, {literal})"
    if kind == "not":
        return f"not({draw(conditions(max(depth - 1, 0)))})"
    left, right = draw(conditions(max(depth - 1, 0))), draw(conditions(max(depth - 1, 0)))
    return f"({left} {kind} {right})"


@given(paths(1, leaves=("",)), conditions(2), st.sampled_from(LEAVES))
def test_answers_as_libxml2_does_all_over_the_forest(path: str, condition: str, leaf: str) -> None:
    xpath = f"//{path.removeprefix('.//')}[{condition}]{leaf}"
    pattern = parse(xpath)
    ask = etree.XPath(xpath.replace("*:a", "*[local-name()='a']"))
    answers = [document.matches(compile_pattern(pattern)) for _, document in READ]
    assert answers == [bool(ask(tree)) for tree, _ in READ], str(pattern)


@given(st.text("0123456789.eE+- \t\n5", max_size=12) | st.floats().map(repr))
def test_numbers_are_read_as_the_language_reads_them(text: str) -> None:
    document = CompactDocument(f"<a>{text}</a>")
    number = to_number(text)
    operands = [0.0, 1.0, LARGEST, -LARGEST, 5e-324]
    if math.isfinite(number):
        operands += [number, math.nextafter(number, 0.0)]
    for operand in operands:
        for operator in ("=", "!=", "<", "<=", ">", ">="):
            expected = NUMBER_OPERATORS[operator].passes(number, operand)
            assert asks(f"/a[. {operator} {number_text(operand)}]", document) is expected, operand


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e400", math.inf),
        ("-1e400", -math.inf),
        ("1e-400", 0.0),
        ("0e99999999999999999999", 0.0),
        ("1e99999999999999999999", math.inf),
        ("1e-99999999999999999999", 0.0),
        ("0." + "0" * 400 + "1", 0.0),
        ("0." + "0" * 400 + "1e400", 0.1),
        ("1" + "0" * 400, math.inf),
        ("1" + "0" * 400 + "e-400", 1.0),
        ("123456789012345678901234567890", 123456789012345678901234567890.0),
        ("9007199254740993", 9007199254740992.0),
        ("2.2250738585072011e-308", 2.2250738585072011e-308),
    ],
)
def test_numbers_beyond_the_range_of_a_double(text: str, number: float) -> None:
    assert to_number(text) == number
    document = CompactDocument(f"<a>{text}</a>")
    if math.isinf(number):
        assert asks(f"/a[. > {number_text(LARGEST)}]", document) is (number > 0)
        assert asks(f"/a[. < -{number_text(LARGEST)}]", document) is (number < 0)
    else:
        assert asks(f"/a[. = {number_text(number)}]", document)


def test_a_pattern_that_never_matches() -> None:
    never = parse("/a[position() < 1]")
    assert not never.alternatives
    assert not CompactDocument("<a/>").matches(compile_pattern(never))


def test_half_a_surrogate_pair_is_in_no_document() -> None:
    document = CompactDocument("<a>\U0001f600</a>")
    assert not asks("//a[contains(., '\ud83d')]", document)
    assert asks("//a[. != '\ud83d']", document)


# --- programs -----------------------------------------------------------------------------------


def test_programs_survive_pickling() -> None:
    pattern = compile_pattern(parse("//a[b[2] or not(contains(c//d, 'é'))][@x > 5]"))
    again = pickle.loads(pickle.dumps(pattern))
    assert (
        again.source
        == pattern.source
        == make_program(parse("//a[@x>5][b[2] or not(contains(c//d,'é'))]"))
    )
    document = CompactDocument("<a x='6'><b/></a>")
    assert document.matches(again)
    assert document.matches(pattern)


STEP = Instruction(Operation.STEP)


@pytest.mark.parametrize(
    "program",
    [
        Program((), (STEP,), (0,)),
        Program((KindAndName(1, b"", b"a"),), (STEP,), (1,)),
        Program((KindAndName(1, b"", b"a"),), (STEP._replace(children=(0,)),), (0,)),
        Program((KindAndName(0, b"", b"a"),), (STEP,), (0,)),
        Program((KindAndName(99, b"", b"a"),), (STEP,), (0,)),
        Program((KindAndName(1, b"", b"a"),), (STEP._replace(position=1, comparison=6),), (0,)),
        Program((), (Instruction(Operation.VALUE, comparison=len(OPERATORS)),), (0,)),
        Program((), (Instruction(Operation.NEGATION),), (0,)),
        Program((), (Instruction(Operation.FIRST_NODE),), (0,)),
        Program((), (Instruction(Operation.BOTH), Instruction(Operation.FIRST_NODE, (0,))), (1,)),
    ],
)
def test_unsound_programs_are_refused(program: Program) -> None:
    with pytest.raises(ValueError, match=r"program|instruction|node test"):
        CompiledPattern(program)


# --- cost ---------------------------------------------------------------------------------------


def quickest(action: Callable[[], object], runs: int = 7) -> float:
    """The processor's time for the action, whatever else the machine does meanwhile."""
    times = []
    for _ in range(runs):
        start = time.thread_time()
        action()
        times.append(time.thread_time() - start)
    return min(times)


HOSTILE = (
    "//a" * 60 + "//b/c",
    "//a[.//a[.//a[.//a[.//b/c]]]]",
    "//a[contains(.//a//a//a//b, 'y')]",
    "//a[contains(., 'y')]",
    "//*[1]//*[1]//*[1]//*[2]",
    "//a/a/a/a/a//a[not(.//a[not(.//b)])]/c",
)


@pytest.mark.parametrize("xpath", HOSTILE, ids=lambda xpath: xpath[:30])
def test_time_grows_with_the_document_and_no_faster(xpath: str) -> None:
    pattern = compile_pattern(parse(xpath))
    small, large = nested(5_000), nested(40_000)
    assert not small.matches(pattern)
    ratio = quickest(lambda: large.matches(pattern)) / quickest(lambda: small.matches(pattern))
    assert ratio < 24  # 8 if linear, 64 if quadratic


def test_time_grows_with_the_pattern_and_no_faster() -> None:
    document = nested(20_000)
    short, long = (compile_pattern(parse("//a" * steps + "//b/c")) for steps in (11, 88))
    ratio = quickest(lambda: document.matches(long)) / quickest(lambda: document.matches(short))
    assert ratio < 24


MEMORY_SCRIPT = """
from resource import RUSAGE_SELF, getrusage
from twigcast.language import parse
from twigcast.matching import CompactDocument, compile_pattern

document = CompactDocument(("<r>" + ("<a>" * 100 + "</a>" * 100) * 10_000 + "</r>").encode())
before = getrusage(RUSAGE_SELF).ru_maxrss
xpath = ".//a[b]"
for level in range(30):
    xpath = [f".//a[not({xpath})]", f".//a[{xpath} or .//b]", f".//a[.//a][{xpath}]"][level % 3]
path = ".//" + "a//" * 50 + "a"
for question in (f"//a[not({xpath})]", f"/r[{xpath} or x]", f"//a[contains({path}, 'x')]"):
    document.matches(compile_pattern(parse(question)))
print((getrusage(RUSAGE_SELF).ru_maxrss - before) * 1024, document.byte_size)
"""


def test_memory_of_a_check_stays_below_that_of_the_document() -> None:
    run = subprocess.run(
        [sys.executable, "-c", MEMORY_SCRIPT], capture_output=True, text=True, check=True
    )
    growth, document_size = map(int, run.stdout.split())
    assert growth < document_size


LEAK_SCRIPT = """
from pathlib import Path
from twigcast.errors import DocumentError
from twigcast.language import parse
from twigcast.matching import CompactDocument, CompiledPattern
from twigcast.matching.program import make_program

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

program = make_program(parse("//a[b[2] or contains(c//d, 'x')]/@y[. > 5]"))
good = b"<a xmlns:p='urn:p'>" + b"<p:b y='7'>text</p:b><a><c><d>x</d></c></a>" * 50 + b"</a>"
bad = good[:-2]
def work(times):
    for _ in range(times):
        CompactDocument(good).matches(CompiledPattern(program))
        try:
            CompactDocument(bad)
        except DocumentError:
            pass

work(1_000)
before = resident()
work(10_000)
print(resident() - before)
"""


def test_nothing_leaks() -> None:
    run = subprocess.run(
        [sys.executable, "-c", LEAK_SCRIPT], capture_output=True, text=True, check=True
    )
    # A leaked byte for each of 20,000 documents would not show; their smallest array would.
    assert int(run.stdout) < 2_000_000


def test_threads_share_documents_and_patterns() -> None:
    shared = nested(30_000)
    xpaths = ["//a//b", "//b//b", "/a/a[contains(., 'x')]", "//a[b]", "//c", "//a[2]"] * 4
    expected = [asks(xpath, shared) for xpath in xpaths]
    assert True in expected
    assert False in expected

    def work(xpath: str) -> tuple[bool, bool]:
        return asks(xpath, shared), asks(xpath, nested(1_000))

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(work, xpaths))
    assert answers == [(answer, answer) for answer in expected]
