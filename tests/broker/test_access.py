"""Who may do what: credentials, permissions, documents, durable names and links, in tables."""

from __future__ import annotations

import string
import time
from fnmatch import fnmatchcase
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import documents

from twigcast.broker.access import Access, Principal, bearer_token, hash_token, new_token
from twigcast.broker.config import (
    AccessConfig,
    BrokerConfig,
    Permission,
    PrincipalConfig,
    RuleConfig,
    TlsConfig,
)
from twigcast.broker.schema_paths import strange_path
from twigcast.documents import DEFAULT_LIMITS, PathPublication, decompose
from twigcast.errors import AccessError, DocumentError
from twigcast.schema import Schema

PUBLISH, SUBSCRIBE, LINK = Permission.PUBLISH, Permission.SUBSCRIBE, Permission.LINK
NOBODY = Principal("anonymous", is_anonymous=True)
MUTUAL = TlsConfig(Path("a"), Path("b"), Path("c"), require_client_certificate=True)
NEWS = Schema.from_dtd("<!ELEMENT news (item*)><!ELEMENT item (p+)><!ELEMENT p (#PCDATA)>")
FEED = Schema.from_dtd(
    "<!ELEMENT f:feed (f:entry)><!ATTLIST f:feed xmlns:f CDATA #FIXED 'urn:f'>"
    "<!ELEMENT f:entry EMPTY>"
)
NOT_ALLOWED = "not-allowed"
NAMES = ("desk-7", "desk-8", "agency", "wire", "rome", "idle")
TOKENS = {name: (f"twc_of-{name}", hash_token(f"twc_of-{name}")) for name in NAMES}
PRINCIPALS = tuple(PrincipalConfig(name, (hashed,)) for name, (_, hashed) in TOKENS.items())
RULES = (
    RuleConfig("desk-*", frozenset({SUBSCRIBE, Permission.ASK}), durable=("desk-*", "shared")),
    RuleConfig("desk-8", frozenset({SUBSCRIBE}), durable=("extra-?",)),
    RuleConfig("agency", frozenset({PUBLISH}), roots=frozenset({("", "nitf"), ("urn:x", "alert")})),
    RuleConfig("agency", frozenset({Permission.ADVERTISE})),
    RuleConfig("wire", frozenset({PUBLISH}), schemas=(NEWS, FEED)),
    RuleConfig("wire", frozenset({PUBLISH}), roots=frozenset({("", "quote")})),
    RuleConfig("rome", frozenset({LINK, PUBLISH}), brokers=("rome-*",)),
    RuleConfig("rome", frozenset({PUBLISH}), roots=frozenset({("", "nitf")})),
    RuleConfig("rome", frozenset({SUBSCRIBE}), durable=("rome",)),
    RuleConfig("rome", frozenset({SUBSCRIBE})),
    RuleConfig("writer-*", frozenset({PUBLISH}), to=("north/*:inbox-*", "rome:inbox")),
    RuleConfig("writer-8", frozenset({PUBLISH}), to=("*:desk",)),
)
CONFIG = BrokerConfig(principals=PRINCIPALS, rules=RULES)


def known(access: Access, name: str) -> Principal:
    return access.identify(token=TOKENS[name][0])


def refusal(act: object, *arguments: object) -> str:
    """The code with which an act is refused; empty where it is allowed."""
    assert callable(act)
    try:
        act(*arguments)
    except AccessError as error:
        return error.code
    return ""


# --- who -------------------------------------------------------------------------------------


def test_tokens_are_random_long_and_kept_as_hashes() -> None:
    made = [new_token() for _ in range(100)]
    assert len(set(made)) == 100
    for token, hashed in made:
        assert token.startswith("twc_")
        assert len(token) == 4 + 43  # 256 bits, six a character
        assert set(token) <= set(string.ascii_letters + string.digits + "-_")
        assert hashed == hash_token(token)
        assert token not in hashed
        PrincipalConfig("somebody", (hashed,))


@pytest.mark.parametrize("name", TOKENS)
def test_a_token_belongs_to_its_principal(name: str) -> None:
    assert known(Access(CONFIG), name) == Principal(name)


def test_several_tokens_of_one_principal_hold_at_once() -> None:
    (old, old_hash), (new, new_hash) = new_token(), new_token()
    access = Access(BrokerConfig(principals=(PrincipalConfig("a", (old_hash, new_hash)),)))
    assert access.identify(token=old) == access.identify(token=new) == Principal("a")


