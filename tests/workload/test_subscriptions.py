"""Generated subscriptions: satisfiable, distinct, repeatable, and shaped as asked."""

from __future__ import annotations

import math
import os
import pickle
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path

import pytest
from folders import EXAMPLES
from lxml import etree
from oracle import xpath_matches
from workloads import REAL_DTDS, example, real, small

from twigcast.errors import WorkloadError
from twigcast.language import Axis, Kind, Pattern, Step, ValueTest
from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    DocumentPlan,
    PathParameters,
    SubscriptionPlan,
    TreeParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

BUSHY = "".join(f"<!ELEMENT {name} (a | b | c | d | e)*>" for name in "abcde")
"""Every element can have all others beside each other, so nothing stands in a shape's way."""

SHAPES = (
    TreeParameters(distinct=False),
    TreeParameters(wildcard=0.4, descendant=0.4, branching=0.4, skew=0.0, distinct=False),
    PathParameters(wildcard=0.2, descendant=0.2, distinct=False, shortest=1),
)


def _patterns(
    schema: Schema,
    parameters: TreeParameters | PathParameters,
    count: int,
    seed: int = 1,
    values: ValueParameters | None = None,
) -> list[Pattern]:
    return list(islice(generate_subscriptions(schema, parameters, seed=seed, values=values), count))


def _bushy() -> Schema:
    return Schema.from_dtd(BUSHY, root="a")


def _elements(pattern: Pattern) -> list[Step]:
    return [step for step in pattern.steps() if step.test.kind is Kind.ELEMENT]


def _height(step: Step) -> int:
    below = (_height(each) for each in step.conditions if isinstance(each, Step))
    return (step.test.kind is Kind.ELEMENT) + max(below, default=0)


def _share(flags: Iterator[bool]) -> float:
    values = list(flags)
    return sum(values) / len(values)


# --- the same again --------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [*SHAPES, TreeParameters(), PathParameters(wildcard=0.1)])
def test_a_seed_determines_everything(parameters: TreeParameters | PathParameters) -> None:
    values = ValueParameters()
    once = _patterns(example("news.dtd"), parameters, 200, seed=7, values=values)
    assert once == _patterns(example("news.dtd"), parameters, 200, seed=7, values=values)
    assert once != _patterns(example("news.dtd"), parameters, 200, seed=8, values=values)


def test_the_thousandth_needs_none_of_those_before() -> None:
    parameters = TreeParameters(distinct=False)
    schema = example("news.dtd")
    plan = SubscriptionPlan(schema, parameters, seed=3, values=ValueParameters())
    stream = _patterns(schema, parameters, 1_001, seed=3, values=ValueParameters())
    assert plan.pattern(1_000) == stream[1_000]
    assert pickle.loads(pickle.dumps(plan)).pattern(1_000) == stream[1_000]


def test_distinct_ones_begin_as_the_plain_ones_without_repetitions() -> None:
    schema = example("news.dtd")
    plain = _patterns(schema, TreeParameters(distinct=False), 60)
    distinct = _patterns(schema, TreeParameters(), 40)
    assert distinct == list(dict.fromkeys(plain))[:40]


PRINT_WORKLOAD = """
import sys
from itertools import islice
from twigcast.schema import Schema
from twigcast.workload import *
schema = Schema.from_dtd(sys.argv[1])
for parameters in (TreeParameters(), PathParameters(wildcard=0.1, descendant=0.1)):
    generated = generate_subscriptions(schema, parameters, seed=5, values=ValueParameters())
    for pattern in islice(generated, 150):
        print(pattern)
for document in islice(generate_documents(schema, DocumentParameters(size=1500), seed=5), 5):
    print(document.decode())
"""


def _print_workload(hash_seed: str) -> bytes:
    environment = os.environ | {
        "PYTHONHASHSEED": hash_seed,
        "PYTHONIOENCODING": "utf-8",
        "PYTHONPATH": os.pathsep.join(sys.path),
    }
    command = [sys.executable, "-c", PRINT_WORKLOAD, str(EXAMPLES / "news.dtd")]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout


def test_other_processes_with_other_hash_seeds_generate_the_same() -> None:
    output = _print_workload("1")
    assert output == _print_workload("2")
    assert len(output.splitlines()) > 300


# --- satisfiable -----------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", SHAPES)
@pytest.mark.parametrize("name", ["news.dtd", "protein.dtd"])
def test_all_overlap_their_schema(name: str, parameters: TreeParameters | PathParameters) -> None:
    schema = example(name)
    operators = ("=", "!=", "<", "<=", ">", ">=", "contains", "starts-with")
    values = ValueParameters(fraction=0.5, operators=operators)
    for pattern in _patterns(schema, parameters, 300, values=values):
        assert schema.overlaps(pattern), pattern


