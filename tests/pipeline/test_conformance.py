"""The conformance files, all of them in one job: every document past every subscription."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from conformance_cases import load_cases
from match_oracles import Question
from pipeline_oracle import brute_force, frame_of, read_rows, require_summary

from twigcast.language import Subscription
from twigcast.pipeline.route.job import route

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = list(load_cases())
DOCUMENTS = {f"d{n}": text for n, text in enumerate(dict.fromkeys(one.document for one in CASES))}
QUESTIONS = {repr(one.question): one.question for one in CASES}
BY_SAXON = {repr(one.question) for one in CASES if one.by_saxon}
PLAIN = {
    key
    for key, one in QUESTIONS.items()
    if one == Question(one.text, one.namespaces)  # a row says nothing else
}


@pytest.mark.parametrize("given", ["rows with namespaces", "subscriptions"])
def test_all_cases_in_one_job(spark: SparkSession, tmp_path: Path, given: str) -> None:
    keys = PLAIN if given.startswith("rows") else QUESTIONS.keys()
    subscriptions = [Subscription(key, QUESTIONS[key].pattern) for key in sorted(keys)]
    documents = {name: text.encode() for name, text in DOCUMENTS.items()}
    rows = spark.createDataFrame(
        [(key, QUESTIONS[key].text, json.dumps(QUESTIONS[key].namespaces)) for key in sorted(keys)],
        "key string, xpath string, namespaces string",
    )
    out = tmp_path / "out"
    route(
        spark,
        frame_of(spark, documents),
        subscriptions=rows if given.startswith("rows") else subscriptions,
        output=str(out),
    )
    got = [(row[0], row[1]) for row in read_rows(out, "deliveries")]
    assert len(set(got)) == len(got)
    assert read_rows(out, "rejected") == []
    found = set(got)
    document_of = {text: name for name, text in DOCUMENTS.items()}
    for case in CASES:
        key = repr(case.question)
        if key in keys:
            assert ((document_of[case.document], key) in found) is case.expected, case.name
    # And all the pairs that no case speaks of.
    decided = {each.key: each.pattern for each in subscriptions if each.key not in BY_SAXON}
    by_hand = brute_force(documents, decided)
    assert {pair for pair in found if pair[1] in decided} == {
        (name, key) for name, keys in by_hand.items() for key in keys
    }
    require_summary(out)


def test_there_are_cases_of_both_answers() -> None:
    assert {case.expected for case in CASES} == {True, False}
    assert len(DOCUMENTS) > 100
    assert len(PLAIN) > 300
    assert any(question.namespaces for question in QUESTIONS.values())
    assert QUESTIONS.keys() > PLAIN
