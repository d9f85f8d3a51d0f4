"""The configuration of a broker: what is read, what is refused and how, and what is safe."""

from __future__ import annotations

import re
import tomllib
from dataclasses import fields, replace
from pathlib import Path

import pytest
from config_files import HASH, LISTS, NEWS, SECTIONS, written
from folders import ROOT

from twigcast.broker.config import (
    AccessConfig,
    BrokerConfig,
    Permission,
    PrincipalConfig,
    RuleConfig,
    TlsConfig,
    read_config,
)
from twigcast.broker.link_config import LinkConfig
from twigcast.broker.safety import cautions, check_safe
from twigcast.broker.store_config import StoreConfig
from twigcast.broker.tokens import hash_token, new_token
from twigcast.errors import ConfigError
from twigcast.routing import STRATEGIES
from twigcast.schema import Schema

TWO_ROOTS = "<!ELEMENT nitf (body)><!ELEMENT body EMPTY><!ELEMENT other EMPTY>"
OTHER_HASH = hash_token("twc_two")
PRINCIPAL = f'[[principals]]\nname = "desk"\ntoken = "{HASH}"\n'
DESK = PrincipalConfig("desk", (HASH,))


def read(folder: Path, text: str) -> BrokerConfig:
    path = folder / "broker.toml"
    path.write_text(text, encoding="utf-8")
    return read_config(path)


def refused(folder: Path, text: str) -> ConfigError:
    with pytest.raises(ConfigError) as error:
        read(folder, text)
    assert error.value.path == str(folder / "broker.toml")
    assert str(error.value).startswith(error.value.path)
    return error.value


def documented() -> str:
    page = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
    [block] = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    return str(block)


# --- what is read ----------------------------------------------------------------------------


def test_an_empty_file_is_the_default(tmp_path: Path) -> None:
    assert read(tmp_path, "") == BrokerConfig()
    assert read(tmp_path, "\ufeff# nothing") == BrokerConfig()


def test_the_example_of_the_page_is_read_as_it_says(tmp_path: Path) -> None:
    (tmp_path / "paris.token").write_text("twc_shown\n", encoding="utf-8")
    (tmp_path / "desk-7.hashes").write_text(
        f"# old\n{HASH}\n\n  # new\n{OTHER_HASH}\n", encoding="utf-8"
    )
    (tmp_path / "news.dtd").write_text(NEWS, encoding="utf-8")
    (tmp_path / "nitf.dtd").write_text(TWO_ROOTS, encoding="utf-8")
    config = read(tmp_path, documented())
    assert config == BrokerConfig(
        name="rome",
        unit="south/italy",
        links=(LinkConfig("paris.example:7400", 1.0, "paris", "twc_shown", "north/france/paris"),),
        tls=TlsConfig(
            tmp_path / "rome.pem", tmp_path / "rome.key", tmp_path / "authority.pem", True
        ),
        access=AccessConfig(frozenset({Permission.SUBSCRIBE})),
        principals=(
            PrincipalConfig("desk-7", (hash_token("test"), HASH, OTHER_HASH), "desk-7.example"),
        ),
        rules=(
            RuleConfig(
                "desk-*",
                frozenset(Permission),
                frozenset({("", "nitf"), ("urn:x", "alert")}),
                to=("north/*:inbox-*",),
                durable=("desk-*",),
                brokers=("rome-*",),
            ),
            RuleConfig(
                "agency",
                frozenset({Permission.PUBLISH}),
                schemas=(Schema.from_dtd(NEWS), Schema.from_dtd(TWO_ROOTS, "nitf")),
            ),
        ),
    )


def test_a_rule_may_name_an_xsd(tmp_path: Path) -> None:
    text = (
        '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema">'
        '<xs:element name="a" type="xs:int"/><xs:element name="b"/></xs:schema>'
    )
    (tmp_path / "a.xsd").write_text(text)
    rule = "allow = ['publish']\nschemas = [{xsd = 'a.xsd', root = 'b'}]"
    config = read(tmp_path, f"{PRINCIPAL}[[rules]]\nwho = 'a'\n{rule}")
    assert config.rules[0].schemas == (Schema.from_xsd(text, "b"),)