@pytest.mark.parametrize(
    "token",
    [
        *("", " ", "twc_", "desk-7", "\0", "ü", "\ud800", "x" * 100_000),
        TOKENS["desk-7"][1],  # the hash is no token
        TOKENS["desk-7"][0][:-1],
        TOKENS["desk-7"][0] + "A",
        TOKENS["desk-7"][0].swapcase(),
        "twc_" + "A" * 43,
    ],
    ids=lambda token: ascii(token)[:60],
)
@pytest.mark.parametrize(
    "config",
    [
        CONFIG,
        BrokerConfig(),  # where no token would do
        BrokerConfig(principals=PRINCIPALS, access=AccessConfig(frozenset(Permission))),
    ],
)
def test_a_wrong_token_is_refused_even_where_none_would_do(
    config: BrokerConfig, token: str
) -> None:
    with pytest.raises(AccessError) as error:
        Access(config).identify(token=token, certificate_names=("desk-7",))
    assert error.value.code == "unauthenticated"
    assert len(token) < 5 or token not in str(error.value)


def test_a_certificate_belongs_to_the_principal_that_names_it() -> None:
    principals = (
        PrincipalConfig("desk-7", certificate="seven.example"),
        PrincipalConfig("desk-8", (TOKENS["desk-8"][1],), "eight.example"),
        PrincipalConfig("agency", (TOKENS["agency"][1],)),
    )
    access = Access(BrokerConfig(tls=MUTUAL, principals=principals))

    def by(*names: str, token: str | None = None) -> Principal:
        return access.identify(token=token, certificate_names=names)

    assert by("seven.example") == Principal("desk-7")
    assert by("other.example", "eight.example") == Principal("desk-8")
    assert by("seven.example", token=TOKENS["agency"][0]) == Principal("agency")
    for strange in ("desk-7", "agency", "SEVEN.example", "seven.example ", "anonymous", ""):
        assert by(strange) == NOBODY
    assert by() == NOBODY
    with pytest.raises(AccessError, match="unknown certificate 'evil' may not"):
        access.require(by("evil"), Permission.LINK)


def test_where_no_principal_names_a_certificate_its_name_is_the_principal() -> None:
    access = Access(BrokerConfig(tls=MUTUAL))
    rome = access.identify(token=None, certificate_names=("rome", "other"))
    assert rome == Principal("rome")
    assert all(access.may(rome, permission) for permission in Permission)
    for nobody in (("anonymous",), ("",), ()):  # gRPC tells an absent common name as an empty one
        assert access.identify(token=None, certificate_names=nobody) == NOBODY
    assert not any(access.may(NOBODY, permission) for permission in Permission)


@pytest.mark.parametrize(
    ("header", "token"),
    [
        (None, None),
        ("Bearer twc_x", "twc_x"),
        ("bearer twc_x", "twc_x"),
        ("BEARER   twc_x ", "twc_x"),
    ],
)
def test_the_token_is_taken_from_the_header(header: str | None, token: str | None) -> None:
    assert bearer_token(header) == token


@pytest.mark.parametrize("header", ["", "Bearer", "Bearer ", "twc_x", "Basic eDp5", "Bearer a b"])
def test_another_header_is_refused(header: str) -> None:
    with pytest.raises(AccessError, match="Bearer") as error:
        bearer_token(header)
    assert error.value.code == "unauthenticated"


# --- what ------------------------------------------------------------------------------------

ALLOWED = {
    "desk-7": "subscribe ask",
    "desk-8": "subscribe ask",
    "agency": "publish advertise",
    "wire": "publish",
    "rome": "link publish subscribe",
    "idle": "",
}


@pytest.mark.parametrize(("name", "permission"), list(product(TOKENS, Permission)))
def test_a_principal_may_do_what_its_rules_allow_and_nothing_else(
    name: str, permission: Permission
) -> None:
    access = Access(CONFIG)
    principal = known(access, name)
    expected = permission.value in ALLOWED[name].split()
    assert access.may(principal, permission) is expected
    assert refusal(access.require, principal, permission) == ("" if expected else "not-allowed")


def test_a_refusal_says_who_and_what() -> None:
    access = Access(CONFIG)
    with pytest.raises(AccessError, match="idle may not subscribe here; ask whoever runs"):
        access.require(known(access, "idle"), SUBSCRIBE)
    with pytest.raises(AccessError, match="without credentials may not publish here; show a token"):
        access.require(NOBODY, PUBLISH)


SOME = frozenset({SUBSCRIBE, Permission.ASK})
ALL = frozenset(Permission)
NONE: frozenset[Permission] = frozenset()


