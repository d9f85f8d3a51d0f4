"""Any configuration file: what makes sense is read as it was written, the rest is refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from config_files import HASH, LISTS, NEWS, SECTIONS, written_file
from hypothesis import example, given
from hypothesis import strategies as st

from twigcast.broker.access import Access
from twigcast.broker.config import (
    BrokerConfig,
    LimitsConfig,
    Permission,
    read_config,
)
from twigcast.broker.safety import cautions, check_safe
from twigcast.broker.tokens import hash_token
from twigcast.errors import ConfigError
from twigcast.routing import STRATEGIES

names = st.from_regex(r"[a-z][a-z0-9.-]{0,8}", fullmatch=True)
counts = st.integers(1, 10**6)
permissions = st.lists(st.sampled_from([each.value for each in Permission]), min_size=1)
addresses = st.builds(
    "{}:{}".format,
    st.from_regex(r"[a-z]{1,5}(\.[a-z]{1,5})?", fullmatch=True),
    st.integers(1, 65535),
)


@st.composite
def good_files(draw: st.DrawFn) -> dict[str, Any]:
    """The content of a configuration that makes sense, every key optional."""
    limits = {each.name: draw(counts) for each in fields(LimitsConfig)}
    limits["expression_length"] = draw(st.integers(1, 20_000))
    limits["expression_steps"] = draw(st.integers(1, 500))
    limits["document_bytes"] = min(limits["document_bytes"], limits["message_bytes"])
    interval = draw(st.floats(0.001, 10))
    folder = draw(st.sampled_from(["", "/data"]))
    url = "" if folder else draw(st.sampled_from(["", "postgresql://ann@db/news"]))
    listen = draw(st.sampled_from(["127.0.0.1:0", "[::1]:1", "0.0.0.0:9"]))
    may_be_a_door = url and not listen.endswith(":0")
    principals = draw(st.lists(names, unique=True, max_size=3))
    unit = draw(st.sampled_from(["", "north", "north/oslo"]))
    gateways = [False, True, unit] if unit and (folder or url) else [False]
    rules = st.fixed_dictionaries({"who": names, "allow": permissions})
    return {
        "name": draw(names),
        "unit": unit,
        "gateway": draw(st.sampled_from(gateways)),
        "listen": listen,
        "http": draw(st.sampled_from(["", "localhost:80"])),
        "strategy": draw(st.sampled_from(list(STRATEGIES))),
        "links": draw(
            st.lists(
                st.fixed_dictionaries({"address": addresses, "cost": st.floats(0.1, 10)}),
                max_size=3,
                unique_by=lambda link: link["address"],
            )
        ),
        "store": {
            "folder": folder,
            "url": url,
            "door": draw(st.sampled_from(["", "rome-1.example"])) if may_be_a_door else "",
            "keep": draw(st.sampled_from(["durable", "all"])),
            "sync": draw(st.sampled_from(["full", "normal"])),
            "retention_age": draw(counts),
            "acknowledged_age": draw(st.floats(0, 1e6)),
            "retention_size": draw(counts),
            "publisher_size": draw(counts),
            "queue_documents": draw(counts),
            "full": draw(st.sampled_from(["refuse", "hold"])),
            "unrouted": draw(st.booleans()),
        },
        "limits": limits,
        "tls": draw(st.sampled_from([{}, {"certificate": "/a", "key": "/b"}, {"ca": "/c"}])),
        "heartbeat": {"interval": interval, "suspect_after": 2 * interval},
        "access": {"anonymous": draw(permissions), "insecure": draw(st.booleans())},
        "principals": [{"name": name, "token": hash_token(name)} for name in principals],
        "rules": draw(st.lists(rules, max_size=3)) if principals else [],
    }


def read_values(values: Mapping[str, object]) -> BrokerConfig:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "broker.toml"
        path.write_text(written_file(values), encoding="utf-8")
        return read_config(path)


def plainly(value: object) -> object:
    """A configuration as the values from which a file is written."""
    if isinstance(value, Permission):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, Mapping):
        return {key: plainly(each) for key, each in value.items()}
    if isinstance(value, frozenset):
        return {plainly(each) for each in value}
    return [plainly(each) for each in value] if isinstance(value, tuple) else value


@given(good_files())
def test_what_is_written_is_what_is_read(values: dict[str, Any]) -> None:
    found = plainly(asdict(read_values(values)))
    assert isinstance(found, dict)
    for key in ("name", "unit", "gateway", "listen", "http", "strategy", "limits", "heartbeat"):
        assert found[key] == values[key]
    assert [(each["address"], each["cost"]) for each in found["links"]] == [
        (each["address"], each["cost"]) for each in values["links"]
    ]
    assert found["store"] == values["store"] | {"folder": values["store"]["folder"] or None}
    assert {key: value for key, value in found["tls"].items() if value} == values["tls"]
    assert found["access"]["anonymous"] == set(values["access"]["anonymous"])
    assert found["access"]["insecure"] == values["access"]["insecure"]
    assert [(each["name"], each["tokens"]) for each in found["principals"]] == [
        (each["name"], [each["token"]]) for each in values["principals"]
    ]
    assert [(each["who"], each["allow"]) for each in found["rules"]] == [
        (each["who"], set(each["allow"])) for each in values["rules"]
    ]


def error_of(act: Callable[[BrokerConfig], object], found: BrokerConfig) -> str:
    """The key that an act complains of, if any."""
    try:
        act(found)
    except ConfigError as error:
        return error.where
    return ""


def settles(text: str) -> None:
    """Reading this gives a configuration or a ConfigError; everything else fails the test."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "news.dtd").write_text(NEWS, encoding="utf-8")
        (folder / "broker.toml").write_text(text, encoding="utf-8")
        try:
            found = read_config(folder / "broker.toml")
        except ConfigError as error:
            found, said = None, error
    if found is None:
        assert said.reason
        assert said.path
        return
    assert error_of(check_safe, found) in ("", "listen", "http")
    assert error_of(cautions, found) == ""
    assert error_of(Access, found) == ""
    assert found.name_at(1)