def test_the_example_tells_every_key_and_the_defaults(tmp_path: Path) -> None:
    told = tomllib.loads(documented())
    assert set(told) == {field.name for field in fields(BrokerConfig)}
    for section, made in SECTIONS.items():
        assert set(told[section]) == {field.name for field in fields(made)}
    for section, keys in LISTS.items():
        assert {key for entry in told[section] for key in entry} == set(keys)
    plain = "\n".join(
        [
            f"{key} = {written(told[key])}"
            for key in (
                "gateway",
                "most_patterns",
                "listen",
                "http",
                "http_hosts",
                "strategy",
                "reader",
            )
        ]
        + [
            f"[{section}]\n" + "\n".join(f"{k} = {written(v)}" for k, v in told[section].items())
            for section in ("store", "limits", "heartbeat")
        ]
    )
    assert read(tmp_path, plain) == BrokerConfig()


@pytest.mark.parametrize(
    ("keys", "name", "outermost"),
    [
        ("", "b", None),
        ("unit = 'north/oslo'", "north/oslo/b", None),
        ("unit = 'north/oslo'\ngateway = true", "north/oslo/b", "north/oslo"),
        ("unit = 'north/oslo'\ngateway = 'north/oslo'", "north/oslo/b", "north/oslo"),
        ("unit = 'north/oslo'\ngateway = 'north'", "north/oslo/b", "north"),
        ("unit = 'a/b/c'\ngateway = 'a'", "a/b/c/b", "a"),
        ("unit = 'north'\ngateway = ''", "north/b", None),
    ],
)
def test_a_broker_in_a_unit(tmp_path: Path, keys: str, name: str, outermost: str | None) -> None:
    config = read(tmp_path, f"name = 'b'\n{keys}\n[store]\nfolder = 'kept'")
    assert (config.name_at(), config.gateway_of) == (name, outermost)


def test_a_name_that_is_made_from_the_address_is_in_its_unit_too(tmp_path: Path) -> None:
    assert read(tmp_path, "unit = 'north'").name_at(5) == "north/127.0.0.1-5"


def test_paths_are_found_from_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("inner").mkdir()
    Path("inner/broker.toml").write_text('store = { folder = "data" }', encoding="utf-8")
    assert read_config("inner/broker.toml").store.folder == tmp_path / "inner" / "data"
    Path("inner/broker.toml").write_text('store = { folder = "/data" }', encoding="utf-8")
    assert read_config("inner/broker.toml").store.folder == Path("/data")


@pytest.mark.parametrize("name", [*STRATEGIES, "imperfect-merging:0.25"])
def test_every_strategy_can_be_chosen(tmp_path: Path, name: str) -> None:
    assert read(tmp_path, f'strategy = "{name}"').strategy == name


def test_anonymous_access_that_is_not_mentioned_differs_from_none(tmp_path: Path) -> None:
    assert read(tmp_path, "[access]").access.anonymous is None
    assert read(tmp_path, "[access]\nanonymous = []").access.anonymous == frozenset()