@pytest.mark.parametrize(
    ("config", "allowed", "code"),
    [
        (BrokerConfig(), ALL, ""),
        (BrokerConfig(listen="0.0.0.0:1", access=AccessConfig(insecure=True)), ALL, ""),
        (BrokerConfig(access=AccessConfig(SOME)), SOME, "not-allowed"),
        (BrokerConfig(access=AccessConfig(NONE)), NONE, "not-allowed"),
        (BrokerConfig(principals=PRINCIPALS), NONE, "unauthenticated"),
        (
            BrokerConfig(principals=PRINCIPALS, access=AccessConfig(insecure=True)),
            NONE,
            "unauthenticated",
        ),
        (BrokerConfig(tls=MUTUAL), NONE, "unauthenticated"),
        (
            BrokerConfig(principals=PRINCIPALS, rules=(RuleConfig("*", ALL),)),
            NONE,
            "unauthenticated",
        ),
        (
            BrokerConfig(principals=PRINCIPALS, rules=RULES, access=AccessConfig(SOME)),
            SOME,
            "unauthenticated",
        ),
    ],
)
def test_the_anonymous_may_do_what_is_said_of_them(
    config: BrokerConfig, allowed: frozenset[Permission], code: str
) -> None:
    access = Access(config)
    somebody = access.identify(token=None)
    assert somebody == NOBODY
    for permission in Permission:
        expected = "" if permission in allowed else code
        assert refusal(access.require, somebody, permission) == expected
        assert access.may(somebody, permission) is (permission in allowed)


def test_without_rules_whoever_is_known_may_do_everything() -> None:
    access = Access(BrokerConfig(principals=PRINCIPALS))
    idle = known(access, "idle")
    for permission in Permission:
        access.require(idle, permission)
    access.check_document(idle, b"no document at all")
    access.require_durable(idle, "any")
    access.require_link(idle, "idle")
    assert refusal(access.require_link, idle, "rome") == "not-allowed"


# --- with what -------------------------------------------------------------------------------

DOCUMENTS = {
    "nitf": b"<nitf><anything/></nitf>",
    "alert": b"<a:alert xmlns:a='urn:x'/>",
    "alert elsewhere": b"<alert/>",
    "nitf elsewhere": b"<nitf xmlns='urn:x'/>",
    "quote": b"<quote/>",
    "news": b"<news><item><p>1</p><p/></item><item><p/></item></news>",
    "no news": b"<news/>",
    "news with a stranger": b"<news><item><p/><x/></item></news>",
    "news with an empty item": b"<news><item/></news>",  # not valid, but no strange path
    "news with an item too deep": b"<news><item><p><item><p/></item></p></item></news>",
    "news with a p too high": b"<news><p/></news>",
    "item": b"<item><p/></item>",
    "feed": b"<feed xmlns='urn:f'><entry/></feed>",
    "feed with news": b"<feed xmlns='urn:f'><item/></feed>",
}
MAY_PUBLISH = {
    "agency": {"nitf", "alert"},
    "wire": {"quote", "news", "no news", "news with an empty item", "feed"},
    "rome": set(DOCUMENTS),
    "desk-7": set(),
    "idle": set(),
}


@pytest.mark.parametrize(("name", "document"), list(product(MAY_PUBLISH, DOCUMENTS)))
def test_documents_are_published_by_those_who_may(name: str, document: str) -> None:
    access = Access(CONFIG)
    found = refusal(access.check_document, known(access, name), DOCUMENTS[document])
    assert found == ("" if document in MAY_PUBLISH[name] else "not-allowed")


def test_a_document_is_refused_with_the_reason() -> None:
    access = Access(CONFIG)
    agency, wire = known(access, "agency"), known(access, "wire")
    with pytest.raises(AccessError, match=r"the root alert, only with Q\{urn:x\}alert, nitf;"):
        access.check_document(agency, DOCUMENTS["alert elsewhere"])
    with pytest.raises(AccessError, match="the root nitf, only with f:feed, news, quote;"):
        access.check_document(wire, DOCUMENTS["nitf"])
    with pytest.raises(AccessError, match="path /news/item/x is none that the schema of news has"):
        access.check_document(wire, DOCUMENTS["news with a stranger"])
    with pytest.raises(AccessError, match="path /news/item/p/item is none"):
        access.check_document(wire, DOCUMENTS["news with an item too deep"])
    with pytest.raises(AccessError) as error:
        access.check_document(agency, b"<" + b"a" * 3000 + b"/>")
    assert len(str(error.value)) < 500
    with pytest.raises(AccessError, match="show a token") as error:
        access.check_document(NOBODY, DOCUMENTS["nitf"])
    assert error.value.code == "unauthenticated"