@pytest.mark.parametrize("name", list(REAL_DTDS))
def test_all_overlap_real_schemas(name: str, shared_data: Path) -> None:
    schema = real(shared_data, name)
    for pattern in _patterns(schema, TreeParameters(), 300, values=ValueParameters()):
        assert schema.overlaps(pattern), pattern


def test_every_path_of_a_small_schema_is_in_its_documents() -> None:
    """Documents by the thousand hold whatever is satisfiable on a schema as small as this."""
    schema = small()
    documents = [
        etree.fromstring(document).getroottree()
        for document in islice(
            generate_documents(schema, DocumentParameters(levels=6, size=3_000), seed=1), 250
        )
    ]
    parameters = TreeParameters(height=4, branching=0.3, wildcard=0.2, descendant=0.2)
    values = ValueParameters(fraction=0.3, operators=("=", "<", ">="))
    patterns = _patterns(schema, parameters, 150, values=values)
    unmatched = []
    for pattern in patterns:
        expression, namespaces = pattern.to_xpath()
        if not any(xpath_matches(document, expression, namespaces) for document in documents):
            unmatched.append(str(pattern))
    # Equality with one of a thousand numbers, or of hundreds of words, is rare.
    assert all("=" in text for text in unmatched), unmatched
    assert len(unmatched) < 0.2 * len(patterns)


def test_branches_that_exclude_each_other_never_meet() -> None:
    schema = Schema.from_dtd(
        """<!ELEMENT a ((b, c) | (d, e) | f)>
           <!ELEMENT b EMPTY> <!ELEMENT c EMPTY> <!ELEMENT d EMPTY> <!ELEMENT e EMPTY>
           <!ELEMENT f EMPTY>"""
    )
    parameters = TreeParameters(branching=0.9, wildcard=0, descendant=0, distinct=False)
    found = {str(pattern) for pattern in _patterns(schema, parameters, 500)}
    singles = {"/a/b", "/a/c", "/a/d", "/a/e", "/a/f"}
    assert found == singles | {"/a[b][c]", "/a[d][e]"}


def test_documents_match_a_fair_share_of_the_news_subscriptions() -> None:
    schema = example("news.dtd")
    plan = DocumentPlan(schema, DocumentParameters(size=4_000), seed=2)
    trees = [etree.fromstring(plan.document(index)).getroottree() for index in range(30)]
    matched = []
    for pattern in _patterns(schema, TreeParameters(), 200):
        expression, namespaces = pattern.to_xpath()
        matched.append(any(xpath_matches(tree, expression, namespaces) for tree in trees))
    assert sum(matched) / len(matched) > 0.25


# --- distinct --------------------------------------------------------------------------------


@pytest.mark.parametrize("parameters", [TreeParameters(), PathParameters(descendant=0.1)])
def test_distinct_patterns_do_not_repeat(parameters: TreeParameters | PathParameters) -> None:
    patterns = _patterns(example("news.dtd"), parameters, 3_000)
    assert len({str(pattern) for pattern in patterns}) == 3_000


def test_patterns_repeat_where_that_is_allowed() -> None:
    patterns = _patterns(example("protein.dtd"), PathParameters(distinct=False), 500)
    assert len(set(patterns)) < 100


def _label_paths(schema: Schema, depth: int) -> set[str]:
    found = set()
    waiting = [(schema.root, f"/{schema.root}", 1)]
    while waiting:
        name, path, level = waiting.pop()
        found.add(path)
        if level < depth:
            below = schema.children(name)
            waiting.extend((child, f"{path}/{child}", level + 1) for child in below)
    return found


def test_used_up_distinct_patterns_are_an_error_that_counts_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("twigcast.workload.subscriptions._DISTINCT_TRIES", 3_000)
    schema = example("protein.dtd")
    paths = _label_paths(schema, 5)
    generated = generate_subscriptions(schema, PathParameters(length=5, shortest=1), seed=1)
    # Nothing is missed, though the last ones are rare: 1 in some hundreds.
    assert {str(pattern) for pattern in islice(generated, len(paths))} == paths
    with pytest.raises(WorkloadError, match=f"give {len(paths)} distinct subscriptions"):
        next(generated)


def test_generators_are_lazy() -> None:
    generated = generate_subscriptions(example("news.dtd"), TreeParameters(), seed=1)
    assert isinstance(next(generated), Pattern)
    assert isinstance(generated, Iterator)