# --- what is refused -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "where", "reason"),
    [
        ("nmae = 'a'", "nmae", "did you mean 'name'?"),
        ("xyzzy = 'a'", "xyzzy", "known: name, unit"),
        ("name = 5", "name", "this is 5; write a text"),
        ("name = 'a b'", "name", "no name for a broker"),
        ("name = 'a:b'", "name", "no name for a broker"),
        ("name = 'n/o/a'", "name", "write name = 'a' and unit = 'n/o'"),
        ("unit = 'north/'", "unit", "leave the slash out"),
        ("name = '^a'", "name", "no name for a broker"),
        ("unit = 'north//oslo'", "unit", "an empty name; write names with / between"),
        ("unit = '/north'", "unit", "an empty name"),
        ("unit = 'a/b/c/d'", "unit", "4 names, and the most are 3; leave out"),
        ("unit = 'north/^oslo'", "unit", "do not begin with . or @.*choose another"),
        ("unit = '@north'", "unit", "do not begin with"),
        ("unit = 'the north'", "unit", "no name for a broker or a unit; write"),
        ("gateway = true", "gateway", 'write its unit, as in unit = "north"'),
        ("most_patterns = 9", "most_patterns", "say gateway = true, or leave this out"),
        ("most_patterns = -1", "most_patterns", "write 0 or more"),
        ("gateway = 5", "gateway", 'this is 5; write true, or the outermost unit.*"north"'),
        ("unit = 'a/b'\ngateway = 'c'", "gateway", "not in the unit 'c'; write true, or.*a/b, a"),
        ("unit = 'a'\nname = 'b'\ngateway = 'a/b'", "gateway", "not in the unit 'a/b'"),
        ("unit = 'a'\ngateway = true", "gateway", r"no store; name one in \[store\], or with --st"),
        ("listen = 'localhost'", "listen", "write host:port"),
        ("http = ':80'", "http", "0.0.0.0:80"),
        ("http = '127.0.0.1:7400'", "http", "choose another port"),
        ("strategy = 'floding'", "strategy", "choose one of: flooding"),
        ("reader = 'libxml2'", "reader", 'not known; write "checked" or "expat"'),
        ("links = 'a:1'", "links", r"write \[\[links\]\]"),
        ("links = ['a:1']", "links, entry 1", "write a table with address"),
        ("[[links]]\ncost = 1", "links, entry 1, address", "missing; write a text"),
        ("[[links]]\naddress = 'a:0'", "links, entry 1 ('a:0'), address", "port 0"),
        ("[[links]]\naddress = 'a:1'\ncost = 0", "links, entry 1 ('a:1'), cost", "above 0"),
        ("[[links]]\naddress = 'a:1'\ncost = nan", "links, entry 1 ('a:1'), cost", "above 0"),
        ("[[links]]\naddress = 'a:1'\nbroker = 'a//b'", "links, entry 1 ('a:1'), broker", "empty"),
        ("[[links]]\naddress = 'a:1'\ncots = 0", "links, entry 1 ('a:1'), cots", "'cost'"),
        ("[[links]]\naddress = 'a:1'\n[[links]]\naddress = 'a:1'", "links", "keep one"),
        ("[[links]]\naddress = '127.0.0.1:7400'", "links", "own address"),
        ("[[links]]\naddress = 'a:1'\nserver_name = 'b'", "links", "name tls.ca"),
        (
            "[[links]]\naddress = 'a:1'\ntoken_file = 'no'",
            "links, entry 1 ('a:1'), token_file",
            "No such file",
        ),
        ("store = 5", "store", "this is 5; write a table"),
        ("[store]\nfodler = ''", "store.fodler", "did you mean 'folder'?"),
        ('[store]\nfolder = "\\u0000"', "store.folder", "path"),
        ("[store]\nkeep = 'some'", "store.keep", '"durable" or "all"'),
        ("[store]\nsync = 'off'", "store.sync", '"full" or "normal"'),
        ("[store]\nretention_age = 'soon'", "store.retention_age", "500ms"),
        ("[store]\nretention_age = 0", "store.retention_age", "more than 0"),
        ("[store]\nretention_size = '1XB'", "store.retention_size", "1GiB"),
        ("[limits]\nclients = 0", "limits.clients", "write 1 to"),
        ("[limits]\nclients = 1.5", "limits.clients", "whole number"),
        ("[limits]\nclients = true", "limits.clients", "whole number"),
        ("[limits]\nwindow = 99999999999", "limits.window", "write 1 to"),
        ("[limits]\nmessage_bytes = '1MB'", "limits.document_bytes", "raise message_bytes"),
        ("[limits]\nmessage_bytes = '3GB'", "limits.message_bytes", "2GB"),
        ("[limits]\nqueue_memory = 0", "limits.queue_memory", "more than 0"),
        ("[limits]\npublications_per_second = -1", "limits.publications_per_second", "no limit"),
        ("[limits]\npublications_per_second = inf", "limits.publications_per_second", "no limit"),
        ("[tls]\ncertificate = 'a'", "tls.key", "name the key"),
        ("[tls]\nkey = 'a'", "tls.certificate", "name its file"),
        ("[tls]\nrequire_client_certificate = 1", "tls.require_client_certificate", "true or"),
        ("[tls]\nrequire_client_certificate = true", "tls.ca", "authority"),
        ("[tls]\nca = 'a'\nrequire_client_certificate = true", "tls.certificate", "need TLS"),
        ("[heartbeat]\ninterval = 0", "heartbeat.interval", "more than 0"),
        ("[heartbeat]\ninterval = 3", "heartbeat.suspect_after", "three times"),
        ("[access]\nanonymous = 'ask'", "access.anonymous", "write a list"),
        ("[access]\nanonymous = ['subscrib']", "access.anonymous, entry 1", "'subscribe'"),
        ("[access]\nanonymous = [1]", "access.anonymous, entry 1", '1; write "publish" or'),
        ("[access]\ninsecure = 'yes'", "access.insecure", "true or false"),
        ("[[principals]]\ntoken = 'x'", "principals, entry 1, name", "missing; write a text"),
        ("[[principals]]\nname = 'a'", "principals, entry 1 ('a')", "add token"),
        ("[[principals]]\nname = 'anonymous'", "principals, entry 1 ('anonymous'), name", "other"),
        (
            "[[principals]]\nname = 'a'\ntoken = 'x'",
            "principals, entry 1 ('a'), token",
            "64 hex digits",
        ),
        (
            "[[principals]]\nname = 'a'\ntoken = ''",
            "principals, entry 1 ('a'), token",
            "64 hex digits",
        ),
        (
            "[[principals]]\nname = 'a'\ntoken_file = 'empty'",
            "principals, entry 1 ('a'), token_file",
            "no hash",
        ),
        (
            "[[principals]]\nname = 'a'\ncertificate = 'b'",
            "principals",
            "tls.require_client_certificate = true",
        ),
        (PRINCIPAL * 2, "principals", "two entries have the name 'desk'"),
        (PRINCIPAL + PRINCIPAL.replace("desk", "other"), "principals", "two entries have the tok"),
        ("[[rules]]\nwho = '*'\nallow = ['ask']", "rules", "there are none"),
        (PRINCIPAL + "[[rules]]\nallow = ['ask']", "rules, entry 1, who", "missing"),
        (PRINCIPAL + "[[rules]]\nwho = 'a'", "rules, entry 1 ('a'), allow", "missing"),
        (
            PRINCIPAL + "[[rules]]\nwho = 'a'\nallow = ['pulbish']",
            "rules, entry 1 ('a'), allow, entry 1",
            "did you mean 'publish'?",
        ),
    ],
)
def test_a_mistake_is_named_with_its_place_and_its_remedy(
    tmp_path: Path, text: str, where: str, reason: str
) -> None:
    (tmp_path / "empty").write_text("# none\n", encoding="utf-8")
    error = refused(tmp_path, text)
    assert error.where == where
    assert re.search(reason, error.reason), error.reason