def test_what_is_no_document_is_refused_where_it_has_to_be_read() -> None:
    access = Access(CONFIG)
    for name, content in product(("agency", "wire"), (b"", b"text", b"<a", b"<p:a/>")):
        with pytest.raises(DocumentError):
            access.check_document(known(access, name), content)
    with pytest.raises(DocumentError):
        access.check_document(known(access, "wire"), b"<news><item></news>")


def test_documents_of_very_many_paths_are_checked_too() -> None:
    names = [f"e{number}" for number in range(2000)]
    many = Schema.from_dtd(
        f"<!ELEMENT r ({'|'.join(names)})*>" + "".join(f"<!ELEMENT {n} EMPTY>" for n in names)
    )
    rule = RuleConfig("*", frozenset({PUBLISH}), schemas=(many,))
    access = Access(BrokerConfig(principals=PRINCIPALS, rules=(rule,)))
    wire = known(access, "wire")
    inside = "".join(f"<{name}/>" for name in names)
    access.check_document(wire, f"<r>{inside}</r>".encode())
    with pytest.raises(AccessError, match="its path /r/x is none"):
        access.check_document(wire, f"<r>{inside}<x/></r>".encode())
    with pytest.raises(AccessError, match="its path /r/e7/e8 is none"):
        access.check_document(wire, f"<r>{inside}<e7><e8><e9/></e8></e7></r>".encode())


@given(documents())
def test_the_paths_that_are_allowed_are_those_of_the_schema(text: str) -> None:
    paths = {each.path for each in decompose(text, "")}
    every = {path[:length] for path in paths for length in range(1, len(path) + 1)}
    allowed = {(("", "a"),), (("", "a"), ("", "b")), (("", "a"), ("", "b"), ("", "c"))}
    schema = Schema.from_dtd("<!ELEMENT a (b*)><!ELEMENT b (c?)><!ELEMENT c EMPTY>")
    strange = strange_path(schema, text.encode(), DEFAULT_LIMITS)
    assert (strange is None) is (every <= allowed)
    if strange is not None:
        assert strange in {str(PathPublication("", 0, path)) for path in every - allowed}


def test_the_root_decides_without_reading_the_rest() -> None:
    access = Access(CONFIG)
    large = b"<nitf>" + b"<b>text</b>" * 300_000 + b"</nitf>"
    start = time.process_time()
    access.check_document(known(access, "agency"), large)
    assert time.process_time() - start < 0.1  # reading it takes a second


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        ("desk-7", ["desk-7", "desk-", "shared"], ["Desk-7", "xdesk-7", "shared2", "extra-1", ""]),
        ("desk-8", ["desk-7", "extra-1"], ["extra-", "extra-11", "shared\n", "desk"]),
        ("rome", ["rome", "anything", "desk-7"], []),
        ("agency", [], ["agency", "desk-7"]),
        ("idle", [], ["idle"]),
    ],
)
def test_durable_names_are_for_those_who_may_use_them(
    name: str, allowed: list[str], refused: list[str]
) -> None:
    access = Access(CONFIG)
    principal = known(access, name)
    assert [refusal(access.require_durable, principal, each) for each in allowed] == [""] * len(
        allowed
    )
    for each in refused:
        assert refusal(access.require_durable, principal, each) == "not-allowed"


@pytest.mark.parametrize(
    ("name", "allowed", "refused"),
    [
        (
            "writer-7",
            ["north/a:inbox-1", "north/x/b:inbox-", "rome:inbox"],
            ["rome:inbox-1", "a:b"],
        ),
        ("writer-8", ["north/a:inbox-1", "south/c:desk"], ["south/c:desk2", "south/c:inbox-1"]),
        ("rome", ["anywhere:whatever"], []),
        ("idle", [], ["rome:inbox"]),
    ],
)
def test_documents_are_addressed_to_those_whom_a_rule_allows(
    name: str, allowed: list[str], refused: list[str]
) -> None:
    access, principal = Access(CONFIG), Principal(name)
    expected = "" if allowed else NOT_ALLOWED
    assert refusal(access.check_destinations, principal, allowed) == expected
    for each in refused:
        assert refusal(access.check_destinations, principal, [*allowed, each]) == NOT_ALLOWED


