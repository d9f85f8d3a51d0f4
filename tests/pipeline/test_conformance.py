"""The conformance files, all of them in one job: every document past every subscription."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

from conformance_cases import load_cases
from pipeline_oracle import brute_force, frame_of, read_rows, require_summary

from twigcast.language import Subscription, parse
from twigcast.pipeline.route.job import route

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CASES = list(load_cases())
DOCUMENTS = {f"d{n}": text for n, text in enumerate(dict.fromkeys(one.document for one in CASES))}
WANTED = {
    f"s{n}": (xpath, json.loads(namespaces))
    for n, (xpath, namespaces) in enumerate(
        dict.fromkeys((one.xpath, json.dumps(one.namespaces)) for one in CASES)
    )
}


@pytest.mark.parametrize("given", ["rows with namespaces", "subscriptions"])
def test_all_cases_in_one_job(spark: SparkSession, tmp_path: Path, given: str) -> None:
    subscriptions = [
        Subscription(key, parse(xpath, namespaces)) for key, (xpath, namespaces) in WANTED.items()
    ]
    documents = {name: text.encode() for name, text in DOCUMENTS.items()}
    rows = spark.createDataFrame(
        [(key, xpath, json.dumps(namespaces)) for key, (xpath, namespaces) in WANTED.items()],
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
    key_of = {(xpath, json.dumps(names)): key for key, (xpath, names) in WANTED.items()}
    for case in CASES:
        key = key_of[case.xpath, json.dumps(case.namespaces)]
        assert ((document_of[case.document], key) in found) is case.expected, case.name
    # And all the pairs that no case speaks of.
    by_hand = brute_force(documents, {each.key: each.pattern for each in subscriptions})
    assert found == {(name, key) for name, keys in by_hand.items() for key in keys}
    require_summary(out)


def test_there_are_cases_of_both_answers() -> None:
    assert {case.expected for case in CASES} == {True, False}
    assert len(DOCUMENTS) > 100
    assert any(namespaces for _, namespaces in WANTED.values())