@pytest.mark.parametrize(
    ("rule", "key", "reason"),
    [
        ("allow = ['ask']\nroots = ['a']", "roots", "needs 'publish'"),
        ("allow = ['ask']\nto = ['a:b']", "to", "needs 'publish'"),
        ("allow = ['ask']\nschemas = ['news.dtd']", "schemas", "needs 'publish'"),
        ("allow = ['ask']\ndurable = ['a']", "durable", "needs 'subscribe'"),
        ("allow = ['ask']\nbrokers = ['a']", "brokers", "needs 'link'"),
        ("allow = ['publish']\nroots = ['a b']", "roots, entry 1", "Q{uri}name"),
        ("allow = ['publish']\nroots = ['p:a']", "roots, entry 1", "Q{uri}name"),
        ("allow = ['publish']\nroots = ['']", "roots, entry 1", "an empty text"),
        ("allow = ['publish']\nroots = ['a']\nschemas = ['news.dtd']", "roots", "two rules"),
        ("allow = ['publish']\nschemas = 'news.dtd'", "schemas", "write a list"),
        (
            "allow = ['publish']\nschemas = [1]",
            "schemas, entry 1",
            "write a table with dtd, xsd, root",
        ),
        ("allow = ['publish']\nschemas = [{}]", "schemas, entry 1", "either a dtd or an xsd"),
        ("allow = ['publish']\nschemas = ['no.dtd']", "schemas, entry 1", "No such file"),
        ("allow = ['publish']\nschemas = ['roots.dtd']", "schemas, entry 1", "root = one of: ni"),
        ("allow = ['publish']\nschemas = ['broker.toml']", "schemas, entry 1", "broker.toml: "),
        (
            "allow = ['publish']\nschemas = [{dtd = 'news.dtd', root = 'x'}]",
            "schemas, entry 1 ('news.dtd')",
            "'x'",
        ),
        (
            "allow = ['publish']\nschemas = [{dtd = 'a', rot = 'x'}]",
            "schemas, entry 1 ('a'), rot",
            "'root'",
        ),
    ],
)
def test_a_rule_that_means_nothing_is_refused(
    tmp_path: Path, rule: str, key: str, reason: str
) -> None:
    (tmp_path / "news.dtd").write_text(NEWS, encoding="utf-8")
    (tmp_path / "roots.dtd").write_text(TWO_ROOTS, encoding="utf-8")
    error = refused(tmp_path, f"{PRINCIPAL}[[rules]]\nwho = 'a'\n{rule}")
    assert error.where == f"rules, entry 1 ('a'), {key}"
    assert reason in error.reason


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"name = ", "not TOML"),
        (b"\xff\xfe", "save it as UTF-8"),
        (b"a = " + b"1" * 5000, "too large"),
        (b"a = " + b"[" * 5000, "nested too deep"),
    ],
)
def test_what_is_no_toml_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    path = tmp_path / "broker.toml"
    path.write_bytes(content)
    with pytest.raises(ConfigError, match=reason):
        read_config(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path / "missing.toml", tmp_path, "a\0b"):
        with pytest.raises(ConfigError, match="path") as error:
            read_config(path)
        assert error.value.path == str(path)


