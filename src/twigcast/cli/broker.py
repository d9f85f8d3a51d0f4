"""``twigcast broker``: one broker of the live network."""

from __future__ import annotations

import asyncio
import logging
import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from twigcast.cli.broker_options import requiring
from twigcast.cli.console import print_json, warn
from twigcast.cli.reader_option import READER
from twigcast.cli.store_option import store_location

if TYPE_CHECKING:
    from twigcast.broker import BrokerConfig, LinkConfig, RunningBroker, StandingBy


class Keep(StrEnum):
    """Which documents a store keeps."""

    DURABLE = "durable"
    ALL = "all"


def broker(
    config: Annotated[
        Path | None,
        typer.Option(help="A configuration (.toml); the other options override what stands there."),
    ] = None,
    listen: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Where clients and other brokers find it; 127.0.0.1:7400 by default.  Port 0 "
            "lets the system choose.",
        ),
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="Its name in the network; made from the address by default.")
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help="The unit that it is in, as in north/oslo; its full name begins with that.",
        ),
    ] = None,
    gateway: Annotated[
        str | None,
        typer.Option(
            metavar="UNIT",
            help="Stand for its units up to this one, as in north, in the unit around them; needs "
            "--store.",
        ),
    ] = None,
    most_patterns: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many patterns a gateway sends outside, and hears from there, at most; 0 is "
            "no limit.",
        ),
    ] = None,
    links: Annotated[
        list[str] | None,
        typer.Option(
            "--link",
            metavar="HOST:PORT[=COST]",
            help="A neighbouring broker to call; can be given several times.",
        ),
    ] = None,
    http: Annotated[
        str | None, typer.Option(metavar="HOST:PORT", help="Serve HTTP there too; none by default.")
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER|URL",
            help="Where documents are kept for durable subscriptions: in a folder, or in "
            "PostgreSQL (postgresql://…); without one there are none.",
        ),
    ] = None,
    door: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Be a door of a group: the brokers with this name and this database, of which one "
            "leads and the others stand by.  They find this one at HOST.",
        ),
    ] = None,
    keep: Annotated[
        Keep | None,
        typer.Option(
            help="Keep the documents that durable subscriptions want, or all, for twigcast ask."
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="How subscriptions spread; all brokers of a network have the same."),
    ] = None,
    reader: READER = None,
    tls_certificate: Annotated[
        Path | None, typer.Option(help="The broker's certificate (PEM); encrypts.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(help="The key of the certificate (PEM).")] = None,
    tls_ca: Annotated[
        Path | None, typer.Option(help="The authority that signs other brokers' certificates.")
    ] = None,
    insecure: Annotated[
        bool,
        typer.Option(
            "--insecure", help="Serve the network although whoever reaches it may do everything."
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object when it is ready, instead of a line.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Log who comes, goes and is refused, too.")
    ] = False,
) -> None:
    """Run a broker: clients publish to it and subscribe at it, other brokers link with it.

    Prints one line when it is ready, logs to standard error, and ends with Ctrl-C or SIGTERM.
    """
    with requiring("broker"):
        from twigcast.broker import BrokerConfig, cautions, check_safe, read_config, run

        chosen = BrokerConfig() if config is None else read_config(config)
        chosen = _overridden(
            chosen,
            {
                "name": name,
                "unit": unit,
                "gateway": gateway,
                "most_patterns": most_patterns,
                "listen": listen,
                "http": http,
                "strategy": strategy,
                "reader": None if reader is None else reader.value,
            },
            ({} if store is None else store_location(store))
            | _given({"door": door, "keep": None if keep is None else keep.value}),
            {"certificate": tls_certificate, "key": tls_key, "ca": tls_ca},
        )
        if links:
            chosen = replace(chosen, links=tuple(map(_link, links)))
        if insecure:
            chosen = replace(chosen, access=replace(chosen.access, insecure=True))
        if keep is not None and not chosen.store.is_used:
            raise typer.BadParameter("--keep goes with --store, which says where")
        check_safe(chosen)
        _start_logging(verbose=verbose)
        for caution in cautions(chosen):
            warn(caution)
        asyncio.run(run(chosen, _print_json_line if json else _print_line))


def _overridden(
    config: BrokerConfig, top: dict[str, Any], store: dict[str, Any], tls: dict[str, Any]
) -> BrokerConfig:
    """The configuration, with the values of flags that were given; None was not given."""
    changes = _given(top)
    if store:
        changes["store"] = replace(config.store, **store)
    if said := _given(tls):
        changes["tls"] = replace(config.tls, **said)
    return replace(config, **changes)


def _given(flags: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if value is not None}


def _link(text: str) -> LinkConfig:
    from twigcast.broker import LinkConfig

    address, equals, cost = text.partition("=")
    try:
        number = float(cost) if equals else 1.0
    except ValueError:
        raise typer.BadParameter(
            f"--link takes HOST:PORT or HOST:PORT=COST, not {text!r}"
        ) from None
    return LinkConfig(address, number)


def _start_logging(*, verbose: bool) -> None:
    from twigcast.broker import LimitedHandler

    logging.basicConfig(
        handlers=[LimitedHandler(sys.stderr)],
        level=logging.INFO if verbose else logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    # It warns of every stream that is cut when the broker ends.
    logging.getLogger("grpc").setLevel(logging.ERROR)


def _print_json_line(running: RunningBroker | StandingBy) -> None:
    from twigcast.broker import StandingBy

    if isinstance(running, StandingBy):
        name, address, leader = running
        print_json({"broker": name, "address": address, "stands_by_for": leader})
        sys.stdout.flush()
        return
    settings = running.broker.config.store
    print_json(
        {
            "broker": running.broker.name,
            "gateway": running.broker.config.gateway_of,
            "address": running.address,
            "stands_by_for": None,
            "http": None if running.http is None else running.http.address,
            "store": settings.url or (str(settings.folder) if settings.folder else None),
            "reader": running.broker.config.reader,
        }
    )
    sys.stdout.flush()


def _print_line(running: RunningBroker | StandingBy) -> None:
    from twigcast.broker import StandingBy

    if isinstance(running, StandingBy):
        name, address, leader = running
        sys.stdout.write(f"{name} listens at {address}, stands by for {leader}; Ctrl-C ends\n")
        sys.stdout.flush()
        return
    config = running.broker.config
    parts = [f"{running.broker.name} listens at {running.address}"]
    if config.gateway_of is not None:
        parts.append(f"is a gateway of {config.gateway_of}")
    if running.http is not None:
        scheme = "http" if config.tls.certificate is None else "https"
        parts.append(f"{scheme}://{running.http.address}")
    if config.store.is_used:
        if config.store.door:
            parts.append("leads its group")
        kept = "all documents" if config.store.keep == "all" else "documents"
        parts.append(f"keeps {kept} in {config.store.folder or 'PostgreSQL'}")
    parts.append(f"reads with the {config.reader} reader")
    sys.stdout.write(f"{', '.join(parts)}; Ctrl-C ends\n")
    sys.stdout.flush()
