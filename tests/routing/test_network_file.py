"""Network files: what is read, what is written, and what is said of mistakes."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from pathlib import Path

import pytest
from folders import ROOT
from hypothesis import given
from hypothesis import strategies as st

from twigcast.errors import OverlayError, SubscriptionWarning
from twigcast.language import parse
from twigcast.routing.network_file import ClientPlan, NetworkPlan, read_network
from twigcast.routing.overlay import Link, LinkTraits, Overlay
from twigcast.routing.promises import ANYTHING
from twigcast.routing.strategy import STRATEGIES, Strategy
from twigcast.schema import Advertisement, Schema

DTD = "<!ELEMENT news (item*)><!ELEMENT item (#PCDATA)>"
TWO = """
brokers = ["london", "paris"]
[[links]]
between = ["london", "paris"]
"""
THREE = TWO.replace("[", '["rome", ', 1)
CLIENT = '[[clients]]\nname = "desk"\nbroker = "paris"\n'


def read(folder: Path, text: str) -> NetworkPlan:
    path = folder / "net.toml"
    path.write_text(text, encoding="utf-8")
    return read_network(path)


def only_client(folder: Path, text: str) -> ClientPlan:
    (client,) = read(folder, TWO + CLIENT + text).clients
    return client


# --- what is read ----------------------------------------------------------------------------


def test_the_example_of_the_page_is_read_as_it_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "routing.md").read_text(encoding="utf-8")
    text = page.partition("## Network files")[2].partition("```toml\n")[2].partition("```")[0]
    (tmp_path / "news.dtd").write_text(DTD, encoding="utf-8")
    (tmp_path / "desk8.txt").write_text("sport\t//sport\n//news\n", encoding="utf-8")
    plan = read(tmp_path, text)
    assert plan.strategy == Strategy(most_patterns=1000)
    assert plan.overlay.gateways == {}
    assert list(plan.overlay) == ["london", "paris", "rome"]
    assert plan.overlay.links == {
        Link("london", "paris"): LinkTraits(2.5, 0.012),
        Link("paris", "rome"): LinkTraits(1.0, 0.001),
    }
    desk, other, agency = plan.clients
    cap = {"cap": "urn:oasis:names:tc:emergency:cap:1.2"}
    assert desk == ClientPlan(
        "desk-7",
        "rome",
        {"quotes": parse("//Stock[Price>15]"), "alerts": parse("//cap:alert", cap)},
    )
    assert other == ClientPlan("desk-8", "rome", {"sport": parse("//sport"), "2": parse("//news")})
    assert agency.broker == "london"
    feed = agency.advertisements["feed"]
    assert isinstance(feed, Schema)
    assert feed.root == "news"
    assert agency.advertisements["quotes"] == Advertisement.parse("/Quotes(/Group)+/Stock")
    assert agency.advertisements["rest"] == ANYTHING


def test_brokers_alone_are_a_network(tmp_path: Path) -> None:
    assert read(tmp_path, 'brokers = ["only"]') == NetworkPlan(Overlay(["only"], []))


@pytest.mark.parametrize("name", [*STRATEGIES, "imperfect-merging:0.25"])
def test_every_strategy_has_its_name(tmp_path: Path, name: str) -> None:
    plan = read(tmp_path, f'strategy = "{name}"\nbrokers = ["a"]')
    assert plan.strategy == Strategy.named(name)


def test_a_byte_order_mark_and_foreign_line_ends_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "net.toml"
    path.write_bytes(b"\xef\xbb\xbf" + TWO.replace("\n", "\r\n").encode())
    assert len(read_network(str(path)).overlay.links) == 1


def test_a_dtd_is_read_once_and_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.dtd").write_text(DTD, encoding="utf-8")
    (tmp_path / "within").mkdir()
    opened: list[object] = []
    from_dtd = Schema.from_dtd

    def counted(path: Path, root: str | None = None) -> Schema:
        opened.append(path)
        return from_dtd(path, root)

    monkeypatch.setattr(Schema, "from_dtd", staticmethod(counted))
    promises = only_client(
        tmp_path,
        """advertises = [
            { id = "plain", dtd = "a.dtd" },
            { id = "named", dtd = "within/../a.dtd", root = "news" },
            { id = "other", dtd = "a.dtd", root = "item" },
            { id = "again", dtd = "a.dtd" },
        ]""",
    ).advertisements
    assert len(opened) == 1
    assert promises["plain"] is promises["named"] is promises["again"]
    other = promises["other"]
    assert isinstance(other, Schema)
    assert other.root == "item"


def test_an_xsd_is_read_once_for_each_root(tmp_path: Path) -> None:
    (tmp_path / "a.xsd").write_text(
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
        '<xs:element name="a"/><xs:element name="b" type="xs:int"/></xs:schema>'
    )
    promises = only_client(
        tmp_path,
        """advertises = [
            { id = "one", xsd = "a.xsd", root = "a" },
            { id = "two", xsd = "a.xsd", root = "b" },
            { id = "again", xsd = "a.xsd", root = "b" },
        ]""",
    ).advertisements
    assert promises["two"] is promises["again"]
    roots = [each.root for each in promises.values() if isinstance(each, Schema)]
    assert roots == ["a", "b", "b"]


def test_the_files_of_a_network_are_found_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("-").write_text("key\t//a\n", encoding="utf-8")
    Path("net.toml").write_text(TWO + CLIENT + 'subscriptions_file = "-"', encoding="utf-8")
    (client,) = read_network("net.toml").clients
    assert client.subscriptions == {"key": parse("//a")}


# --- what is read ------------------------------------------------------------------------------

names = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8),
    st.text("\"\\'\x00\x7f\x1f\t\r\n\u0085\u2028#[]= é漢😀", min_size=1, max_size=6),
)
costs = st.floats(min_value=0, exclude_min=True, allow_infinity=False)
latencies = st.floats(min_value=0, allow_infinity=False)


@st.composite
def overlays(draw: st.DrawFn) -> Overlay:
    brokers = draw(st.lists(names, min_size=1, max_size=6, unique=True))
    pairs = [(one, other) for one in brokers for other in brokers if one < other]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=6)) if pairs else []
    return Overlay(brokers, {pair: LinkTraits(draw(costs), draw(latencies)) for pair in chosen})


def written(overlay: Overlay, strategy: Strategy) -> str:
    """The text of a network file."""

    def quoted(*texts: str) -> str:
        # JSON escapes what TOML wants escaped, but for one character.
        return json.dumps(texts, ensure_ascii=False).replace("\x7f", "\\u007f")

    lines = [f"strategy = {quoted(strategy.name)[1:-1]}", f"brokers = {quoted(*overlay)}"]
    for link, traits in overlay.links.items():
        lines += ["[[links]]", f"between = {quoted(*link)}", f"cost = {traits.cost!r}"]
        lines.append(f"latency_ms = {Decimal(repr(traits.latency)).scaleb(3).normalize()}")
    return "\n".join(lines)


@given(overlays(), st.sampled_from([*STRATEGIES.values(), Strategy(merging=0.25)]))
def test_names_and_numbers_are_read_to_the_last_bit(
    tmp_path_factory: pytest.TempPathFactory, overlay: Overlay, strategy: Strategy
) -> None:
    path = tmp_path_factory.mktemp("net") / "net.toml"
    path.write_text(written(overlay, strategy), encoding="utf-8")
    plan = read_network(path)
    assert plan == NetworkPlan(overlay, strategy)
    assert plan.overlay.brokers == overlay.brokers
    assert {traits.latency for traits in plan.overlay.links.values()} == {
        traits.latency for traits in overlay.links.values()
    }


# --- mistakes --------------------------------------------------------------------------------

MISTAKES = {
    "brokers = ]": "this is not TOML: .*line 1",
    "": r"brokers: this is missing; write a list in brackets, as in",
    'broker = ["a"]': "broker: this key is not known; did you mean 'brokers'",
    'x = 1\nbrokers = ["a"]': "x: this key is not known; known: brokers, strategy",
    "brokers = []": "brokers: this is a list of 0; name them",
    'brokers = "a"': "brokers: this is 'a'; write a list in brackets",
    "brokers = [1]": "brokers, entry 1: this is 1; write a text",
    'brokers = [""]': "brokers, entry 1: this is an empty text",
    'brokers = ["a", "a"]': "brokers: 'a' stands there twice",
    'brokers = ["a"]\nstrategy = 1': "toml: strategy: this is 1; write .* as in strategy = ",
    'brokers = ["a"]\nstrategy = "flood"': "toml: strategy: there is .* 'flood'; choose one of",
    'brokers = ["a"]\nstrategy = "imperfect-merging:2"': "is a number from 0 to 1, not '2'",
    'brokers = ["a"]\nlinks = 3': r"links: this is 3; write \[\[links\]\]",
    'brokers = ["a"]\nlinks = [3]': "links, entry 1: this is 3; write a table with between, cost",
    'brokers = ["a"]\nclients = {}': r"clients: this is a table; write \[\[clients\]\]",
    'brokers = ["a"]\ncost = 1e99999999999999999999': "a number is too large",
    f"brokers = {'[' * 5000}{']' * 5000}": "nested too deep",
}
LINK_MISTAKES = {
    "": "between: this is missing; write a list of 2",
    'between = ["london"]': "between: this is a list of 1; write a list of 2 in brackets, as in",
    'between = ["london", 1]': "between, entry 2: this is 1; write a text",
    'between = ["london", "pari"]': "no broker 'pari'; did you mean 'paris'",
    'between = ["london", "xyz"]': "no broker 'xyz'; add it to brokers",
    'between = ["london", "london"]': "'london' is linked to itself",
    'between = ["paris", "london"]': "'london' and 'paris' are linked already",
    'between = ["rome", "paris"]\nlatency = 3': "latency: .* not known; did you mean 'latency_ms'",
    'between = ["rome", "paris"]\ncost = "2"': "cost: this is '2'; write a number",
    'between = ["rome", "paris"]\ncost = true': "cost: this is true; write a number",
    'between = ["rome", "paris"]\ncost = 0': "cost: this is 0; write a number above 0",
    'between = ["rome", "paris"]\ncost = 1e-999': "cost: this is 1E-999; write a number above 0",
    'between = ["rome", "paris"]\ncost = nan': "cost: this is NaN; write a number above 0",
    'between = ["rome", "paris"]\nlatency_ms = -1.5': "latency_ms: this is -1.5; write a number of",
    'between = ["rome", "paris"]\nlatency_ms = 1e999999': "latency_ms: this is .*; write a number",
    'between = ["rome", "paris"]\nlatency_ms = 2020-01-01': "this is a date or a time; write a num",
}
CLIENT_MISTAKES = {
    'name = "two"': "broker: this is missing; write a text in quotes, as in broker = ",
    'name = "desk"\nbroker = "paris"': r"entry 2 \('desk'\): another client has that name",
    'name = "rome"\nbroker = "paris"': "a broker has that name; give the client another",
    'broker = "paris"': "entry 2, name: this is missing",
    'name = ""\nbroker = "paris"': "name: this is an empty text",
    'name = "two"\nbroker = "Paris"': "no broker 'Paris'; did you mean 'paris'",
    'name = "two"\nbroker = "paris"\nsubscription = {}': "did you mean 'subscriptions'",
}
WISH_MISTAKES = {
    'subscriptions = "//a"': "subscriptions: this is '//a'; write a table, as in subscriptions = {",
    "subscriptions = { a = 1 }": "subscriptions, a: this is 1; write",
    'subscriptions = { k = "//a[" }': r"subscriptions, k: .*\n.*//a\[",
    'subscriptions = { k = "//p:a" }': "subscriptions, k: .*p",
    'subscriptions = { k = "a" }\nnamespaces = { p = 1 }': "namespaces, p: this is 1",
    'subscriptions = { k = "a" }\nnamespaces = { xml = "u" }': "belong together",
    'subscriptions_file = "none.txt"': r"none\.txt: No such file",
    'subscriptions_file = "bad.txt"': r"bad\.txt, line 1: ",
    'subscriptions_file = "a\\u0000"': "write the path of a file",
    'subscriptions_file = "bad.txt"\nsubscriptions = {}': "do not go together",
    'subscriptions_file = "bad.txt"\nnamespaces = {}': "do not go together",
    'subscriptions_file = "bad.txt"\nvariables = {}': "do not go together",
    'subscriptions_file = "bad.txt"\nversion = "2.0"': "do not go together",
    'subscriptions = { k = "//a[b = $x]" }': r"subscriptions, k: the variable \$x is not bound",
    'subscriptions = { k = "a" }\nvariables = 5': "write a table, as in variables = { limit = 5 }",
    'subscriptions = { k = "a" }\nvariables = { x = { y = 1 } }': r"\$x is a text, a number",
    'subscriptions = { k = "a" }\nversion = 2.0': 'write a text in quotes, as in version = "2.0"',
    'subscriptions = { k = "a" }\nversion = "3.1"': "'1.0' or '2.0'",
    'subscriptions = { k = "a" }\nrelative_to = "root"': "'anywhere' or 'document'",
    "advertises = true": r"advertises: this is true; write a list .* as in advertises = \[",
    "advertises = [{ anything = true }]": "advertises, entry 1, id: this is missing",
    'advertises = [{ id = "x" }]': r"entry 1 \('x'\): this promises nothing; choose one of",
    'advertises = [{ id = "x", anything = false }]': "this promises nothing",
    'advertises = [{ id = "x", path = "/a", anything = true }]': "this promises path and anything",
    'advertises = [{ id = "x", path = "/a", root = "a" }]': "root is the root element of a schema",
    'advertises = [{ id = "x", path = "/a(" }]': r"entry 1 \('x'\): .*\n.*/a\(",
    'advertises = [{ id = "x", dtd = "none.dtd" }]': r"none\.dtd: No such file",
    'advertises = [{ id = "x", dtd = "bad.txt" }]': r"bad\.txt: ",
    'advertises = [{ id = "x", dtd = "a.dtd", root = "z" }]': "no element 'z' to be the root",
    'advertises = [{ id = "x", anything = true }, { id = "x", anything = true }]': "has that id",
    'advertises = [{ id = "x", dtb = "a.dtd" }]': "dtb: this key is not known; did you mean 'dtd'",
}


def refused(folder: Path, text: str) -> str:
    with pytest.raises(OverlayError) as caught:
        read(folder, text)
    message = str(caught.value)
    assert message.startswith(f"{folder / 'net.toml'}: ")
    assert message.count("net.toml") == 1
    return message


@pytest.mark.parametrize("text", MISTAKES, ids=range(len(MISTAKES)))
def test_mistakes_in_the_file_are_explained(tmp_path: Path, text: str) -> None:
    assert re.search(MISTAKES[text], refused(tmp_path, text))


@pytest.mark.parametrize("text", LINK_MISTAKES, ids=range(len(LINK_MISTAKES)))
def test_mistakes_in_a_link_are_explained(tmp_path: Path, text: str) -> None:
    file = f"{THREE}[[links]]\n{text}"
    message = refused(tmp_path, file)
    assert "toml: links, entry 2" in message
    assert re.search(LINK_MISTAKES[text], message)


@pytest.mark.parametrize("text", CLIENT_MISTAKES, ids=range(len(CLIENT_MISTAKES)))
def test_mistakes_in_a_client_are_explained(tmp_path: Path, text: str) -> None:
    file = f"{THREE}{CLIENT}[[clients]]\n{text}"
    message = refused(tmp_path, file)
    assert "toml: clients, entry 2" in message
    assert re.search(CLIENT_MISTAKES[text], message)


@pytest.mark.parametrize("text", WISH_MISTAKES, ids=range(len(WISH_MISTAKES)))
def test_mistakes_in_what_a_client_wants_are_explained(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.dtd").write_text(DTD, encoding="utf-8")
    (tmp_path / "bad.txt").write_text("key\t//a[\n", encoding="utf-8")
    message = refused(tmp_path, TWO + CLIENT + text)
    assert "toml: clients, entry 1 ('desk')" in message
    assert re.search(WISH_MISTAKES[text], message)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(OverlayError, match=r"net\.toml: No such file.*; give the path"):
        read_network(tmp_path / "net.toml")
    (tmp_path / "net.toml").write_bytes(b'brokers = ["\xff"]')
    with pytest.raises(OverlayError, match=r"net\.toml: this is not UTF-8 text .*byte 12"):
        read_network(tmp_path / "net.toml")


def test_a_binding_of_a_client_serves_all_its_subscriptions(tmp_path: Path) -> None:
    text = (
        'namespaces = { p = "urn:p", q = "urn:q", "" = "urn:d" }\n'
        'subscriptions = { one = "//p:a", two = "//b[c > \'x\']" }\n'
    )
    with pytest.warns(SubscriptionWarning) as caught:
        client = only_client(tmp_path, text)
    assert client.subscriptions["one"] == parse("//Q{urn:p}a")
    never, unused = [str(each.message) for each in caught]
    assert "subscriptions, two: this comparison never holds" in never
    assert unused.endswith("the prefix q is bound to urn:q and not used")


def test_variables_and_choices_of_a_client(tmp_path: Path) -> None:
    text = (
        'variables = { limit = 0.5, day = 2026-01-31, kinds = ["A", "B"], other = true }\n'
        'relative_to = "document"\nversion = "2.0"\n'
        "subscriptions = { one = 'a[b > $limit]', two = 'a[b = $kinds][xs:date(c) < $day]' }\n"
    )
    with pytest.warns(SubscriptionWarning, match=r"\$other is bound and not used"):
        client = only_client(tmp_path, text)
    assert str(client.subscriptions["one"]) == "/a[xpath-2.0(b>0.5)]"
    assert 'xs:date("2026-01-31")' in str(client.subscriptions["two"])
