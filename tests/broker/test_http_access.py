"""Who may do what at the HTTP port: tokens, certificates, rules, and pages of other origins."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path

import httpx
import pytest
from certificates import make_authority, make_certificate
from http_brokers import calling, publish, refusal, run, serving, subscribed
from live_brokers import one_broker

from twigcast.broker import BrokerConfig, Permission, RunningBroker, StoreConfig, new_token
from twigcast.broker.config import AccessConfig, PrincipalConfig, RuleConfig, TlsConfig
from twigcast.broker.http.connections import certificate_names

TOKENS = {name: new_token() for name in ("writer", "reader", "asker", "root", "nobody")}
STORE = StoreConfig(keep="all", sync="normal")


def guarded(anonymous: frozenset[Permission] | None = None) -> BrokerConfig:
    """A broker that knows five, each of whom may do one thing, one everything, one nothing."""
    allowed = {
        "writer": {Permission.PUBLISH},
        "reader": {Permission.SUBSCRIBE},
        "asker": {Permission.ASK},
        "root": set(Permission),
    }
    return BrokerConfig(
        store=STORE,
        access=AccessConfig(anonymous=anonymous),
        principals=tuple(PrincipalConfig(name, (hashed,)) for name, (_, hashed) in TOKENS.items()),
        rules=tuple(RuleConfig(name, frozenset(what)) for name, what in allowed.items()),
    )


REQUESTS: dict[str, tuple[str, str, dict[str, object]]] = {
    "publish": ("POST", "/v1/publish", {"content": b"<a/>"}),
    "subscribe": ("GET", "/v1/subscribe", {"params": {"xpath": "//a"}}),
    "durable": ("GET", "/v1/subscribe", {"params": {"xpath": "//a", "durable": "d"}}),
    "ask": ("GET", "/v1/ask", {"params": {"xpath": "//a"}}),
    "subscriptions": ("GET", "/v1/subscriptions", {}),
    "ack": ("POST", "/v1/subscriptions/none/ack", {"json": {"upto": 1}}),
    "forget": ("DELETE", "/v1/subscriptions/none", {}),
    "status": ("GET", "/v1/status", {}),
    "topology": ("GET", "/v1/topology", {}),
    "links": ("GET", "/v1/links", {}),
    "metrics": ("GET", "/metrics", {}),
    "home": ("DELETE", "/v1/homes/none", {}),
    "backup": ("POST", "/v1/backup", {}),
}
KNOWN = {"status": 200, "topology": 200, "links": 200, "metrics": 200}
READS = {"subscribe": 200, "durable": 200, "subscriptions": 200, "ack": 404, "forget": 404}
ANSWERS: dict[str, dict[str, int]] = {
    "writer": {**KNOWN, "publish": 200},
    "reader": {**KNOWN, **READS},
    "asker": {**KNOWN, "ask": 200},
    "nobody": KNOWN,
    "root": {**KNOWN, **READS, "publish": 200, "ask": 200, "home": 404, "backup": 200},
}


async def statuses(client: httpx.AsyncClient) -> dict[str, int]:
    found = {}
    for name, (method, path, settings) in REQUESTS.items():
        async with client.stream(method, path, **settings) as response:  # type: ignore[arg-type]
            found[name] = response.status_code
            if response.status_code >= 400:
                await response.aread()
                assert set(response.json()) == {"code", "reason"}
                if response.status_code == 401:
                    assert response.headers["www-authenticate"] == "Bearer"
                    assert response.json()["code"] == "unauthenticated"
    return found


def test_each_may_do_what_the_rules_say(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, guarded()) as (running, client):
            assert await statuses(client) == dict.fromkeys(REQUESTS, 401)
            # Whoever asks for less must be allowed as much: the owner of the durable one is first.
            for who in ("reader", "writer", "asker", "nobody", "root"):
                async with calling(running, TOKENS[who][0]) as known:
                    expected = {name: ANSWERS[who].get(name, 403) for name in REQUESTS}
                    assert await statuses(known) == expected, who
            async with calling(running, "twc_wrong") as unknown:
                assert await statuses(unknown) == dict.fromkeys(REQUESTS, 401)

    run(main)


def test_some_paths_are_for_everybody(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, guarded()) as (_, client):
            for path in ("/health", "/ready", "/", "/openapi.json"):
                for header in ({}, {"Authorization": "Bearer wrong"}):
                    answer = await client.get(path, headers=header)
                    assert answer.status_code == 200, path

    run(main)


def test_names_of_durable_subscriptions_are_for_administrators(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, guarded(), TOKENS["root"][0]) as (running, client):
            for name in ("desk-7", "desk-8"):
                async with subscribed(client, xpath="//a", durable=name, ack="manual"):
                    pass
            await publish(client, "<a/>")
            figures = (await client.get("/metrics")).text
            assert 'twigcast_durable_waiting_documents{durable="desk-7"} 1.0' in figures
            async with calling(running, TOKENS["nobody"][0]) as other:
                figures = (await other.get("/metrics")).text
            assert "desk" not in figures
            assert "twigcast_durable_waiting_documents 2.0" in figures
            assert "twigcast_durable_attached 0.0" in figures
            assert "twigcast_durable_missed_total 0.0" in figures
            assert "twigcast_documents_in_total 1.0" in figures

    run(main)


def test_who_comes_and_who_is_refused_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="twigcast")

    async def main() -> None:
        async with serving(tmp_path, guarded(), TOKENS["reader"][0]) as (_, client):
            async with subscribed(client, xpath="//a", durable="desk"):
                pass
            answer = await client.get("/v1/ask", params={"xpath": "//a\nforged"})
            assert answer.status_code == 403
            answer = await client.get("/v1/subscribe", params={"xpath": "//a\nforged["})
            assert answer.status_code == 400

    run(main)
    said = [each.getMessage() for each in caplog.records]
    assert not any("\n" in each for each in said)
    text = "\n".join(said)
    assert "client:1 connected over HTTP from 127.0.0.1 as reader (python-httpx" in text
    assert "client:1 reads the durable subscription 'desk' of 'reader'" in text
    assert "GET /v1/ask from 127.0.0.1 is refused: reader may not ask here" in text
    assert "GET /v1/subscribe from 127.0.0.1 is refused: " in text


def test_other_authorizations_are_refused_even_where_none_is_needed() -> None:
    async def main() -> None:
        async with serving() as (_, client):
            for header in ("Basic dXNlcg==", "Bearer", "Bearer a b", "Bearer: x", "x"):
                answer = await client.get("/v1/status", headers={"Authorization": header})
                assert answer.status_code == 401, header

    run(main)


def test_the_anonymous_may_do_what_is_said_and_look_at_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        config = guarded(frozenset({Permission.PUBLISH}))
        async with serving(tmp_path, config) as (_, client):
            found = await statuses(client)
            assert found.pop("publish") == 200
            assert set(found.values()) == {401}

    run(main)


def test_a_rule_for_roots_holds_for_each_document() -> None:
    token, hashed = new_token()
    rule = RuleConfig("writer", frozenset({Permission.PUBLISH}), roots=frozenset({("", "news")}))
    config = BrokerConfig(principals=(PrincipalConfig("writer", (hashed,)),), rules=(rule,))

    async def main() -> None:
        async with serving(config=config, token=token) as (_, client):
            await publish(client, "<news/>")
            answer = await client.post("/v1/publish", content=b"<other/>")
            assert (answer.status_code, answer.json()["code"]) == (403, "not-allowed")
            answer = await client.post("/v1/publish", json={"documents": ["<news/>", "<other/>"]})
            assert [each["index"] for each in answer.json()["problems"]] == [1]

    run(main)


def test_durable_subscriptions_belong_to_whoever_made_them(tmp_path: Path) -> None:
    mine, others, root = new_token(), new_token(), new_token()
    subscribes = frozenset({Permission.SUBSCRIBE})
    config = BrokerConfig(
        store=STORE,
        principals=(
            PrincipalConfig("mine", (mine[1],)),
            PrincipalConfig("others", (others[1],)),
            PrincipalConfig("root", (root[1],)),
        ),
        rules=(
            RuleConfig("mine", subscribes),
            RuleConfig("others", subscribes),
            RuleConfig("root", frozenset(Permission)),
        ),
    )

    async def names(running: RunningBroker, token: str) -> tuple[list[str], list[str], bool]:
        async with calling(running, token) as client:
            told = (await client.get("/v1/subscriptions")).json()
            status = (await client.get("/v1/status")).json()
        return (
            [each["name"] for each in told["durable"]],
            [each["name"] for each in status["durable"]],
            told["clients"] is not None,
        )

    async def main() -> None:
        async with serving(tmp_path, config, mine[0]) as (running, client):
            async with subscribed(client, xpath="//a", durable="desk"):
                pass
            assert await names(running, mine[0]) == (["desk"], ["desk"], False)
            assert await names(running, others[0]) == ([], [], False)
            assert await names(running, root[0]) == (["desk"], ["desk"], True)
            async with calling(running, others[0]) as other:
                parameters = {"durable": "desk"}
                assert (await other.get("/v1/subscribe", params=parameters)).status_code == 403
                assert (await other.delete("/v1/subscriptions/desk")).status_code == 403
                answer = await other.post("/v1/subscriptions/desk/ack", json={"upto": 1})
                assert answer.status_code == 403
            async with calling(running, root[0]) as administrator:
                assert (await administrator.delete("/v1/subscriptions/desk")).status_code == 204

    run(main)


ORIGINS: list[tuple[dict[str, str], int]] = [
    ({"Origin": "https://elsewhere.example"}, 403),
    ({"Origin": "null"}, 403),
    ({"Origin": "http://[broken"}, 403),
    ({"Sec-Fetch-Site": "cross-site"}, 403),
    ({"Sec-Fetch-Site": "same-site", "Origin": "http://HOST"}, 403),
    ({"Origin": "http://HOST"}, 200),
    ({"Sec-Fetch-Site": "same-origin", "Origin": "http://proxied.example"}, 200),
    ({"Sec-Fetch-Site": "none"}, 200),
    ({}, 200),
]


def test_pages_of_other_origins_are_turned_away() -> None:
    async def main() -> None:
        async with serving() as (running, client):
            assert running.http is not None
            here = running.http.address
            for headers, status in ORIGINS:
                sent = {key: each.replace("HOST", here) for key, each in headers.items()}
                answer = await client.post("/v1/publish", content=b"<a/>", headers=sent)
                assert answer.status_code == status, headers

    run(main)


PLAIN: list[tuple[dict[str, str], bool]] = [
    ({}, False),
    ({"Accept": "text/event-stream"}, False),
    ({"Last-Event-ID": "1"}, False),
    ({"Sec-Fetch-Site": "none"}, False),  # a link in a mail
    ({"Twigcast-Request": ""}, False),
    ({"Twigcast-Request": "1"}, True),
    ({"Sec-Fetch-Site": "same-origin"}, True),
]
"""What a page of another site, or a link, can send without asking; and what it cannot."""


def test_what_any_page_could_send_acknowledges_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, BrokerConfig(store=STORE)) as (running, client):
            async with subscribed(client, xpath="//a", durable="desk", ack="manual") as events:
                await publish(client, "<a/>")
                await events.document()
                kept = running.broker.durables["desk"]
                first = kept.attached
                del client.headers["Twigcast-Request"]
                form = {"Content-Type": "text/plain"}
                for headers, _ in (each for each in PLAIN if not each[1]):
                    taken = {"durable": "desk"}
                    answer = await client.get("/v1/subscribe", params=taken, headers=headers)
                    assert "Twigcast-Request: 1" in refusal(answer, 403, "not-allowed")
                    sent = {**form, **headers}
                    for path, body in (("subscriptions/desk/ack", b'{"upto": 1}'), ("backup", b"")):
                        answer = await client.post(f"/v1/{path}", content=body, headers=sent)
                        assert "Twigcast-Request: 1" in refusal(answer, 403, "not-allowed")
                assert kept.attached == first
                assert kept.queue.acknowledged == 0
                assert not (tmp_path / "backups").exists()
            for headers, _ in (each for each in PLAIN if each[1]):
                async with subscribed(client, headers, durable="desk", ack="manual"):
                    pass
                assert (await client.post("/v1/backup", headers=headers)).status_code == 200
            # Nothing is taken from anybody.
            async with subscribed(client, xpath="//a") as events:
                await publish(client, "<a/>")
                await events.document()

    run(main)


def test_a_token_needs_no_further_header(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path, guarded(), TOKENS["root"][0]) as (_, client):
            del client.headers["Twigcast-Request"]
            async with subscribed(client, xpath="//a", durable="desk"):
                pass
            assert (await client.post("/v1/backup")).status_code == 200

    run(main)


def test_certificates_say_who_calls(tmp_path: Path) -> None:
    authority = make_authority(tmp_path)
    server = make_certificate(tmp_path, authority, "server")
    desk = make_certificate(tmp_path, authority, "desk")
    other = make_certificate(tmp_path, authority, "other")
    config = BrokerConfig(
        http="127.0.0.1:0",
        tls=TlsConfig(server.certificate, server.key, authority.certificate, True),
        principals=(PrincipalConfig("the desk", certificate="desk"),),
        rules=(RuleConfig("the desk", frozenset({Permission.PUBLISH, Permission.SUBSCRIBE})),),
    )

    async def main() -> None:
        async with one_broker(tmp_path / "store", config) as running:
            assert running.http is not None
            url = f"https://{running.http.address}"
            for certificate, status in ((desk, 200), (other, 401)):
                context = ssl.create_default_context(cafile=str(authority.certificate))
                context.load_cert_chain(certificate.certificate, certificate.key)
                async with httpx.AsyncClient(base_url=url, verify=context, timeout=30) as client:
                    client.headers["Twigcast-Request"] = "1"
                    assert (await client.get("/health")).status_code == 200
                    answer = await client.post("/v1/publish", content=b"<a/>")
                    assert answer.status_code == status
                    if status == 200:
                        async with subscribed(client, xpath="//a", durable="d") as events:
                            await publish(client, "<a/>")
                            assert (await events.document()).data["sequence"] == 1
                        assert running.broker.durables["d"].owner == "the desk"
            context = ssl.create_default_context(cafile=str(authority.certificate))
            async with httpx.AsyncClient(base_url=url, verify=context, timeout=30) as client:
                with pytest.raises(httpx.TransportError):
                    await client.get("/health")

    run(main)


@pytest.mark.parametrize(
    ("certificate", "names"),
    [
        (None, ()),
        ({}, ()),
        ({"subject": ((("organizationName", "x"),), (("commonName", "desk"),))}, ("desk",)),
        (
            {
                "subject": ((("organizationName", "x"),),),
                "subjectAltName": (("DNS", "desk"), ("IP Address", "127.0.0.1")),
            },
            ("desk", "127.0.0.1"),
        ),
    ],
)
def test_whom_a_certificate_names(
    certificate: dict[str, object] | None, names: tuple[str, ...]
) -> None:
    assert certificate_names(certificate) == names
