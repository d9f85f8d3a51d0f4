"""No keyword argument is passed over: an unknown one is named, with the nearest right one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import twigcast
from twigcast import workload
from twigcast.keywords import exact_keywords, refuse_unknown, require

pipeline = pytest.importorskip("twigcast.pipeline", reason="needs the spark extra")

CONSTRUCTED = (
    twigcast.Matcher,
    twigcast.Schema,
    twigcast.CoverIndex,
    twigcast.DocumentLimits,
    twigcast.LanguageLimits,
    workload.DocumentParameters,
    workload.PathParameters,
    workload.TreeParameters,
    workload.ValueParameters,
    pipeline.SourceOptions,
)
"""Classes that people make, of those at the doors."""


def door_functions() -> Iterator[Callable[..., Any]]:
    """What people call with keyword arguments."""
    yield from (
        value for name in twigcast.__all__ if inspect.isfunction(value := getattr(twigcast, name))
    )
    yield from CONSTRUCTED
    yield from (workload.generate_documents, workload.generate_subscriptions)
    yield twigcast.Schema.from_dtd
    yield twigcast.Schema.from_xsd
    yield twigcast.Schema.from_documents
    yield twigcast.Schema.of
    for name in ("archive", "compact", "cover", "query", "read_documents", "start_session"):
        yield getattr(pipeline, name)


def optional_names(function: Callable[..., Any]) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    kinds = (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [each.name for each in parameters if each.kind in kinds and len(each.name) > 3]


@pytest.mark.parametrize("function", list(door_functions()), ids=lambda each: each.__qualname__)
def test_a_misspelt_keyword_is_named_with_the_nearest(function: Callable[..., Any]) -> None:
    for name in optional_names(function):
        misspelt = name[:-2] + name[-1]
        if misspelt in optional_names(function):
            continue
        with pytest.raises(TypeError, match=rf"{misspelt!r}; did you mean {name!r}\?"):
            function(**{misspelt: None})


@pytest.mark.parametrize("function", [pipeline.route, pipeline.prepare_route, pipeline.stream])
def test_settings_are_refused_before_spark_is_asked(function: Callable[..., Any]) -> None:
    with pytest.raises(TypeError, match=r"'outptu'; did you mean 'output'\?"):
        function(None, "documents", outptu="result")
    with pytest.raises(TypeError, match=r"needs the keyword argument 'output', such as output="):
        function(None, "documents", subscriptions="subscriptions.txt")
    with pytest.raises(TypeError, match=r"'column'; write options=SourceOptions\(column=…\)"):
        function(None, "documents", output="result", column="xml")


def test_route_names_the_misspelt_setting() -> None:
    with pytest.raises(TypeError, match=r"route\(\) has no keyword argument 'overwite'; did you"):
        pipeline.route(None, "documents", output="result", overwite=True)


def test_what_has_no_nearest_name_is_answered_with_all() -> None:
    with pytest.raises(
        TypeError, match=r"f\(\) has no keyword argument 'zzz'; it takes alpha, beta"
    ):
        refuse_unknown(["alpha", "zzz"], ["alpha", "beta"], "f()")
    refuse_unknown(["alpha"], ["alpha", "beta"], "f()")
    require(["alpha"], {"alpha": "alpha=1"}, "f()")


def test_another_type_error_stays_what_it_is() -> None:
    @exact_keywords
    def call(*, value: int = 0) -> int:
        return value + "1"  # type: ignore[operator]

    with pytest.raises(TypeError, match="unsupported operand"):
        call(value=1)