# --- shaped as asked -------------------------------------------------------------------------


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.3])
def test_share_of_wildcards(chance: float) -> None:
    parameters = PathParameters(length=6, wildcard=chance, distinct=False)
    patterns = _patterns(_bushy(), parameters, 2_000)
    share = _share(step.test.is_wildcard for pattern in patterns for step in pattern.steps())
    assert share == pytest.approx(chance, abs=0.02)


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.3])
def test_share_of_descendant_edges(chance: float) -> None:
    parameters = PathParameters(length=6, descendant=chance, distinct=False)
    patterns = _patterns(_bushy(), parameters, 2_000)
    share = _share(step.axis is Axis.DESCENDANT for pattern in patterns for step in pattern.steps())
    assert share == pytest.approx(chance, abs=0.02)


@pytest.mark.parametrize("chance", [0.0, 0.1, 0.3])
def test_share_of_branching_nodes(chance: float) -> None:
    parameters = TreeParameters(
        height=5, wildcard=0, descendant=0, branching=chance, skew=0, distinct=False
    )
    patterns = _patterns(_bushy(), parameters, 1_000)
    share = _share(
        len(step.conditions) > 1
        for pattern in patterns
        for step in pattern.steps()
        if step.conditions
    )
    assert share == pytest.approx(chance, abs=0.02)


def test_heights_and_lengths_are_bounded() -> None:
    for pattern in _patterns(example("news.dtd"), TreeParameters(height=6, branching=0.3), 1_000):
        (alternative,) = pattern.alternatives
        assert isinstance(alternative, Step)
        assert _height(alternative) <= 6
    lengths: Counter[int] = Counter()
    parameters = PathParameters(length=7, wildcard=0.1, descendant=0.1, distinct=False)
    for pattern in _patterns(example("news.dtd"), parameters, 1_000):
        assert pattern.linear_steps is not None
        lengths[len(pattern.linear_steps)] += 1
    assert max(lengths) == 7
    assert min(lengths) < 5


def test_lengths_are_even_from_the_shortest_on() -> None:
    parameters = PathParameters(length=8, shortest=3, distinct=False)
    lengths = Counter(
        len(pattern.linear_steps or ()) for pattern in _patterns(_bushy(), parameters, 3_000)
    )
    assert set(lengths) == set(range(3, 9))
    assert all(abs(count - 500) < 120 for count in lengths.values())


def test_paths_end_at_leaves_or_at_the_full_length() -> None:
    schema = example("protein.dtd")
    for pattern in _patterns(schema, PathParameters(length=4, distinct=False), 300):
        steps = pattern.linear_steps
        assert steps is not None
        assert len(steps) == 4 or not schema.children(steps[-1].test.local or "")


def _entropy(patterns: list[Pattern]) -> float:
    """How evenly the tags of the second level are chosen, in bits."""
    tally = Counter(str(pattern).split("/")[2] for pattern in patterns)
    shares = [count / len(patterns) for count in tally.values()]
    return -sum(share * math.log2(share) for share in shares)


def test_skew_concentrates_the_choice_of_tags() -> None:
    entropies = [
        _entropy(_patterns(_bushy(), PathParameters(length=2, skew=skew, distinct=False), 2_000))
        for skew in (0.0, 0.5, 1.0, 2.0, 4.0)
    ]
    assert entropies[0] == pytest.approx(math.log2(5), abs=0.01)
    assert all(less > more + 0.02 for less, more in pairwise(entropies))


def test_popular_tags_are_not_those_declared_first() -> None:
    parameters = PathParameters(length=2, skew=2.0, distinct=False)
    favourites = Counter(
        Counter(str(pattern) for pattern in _patterns(_bushy(), parameters, 50, seed)).most_common(
            1
        )[0][0]
        for seed in range(60)
    )
    assert len(favourites) == 5


def test_sizes_are_those_that_xnet_reports() -> None:
    """Table 2: 7.6 nodes a pattern among 1,000 of a news DTD, more the more there are."""
    patterns = _patterns(example("news.dtd"), TreeParameters(), 4_000)
    sizes = [len(_elements(pattern)) for pattern in patterns]
    assert 7.0 < sum(sizes[:1_000]) / 1_000 < 8.5
    assert sum(sizes[3_000:]) > sum(sizes[:1_000])


# --- values ----------------------------------------------------------------------------------


def _tests(pattern: Pattern) -> list[tuple[Step, ValueTest]]:
    return [
        (step, condition)
        for step in pattern.steps()
        for condition in step.conditions
        if isinstance(condition, ValueTest)
    ]