def test_the_anonymous_use_durable_names_where_they_may_subscribe() -> None:
    assert refusal(Access(BrokerConfig()).require_durable, NOBODY, "any") == ""
    assert refusal(Access(CONFIG).require_durable, NOBODY, "any") == "unauthenticated"
    closed = BrokerConfig(access=AccessConfig(frozenset({PUBLISH})))
    assert refusal(Access(closed).require_durable, NOBODY, "any") == "not-allowed"


@pytest.mark.parametrize(
    ("name", "broker", "code"),
    [
        ("rome", "rome", ""),
        ("rome", "rome-2", ""),
        ("rome", "paris", "not-allowed"),
        ("rome", "desk-7", "not-allowed"),
        ("rome", "rome-2\n", ""),  # it fits the pattern; whether it is a name is asked elsewhere
        ("desk-7", "desk-7", "not-allowed"),
        ("idle", "idle", "not-allowed"),
    ],
)
def test_a_broker_links_under_its_own_name(name: str, broker: str, code: str) -> None:
    access = Access(CONFIG)
    assert refusal(access.require_link, known(access, name), broker) == code


def test_rules_mean_full_names() -> None:
    allow = frozenset({LINK})
    config = BrokerConfig(
        principals=tuple(
            PrincipalConfig(name, (hash_token(name),)) for name in ("north/a", "south", "site")
        ),
        rules=(
            RuleConfig("north/*", allow),
            RuleConfig("south", allow, brokers=("south/*",)),
            RuleConfig("site", allow, brokers=("east/b?",)),
        ),
    )
    access = Access(config)
    for name, broker, may in (
        ("north/a", "north/a", True),
        ("north/a", "north/b", False),
        ("north/a", "a", False),
        ("south", "south/x/y", True),
        ("south", "south", True),
        ("south", "north/a", False),
        ("site", "east/b1", True),
        ("site", "east/b/1", False),
    ):
        principal = access.identify(token=name)
        assert (refusal(access.require_link, principal, broker) == "") == may, broker


def test_anonymous_brokers_link_where_that_is_open_but_not_as_a_principal() -> None:
    assert refusal(Access(BrokerConfig()).require_link, NOBODY, "any") == ""
    assert refusal(Access(CONFIG).require_link, NOBODY, "any") == "unauthenticated"
    config = BrokerConfig(principals=PRINCIPALS, access=AccessConfig(frozenset({LINK})))
    assert refusal(Access(config).require_link, NOBODY, "any") == ""
    assert refusal(Access(config).require_link, NOBODY, "rome") == "unauthenticated"


# --- any rules -------------------------------------------------------------------------------

globs = st.lists(st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "-"]), min_size=1).map(
    "".join
)
some_names = st.text("ab-", min_size=1, max_size=4)


@st.composite
def any_rules(draw: st.DrawFn) -> RuleConfig:
    allow = draw(st.frozensets(st.sampled_from(Permission), min_size=1))
    roots = st.frozensets(st.tuples(st.sampled_from(["", "urn:x"]), st.sampled_from("ab")))
    narrow = st.lists(globs, max_size=2).map(tuple)
    return RuleConfig(
        draw(globs),
        allow,
        draw(roots) if PUBLISH in allow else frozenset(),
        durable=draw(narrow) if SUBSCRIBE in allow else (),
        brokers=draw(narrow) if LINK in allow else (),
    )


@given(st.lists(any_rules(), min_size=1, max_size=5), some_names, some_names, st.sampled_from("ab"))
def test_rules_add_up(rules: list[RuleConfig], name: str, other: str, root: str) -> None:
    token, hashed = TOKENS["idle"]
    access = Access(
        BrokerConfig(principals=(PrincipalConfig(name, (hashed,)),), rules=tuple(rules))
    )
    principal = access.identify(token=token)
    own = [rule for rule in rules if fnmatchcase(name, rule.who)]

    def fits(name: str, patterns: tuple[str, ...]) -> bool:
        return any(fnmatchcase(name, pattern) for pattern in patterns)

    for permission in Permission:
        expected = any(permission in rule.allow for rule in own)
        assert access.may(principal, permission) is expected
    assert (refusal(access.check_document, principal, f"<{root}/>".encode()) == "") is any(
        PUBLISH in rule.allow and (not rule.roots or ("", root) in rule.roots) for rule in own
    )
    assert (refusal(access.require_durable, principal, other) == "") is any(
        SUBSCRIBE in rule.allow and (not rule.durable or fits(other, rule.durable)) for rule in own
    )
    assert (refusal(access.require_link, principal, other) == "") is any(
        LINK in rule.allow and (name == other or fits(other, rule.brokers)) for rule in own
    )
