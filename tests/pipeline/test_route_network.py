"""``route`` through a network: what clients get and links carry is what the live network does."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs Spark")

import pyarrow as pa
import pyarrow.parquet as pq
from folders import EXAMPLES
from pipeline_oracle import frame_of, published, read_result, require_summary, totals_of
from workloads import example

from twigcast.errors import NetworkError, OverlayError, PipelineError
from twigcast.language import Subscription, parse
from twigcast.pipeline.route.job import route
from twigcast.pipeline.sources import SourceOptions
from twigcast.routing import NetworkPlan, read_network
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    generate_documents,
    generate_subscriptions,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BROKERS = ("london", "paris", "rome", "oslo", "bern")
WAYS: dict[str, dict[str, Any]] = {
    "by workers": {},
    "as JSON lines": {"format": "jsonl"},
    "by subscriber": {"partition_by_subscriber": True},
}


def write_network(folder: Path, strategy: str, producers: tuple[str, ...] = ("london",)) -> Path:
    """A ring of brokers with a tail; each has two clients, and some have producers."""
    lines = [f'strategy = "{strategy}"', f"brokers = {list(BROKERS)}"]
    ring = zip(BROKERS, (*BROKERS[1:4], BROKERS[0], BROKERS[2]), strict=True)
    for one, other in ring:
        lines += ["[[links]]", f"between = {sorted((one, other))}"]
    paths = PathParameters(length=5, wildcard=0.05, descendant=0.1)
    patterns = generate_subscriptions(example("news.dtd"), paths, seed=7)
    for broker in BROKERS:
        for number in range(2):
            texts = ", ".join(
                f"{key} = {json.dumps(str(pattern))}"
                for key, pattern in enumerate(islice(patterns, 12))
            )
            lines += ["[[clients]]", f'name = "{broker}-{number}"', f'broker = "{broker}"']
            lines.append(f"subscriptions = {{ {texts} }}")
    for broker in producers:
        dtd = json.dumps(str(EXAMPLES / "news.dtd"))
        lines += ["[[clients]]", f'name = "feed-{broker}"', f'broker = "{broker}"']
        lines.append(f'advertises = [{{ id = "feed", dtd = {dtd} }}]')
    path = folder / "network.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def some_documents(count: int) -> dict[str, bytes]:
    texts = generate_documents(example("news.dtd"), DocumentParameters(size=600), seed=8)
    return {f"d{number}": text for number, text in enumerate(islice(texts, count))}


@pytest.mark.parametrize(
    "strategy", ["advertisements-covering", "perfect-merging", "xnet", "flooding"]
)
def test_deliveries_and_traffic_are_those_of_the_live_network(
    spark: SparkSession, tmp_path: Path, strategy: str
) -> None:
    path = write_network(tmp_path, strategy)
    documents = some_documents(40)
    plan = read_network(path)
    deliveries, links = published(plan, documents, dict.fromkeys(documents, "feed-london"))
    assert deliveries
    assert sum(link[2] for link in links)
    out = tmp_path / "out"
    report = route(spark, frame_of(spark, documents, 3), network=str(path), output=str(out))
    found = read_result(out)
    assert found["deliveries"] == deliveries
    assert found["links"] == links
    assert found["rejected"] == []
    delivered = {row[0] for row in found["documents"] if row[4] == "delivered"}
    assert delivered == {row[0] for row in deliveries}
    require_summary(out)
    assert json.loads(json.dumps(report.totals.as_json())) == totals_of(found)
    assert report.subscriptions == sum(len(client.subscriptions) for client in plan.clients)
    assert report.warnings == ()


def test_a_network_of_units_is_routed_as_it_would_be_live(
    spark: SparkSession, tmp_path: Path
) -> None:
    dtd = json.dumps(str(EXAMPLES / "news.dtd"))
    wanted = iter(generate_subscriptions(example("news.dtd"), PathParameters(), seed=6))
    brokers = ["north/oslo/a", "north/oslo/b", "north/bergen/c", "south/d", "south/e"]
    lines = [
        f"brokers = {json.dumps(brokers)}",
        "[gateways]",
        '"north/oslo/a" = "north"',
        '"north/bergen/c" = "north/bergen"',
        '"south/d" = "south"',
    ]
    for one, other in ((0, 1), (0, 2), (0, 3), (3, 4)):
        lines += ["[[links]]", f"between = {json.dumps([brokers[one], brokers[other]])}"]
    for number, broker in enumerate(brokers):
        texts = ", ".join(
            f"{key} = {json.dumps(str(each))}" for key, each in enumerate(islice(wanted, 12))
        )
        lines += ["[[clients]]", f'name = "desk{number}"', f'broker = "{broker}"']
        lines.append(f"subscriptions = {{ {texts} }}")
    lines += ["[[clients]]", 'name = "feed"', 'broker = "north/oslo/b"']
    lines.append(f'advertises = [{{ id = "feed", dtd = {dtd} }}]')
    path = tmp_path / "network.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    documents = some_documents(30)
    plan = read_network(path)
    deliveries, links = published(plan, documents, dict.fromkeys(documents, "feed"))
    out = tmp_path / "out"
    route(spark, frame_of(spark, documents, 2), network=str(path), output=str(out))
    found = read_result(out)
    assert found["deliveries"] == deliveries
    assert found["links"] == links
    assert {link[5] for link in links} == {"", "north", "north/oslo", "south"}
    assert {link[5] for link in links if link[2]} > {"", "north/oslo"}

    near = published(plan, documents, dict.fromkeys(documents, "feed"), "north")
    assert 0 < len(near[0]) < len(deliveries)
    rows = [(name, bytearray(text), "north/oslo/b") for name, text in documents.items()]
    rows.append(("elsewhere", bytearray(b"<news/>"), "south/e"))
    frame = spark.createDataFrame(rows, "id string, content binary, at string")
    out = tmp_path / "near"
    with pytest.raises(NetworkError, match="choose a scope among: cluster, super-cluster, north/o"):
        route(spark, frame.drop("at"), network=str(path), output=str(out), scope="south")
    route(spark, frame, network=str(path), output=str(out), scope="north")
    found = read_result(out)
    assert (found["deliveries"], found["links"]) == near
    [(name, _, reason, *_)] = found["rejected"]
    assert name == "elsewhere"
    assert "the broker 'south/e' is in no unit 'north'" in reason


def test_what_imperfect_mergers_send_in_vain_is_counted_in_all_ways(
    spark: SparkSession, tmp_path: Path
) -> None:
    letters = "uvwxyz"
    leaves = "".join(f"<!ELEMENT {letter} EMPTY>" for letter in letters)
    (tmp_path / "r.dtd").write_text(f"<!ELEMENT r ({'|'.join(letters)})*>{leaves}")
    (tmp_path / "network.toml").write_text(
        'strategy = "imperfect-merging:0.6"\nbrokers = ["a", "b", "c", "d"]\n'
        + "".join(f'[[links]]\nbetween = ["{one}"]\n' for one in ('a", "b', 'b", "c', 'b", "d'))
        + '[[clients]]\nname = "feed"\nbroker = "a"\nadvertises = [{ id = "f", dtd = "r.dtd" }]\n'
        + '[[clients]]\nname = "one"\nbroker = "c"\nsubscriptions = { x = "/r/x", y = "/r/y" }\n'
        + '[[clients]]\nname = "two"\nbroker = "d"\nsubscriptions = { y = "/r/y", z = "/r/z" }\n'
    )
    children = [f"<{one}/>" for one in letters] + [f"<{one}/><y/>" for one in letters] + [""]
    documents = {f"d{n}": f"<r>{child}</r>".encode() for n, child in enumerate(children)}
    path = tmp_path / "network.toml"
    deliveries, links = published(read_network(path), documents, dict.fromkeys(documents, "feed"))
    assert sum(link[4] for link in links), "a strategy that wastes nothing shows nothing"
    assert any(0 < link[4] < link[2] for link in links)
    for name, way in WAYS.items():
        out = tmp_path / name
        route(spark, frame_of(spark, documents), network=str(path), output=str(out), **way)
        assert read_result(out)["deliveries"] == deliveries, name
        assert read_result(out)["links"] == links, name
        require_summary(out)


def test_documents_enter_where_their_column_says(spark: SparkSession, tmp_path: Path) -> None:
    path = write_network(tmp_path, "advertisements-covering", ("london", "oslo", "bern"))
    documents = some_documents(30)
    places = ("london", "oslo", "bern")
    place_of = {name: places[number % 3] for number, name in enumerate(documents)}
    producers = {name: f"feed-{place}" for name, place in place_of.items()}
    deliveries, links = published(read_network(path), documents, producers)
    rows: list[tuple[str, bytearray, str | None]] = [
        (name, bytearray(text), place_of[name]) for name, text in documents.items()
    ]
    rows.append(("lost", bytearray(b"<news/>"), "atlantis"))
    rows.append(("nowhere", bytearray(b"<news/>"), None))
    frame = spark.createDataFrame(rows, "id string, content binary, at string").repartition(2)
    for name, way in WAYS.items():
        out = tmp_path / name
        route(spark, frame, network=str(path), output=str(out), **way)
        found = read_result(out)
        assert found["deliveries"] == deliveries, name
        assert found["links"] == links, name
        told = {row[0]: row[2] for row in found["rejected"]}
        assert told.keys() == {"lost", "nowhere"}
        assert "atlantis" in told["lost"]
        require_summary(out)
    # The same from a file, whose column has another name.
    columns = {"id": list(documents), "xml": list(documents.values())}
    table = pa.table(columns | {"entry": list(place_of.values())})
    pq.write_table(table, tmp_path / "documents.parquet")
    options = SourceOptions(column="xml", id_column="id", at_column="entry")
    out = tmp_path / "from a file"
    given = str(tmp_path / "documents.parquet")
    route(spark, given, network=str(path), output=str(out), options=options)
    assert read_result(out)["deliveries"] == deliveries
    assert read_result(out)["links"] == links


def test_where_documents_enter_must_be_known(spark: SparkSession, tmp_path: Path) -> None:
    frame = frame_of(spark, {"d": b"<news/>"})
    out = tmp_path / "out"
    for producers in ((), ("london", "oslo")):
        path = write_network(tmp_path, "advertisements-covering", producers)
        with pytest.raises(PipelineError, match=r"broker.*(at|which)"):
            route(spark, frame, network=str(path), output=str(out))
    with pytest.raises(PipelineError, match=r"no broker 'atlantis'.*london"):
        route(spark, frame, network=str(path), output=str(out), at="atlantis")
    with pytest.raises(OverlayError, match="missing"):
        route(spark, frame, network=str(tmp_path / "missing.toml"), output=str(out))
    assert not out.exists()
    report = route(spark, frame, network=str(path), output=str(out), at="oslo")
    assert report.warnings == ()
    assert report.totals.rejected == 0


def test_a_broker_without_a_producer_is_warned_of(spark: SparkSession, tmp_path: Path) -> None:
    path = write_network(tmp_path, "advertisements-covering")
    frame = frame_of(spark, {"d": b"<news/>"})
    report = route(spark, frame, network=str(path), output=str(tmp_path / "out"), at="rome")
    (warning,) = report.warnings
    assert "rome" in warning


def plan_of(path: Path) -> NetworkPlan:
    path.write_text(
        'brokers = ["x", "y"]\n'
        '[[links]]\nbetween = ["x", "y"]\n'
        '[[clients]]\nname = "feed"\nbroker = "x"\nadvertises = [{ id = "f", anything = true }]\n'
        '[[clients]]\nname = "desk"\nbroker = "y"\nsubscriptions = { one = "//a" }\n'
    )
    return read_network(path)


def test_subscriptions_are_added_to_the_clients_that_they_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path / "network.toml")
    frame = frame_of(spark, {"d": b"<a/>", "e": b"<b/>"})
    wanted = [Subscription("two", parse("//b"), "desk"), Subscription("own", parse("//a"), "feed")]
    out = tmp_path / "out"
    report = route(spark, frame, network=plan, subscriptions=wanted, output=str(out))
    assert report.subscriptions == 3
    assert read_result(out)["deliveries"] == [
        ("d", "one", "desk", "y"), ("d", "own", "feed", "x"), ("e", "two", "desk", "y"),
    ]  # fmt: skip
    assert read_result(out)["links"] == [("x", "y", 2, 8, 0, ""), ("y", "x", 0, 0, 0, "")]


@pytest.mark.parametrize(
    ("wanted", "match"),
    [
        ([Subscription("k", parse("//a"), "nobody")], "'nobody'"),
        ([Subscription("k", parse("//a"))], "'k'"),
        ([Subscription("one", parse("//b"), "desk")], "'one'"),
        ([Subscription(*one, "desk") for one in (("k", parse("//a")), ("k", parse("//b")))], "'k'"),
    ],
)
def test_subscriptions_that_fit_no_client_are_an_error_before_any_work(
    spark: SparkSession, tmp_path: Path, wanted: list[Subscription], match: str
) -> None:
    plan = plan_of(tmp_path / "network.toml")
    out = tmp_path / "out"
    with pytest.raises((PipelineError, ValueError), match=match):
        route(
            spark,
            frame_of(spark, {"d": b"<a/>"}),
            network=plan,
            subscriptions=wanted,
            output=str(out),
        )
    assert not out.exists()


def test_a_network_of_one_broker(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "network.toml").write_text(
        'brokers = ["x"]\n'
        '[[clients]]\nname = "all"\nbroker = "x"\nsubscriptions = { k = "//a" }\n'
        'advertises = [{ id = "f", anything = true }]\n'
    )
    frame = frame_of(spark, {"d": b"<a/>"})
    for name in ("by workers", "as JSON lines"):
        out = tmp_path / name
        given = str(tmp_path / "network.toml")
        route(spark, frame, network=given, output=str(out), **WAYS[name])
        assert read_result(out)["deliveries"] == [("d", "k", "all", "x")], name
        assert read_result(out)["links"] == []
        require_summary(out)