KEYS = [
    *(field.name for field in fields(BrokerConfig)),
    *(field.name for made in SECTIONS.values() for field in fields(made)),
    *(key for keys in LISTS.values() for key in keys),
]
WORDS = [
    *(each.value for each in Permission),
    *("", "*", "127.0.0.1:0", "0.0.0.0:1", "[::1]:7400", "7d", "4MB", "all", "full", "news.dtd"),
    *("broker.toml", ".", "\0", "Q{urn:x}a", "[", "**", HASH, "twc_token"),
]
words = st.sampled_from(WORDS) | st.text(st.characters(codec="utf-8"), max_size=8)
scalars = (
    words | st.booleans() | st.integers() | st.floats() | st.sampled_from([2**63, 10**400, 0, 1])
)
anything = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | words, inner, max_size=4)
    ),
    max_leaves=12,
)


def sections() -> st.SearchStrategy[dict[str, object]]:
    """Known sections with known keys, and any values."""
    found: dict[str, st.SearchStrategy[object]] = {
        field.name: scalars for field in fields(BrokerConfig)
    }
    for name, made in SECTIONS.items():
        found[name] = st.dictionaries(
            st.sampled_from([field.name for field in fields(made)]), anything, max_size=3
        )
    for name, keys in LISTS.items():
        entry = st.dictionaries(st.sampled_from(keys), anything, max_size=4)
        found[name] = st.lists(entry, max_size=2)
    return st.fixed_dictionaries({}, optional=found)


@given(sections() | st.dictionaries(st.sampled_from(KEYS), anything, max_size=4))
def test_any_values_are_a_configuration_or_an_error(values: dict[str, object]) -> None:
    settles(written_file(values))


@given(good_files(), st.data())
def test_a_good_file_with_one_odd_value_is_a_configuration_or_an_error(
    values: dict[str, Any], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from(list(values)))
    inside = values[key][0] if isinstance(values[key], list) and values[key] else values[key]
    if isinstance(inside, dict) and inside:
        inside[data.draw(st.sampled_from(list(inside)))] = data.draw(anything)
    else:
        values[key] = data.draw(anything)
    settles(written_file(values))


fragments = st.sampled_from(
    [
        *("[", "]", "[[", "]]", "=", "\n", '"', "'", ".", ",", "{", "}", "#", " ", "-", "1", "e"),
        *("inf", "nan", "true", "2020-02-30", "12:00:00", '"""', "0x", "\\u", "\0", "é"),
        *KEYS,
        *(f"[{name}]\n" for name in SECTIONS),
        *(f"[[{name}]]\n" for name in LISTS),
    ]
)


@given(st.lists(fragments, max_size=20).map("".join) | st.text(max_size=30))
@example("links.a = 1")
@example("[[store]]\nfolder = 'a'")
@example("listen = 2020-01-01")
def test_any_text_is_a_configuration_or_an_error(text: str) -> None:
    settles(text.encode("utf-8", "replace").decode())