def test_every_misspelt_key_is_led_to_the_right_one(tmp_path: Path) -> None:
    known = {f"[{name}]": [each.name for each in fields(made)] for name, made in SECTIONS.items()}
    known |= {f"[[{name}]]": list(keys) for name, keys in LISTS.items()}
    known[""] = [field.name for field in fields(BrokerConfig)]
    for header, keys in known.items():
        for key in keys:
            error = refused(tmp_path, f"{header}\n{key}x = 1\n")
            assert f"did you mean {key!r}?" in error.reason


def test_no_token_is_shown(tmp_path: Path) -> None:
    token, hashed = new_token()
    error = refused(tmp_path, f"[[principals]]\nname = 'a'\ntoken = '{token}'")
    assert token not in str(error)
    assert f'write "{hashed}"' in error.reason  # which is safe to show, and what is wanted there
    (tmp_path / "hashes").write_text(token, encoding="utf-8")
    error = refused(tmp_path, "[[principals]]\nname = 'a'\ntoken_file = 'hashes'")
    assert token not in str(error)
    error = refused(tmp_path, "[[principals]]\nname = 'a'\ntoken = 'my password'")
    assert "my password" not in str(error)
    assert token not in repr(BrokerConfig(links=(LinkConfig("a:1", token=token),)))
    (tmp_path / "tokens").write_text(f"{token}\n{token}\n", encoding="utf-8")
    error = refused(tmp_path, "[[links]]\naddress = 'a:1'\ntoken_file = 'tokens'")
    assert token not in str(error)
    assert "in one line" in error.reason


def test_flags_are_checked_like_files() -> None:
    with pytest.raises(ConfigError, match="listen: 'nowhere' is no address"):
        BrokerConfig(listen="nowhere")
    with pytest.raises(ConfigError, match="listen: "):
        replace(BrokerConfig(), listen="nowhere")
    with pytest.raises(ConfigError, match=r"store\.keep: "):
        StoreConfig(keep="some")


# --- what is safe ----------------------------------------------------------------------------