@pytest.mark.parametrize("fraction", [0.0, 0.4, 1.0])
def test_the_fraction_asked_for_compares_a_value(fraction: float) -> None:
    patterns = _patterns(
        example("news.dtd"),
        TreeParameters(distinct=False),
        800,
        values=ValueParameters(fraction=fraction),
    )
    counts = Counter(len(_tests(pattern)) for pattern in patterns)
    assert set(counts) <= {0, 1}
    assert counts[1] / 800 == pytest.approx(fraction, abs=0.06)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_the_share_asked_for_is_on_attributes(share: float) -> None:
    values = ValueParameters(fraction=1.0, attributes=share)
    patterns = _patterns(example("news.dtd"), TreeParameters(distinct=False), 600, values=values)
    on_attributes = _share(
        step.test.kind is Kind.ATTRIBUTE for pattern in patterns for step, _ in _tests(pattern)
    )
    assert on_attributes == pytest.approx(share, abs=0.07)


@pytest.mark.parametrize("operators", [("=",), ("<", ">="), ("contains",), ("!=", "starts-with")])
def test_only_the_operators_asked_for_are_used(operators: tuple[str, ...]) -> None:
    values = ValueParameters(fraction=1.0, operators=operators)
    patterns = _patterns(example("news.dtd"), TreeParameters(distinct=False), 300, values=values)
    used = Counter(test.operator for pattern in patterns for _, test in _tests(pattern))
    assert set(used) == set(operators)


def test_enumerated_attributes_are_compared_with_their_members() -> None:
    values = ValueParameters(fraction=1.0, attributes=1.0, operators=("=",))
    texts = " ".join(
        str(pattern)
        for pattern in _patterns(small(), TreeParameters(distinct=False), 300, values=values)
    )
    assert '@country="at"' in texts
    assert texts.count("@country=") == sum(
        texts.count(f'@country="{member}"') for member in ("at", "ch", "de")
    )
    assert "@id" not in texts
    assert "@like" not in texts


def test_comparisons_divide_the_documents() -> None:
    """Thresholds are drawn from the range that documents use, so about half of them are passed."""
    schema = small()
    documents = islice(generate_documents(schema, DocumentParameters(size=800), seed=3), 60)
    trees = [etree.fromstring(document).getroottree() for document in documents]
    values = ValueParameters(fraction=1.0, operators=("<", ">"))
    parameters = PathParameters(length=2, distinct=False)
    passed: list[bool] = []
    for pattern in _patterns(schema, parameters, 100, values=values):
        with_test, _ = pattern.to_xpath()
        without = re.sub(r"[<>][0-9]+", "", with_test)
        assert without != with_test
        present = [tree for tree in trees if xpath_matches(tree, without)]
        passed.extend(xpath_matches(tree, with_test) for tree in present)
    assert 0.35 < _share(iter(passed)) < 0.85


def test_namespaced_schemas_are_asked_in_any_namespace() -> None:
    schema = Schema.from_dtd(
        """<!ELEMENT s:list (s:entry+)>
           <!ATTLIST s:list xmlns:s CDATA #FIXED "urn:s"
                            s:kind CDATA #IMPLIED xml:lang NMTOKEN #IMPLIED>
           <!ELEMENT s:entry (#PCDATA)>"""
    )
    values = ValueParameters(fraction=0.5, attributes=0.5)
    texts = {str(pattern) for pattern in _patterns(schema, TreeParameters(), 40, values=values)}
    assert "/*:list/*:entry" in texts
    assert not any("kind" in text or "xmlns" in text for text in texts)
    assert any("Q{http://www.w3.org/XML/1998/namespace}lang" in text for text in texts)


# --- refused ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "arguments", "reason"),
    [
        (TreeParameters, {"height": 0}, "height must be from 1"),
        (TreeParameters, {"height": 101}, "height must be from 1 to 100"),
        (TreeParameters, {"wildcard": 1.1}, "wildcard is a probability"),
        (TreeParameters, {"descendant": -0.1}, "descendant is a probability"),
        (TreeParameters, {"branching": 2}, "branching is a probability"),
        (TreeParameters, {"skew": -1}, "skew"),
        (PathParameters, {"length": 0}, "length must be from 1"),
        (PathParameters, {"length": 3, "shortest": 4}, "shortest must be from 1 to the length 3"),
        (PathParameters, {"shortest": 0}, "shortest"),
        (PathParameters, {"wildcard": math.nan}, "wildcard"),
        (PathParameters, {"skew": math.inf}, "skew"),
        (ValueParameters, {"fraction": 2}, "fraction is a share"),
        (ValueParameters, {"attributes": -1}, "attributes is a share"),
        (ValueParameters, {"operators": ("=", "~")}, "not ~"),
        (ValueParameters, {"operators": ()}, "at least one of"),
    ],
)
def test_impossible_parameters_are_refused(
    make: type, arguments: dict[str, object], reason: str
) -> None:
    with pytest.raises(WorkloadError, match=reason):
        make(**arguments)