MUTUAL = TlsConfig(Path("a"), Path("b"), Path("c"), require_client_certificate=True)


@pytest.mark.parametrize(
    ("config", "unsafe"),
    [
        (BrokerConfig(), None),
        (BrokerConfig(listen="localhost:0", http="[::1]:0"), None),
        (BrokerConfig(listen="0.0.0.0:7400"), "listen"),
        (BrokerConfig(listen="[::]:7400"), "listen"),
        (BrokerConfig(listen="broker.example:7400"), "listen"),
        (BrokerConfig(http="0.0.0.0:80"), "http"),
        (BrokerConfig(listen="0.0.0.0:7400", tls=TlsConfig(Path("a"), Path("b"))), "listen"),
        (BrokerConfig(listen="0.0.0.0:7400", tls=TlsConfig(ca=Path("a"))), "listen"),
        (BrokerConfig(listen="0.0.0.0:7400", access=AccessConfig(frozenset())), "listen"),
        (BrokerConfig(listen="0.0.0.0:7400", access=AccessConfig(insecure=True)), None),
        (BrokerConfig(listen="0.0.0.0:7400", http="0.0.0.0:80", principals=(DESK,)), None),
        (BrokerConfig(listen="0.0.0.0:7400", tls=MUTUAL), None),
    ],
)
def test_an_open_broker_keeps_to_its_machine(config: BrokerConfig, unsafe: str | None) -> None:
    if unsafe is None:
        check_safe(config)
        return
    with pytest.raises(ConfigError, match=r"--insecure or \[access\] insecure = true") as error:
        check_safe(config)
    assert error.value.where == unsafe


def test_what_is_allowed_and_risky_is_said() -> None:
    assert cautions(BrokerConfig()) == ()
    assert cautions(BrokerConfig(listen="0.0.0.0:7400", tls=MUTUAL)) == ()
    (said,) = cautions(BrokerConfig(listen="0.0.0.0:1", access=AccessConfig(insecure=True)))
    assert "everybody" in said
    (said,) = cautions(BrokerConfig(http="0.0.0.0:1", principals=(DESK,)))
    assert "unencrypted" in said
    far, near = LinkConfig("paris.example:1"), LinkConfig("127.0.0.1:1")
    (said,) = cautions(BrokerConfig(links=(far, near)))
    assert "paris.example:1" in said
    assert cautions(BrokerConfig(links=(far,), tls=TlsConfig(ca=Path("a")))) == ()


@pytest.mark.parametrize("setting", ["expression_length = 20_001", "expression_steps = 501"])
def test_expressions_longer_than_links_carry_are_not_allowed(tmp_path: Path, setting: str) -> None:
    path = tmp_path / "broker.toml"
    path.write_text(f"[limits]\n{setting}\n", encoding="utf-8")
    with pytest.raises(ConfigError, match="links carry no more"):
        read_config(path)


def test_the_address_of_a_database(tmp_path: Path) -> None:
    for url in (
        "postgresql://ann@db.example:5432/news?passfile=/etc/p@q",
        "postgresql://ann@[::1]:5432,db.example:5433/news",
    ):
        assert read(tmp_path, f'[store]\nurl = "{url}"').store.url == url


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('url = "postgresql://ann:secret@db/news"', "into a file that only the broker may read"),
        ('url = "postgresql://ann:x/secret@db/news"', "no password belongs here"),
        ('url = "postgresql://db/news?password=secret"', "file with ?passfile= or PGPASSFILE"),
        ('url = "mysql://ann:secret@db/news"', 'as in "postgresql://user@host:5432/database"'),
        ('url = "postgresql://db/secret"\nfolder = "x"', "keep one of both"),
    ],
)
def test_an_address_that_is_refused_is_not_shown(tmp_path: Path, text: str, remedy: str) -> None:
    message = str(refused(tmp_path, f"[store]\n{text}"))
    assert remedy in message
    assert "secret" not in message


def test_the_address_of_a_database_is_not_in_what_is_shown() -> None:
    assert "db.example" not in repr(StoreConfig(url="postgresql://ann@db.example/news"))
