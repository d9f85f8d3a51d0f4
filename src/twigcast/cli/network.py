"""``twigcast network``: an overlay of live brokers on this machine, and the status of brokers."""

from __future__ import annotations

import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from twigcast.cli.broker_options import ended_by_signals, noting_signals, requiring
from twigcast.cli.console import (
    complain,
    make_table,
    note,
    print_json,
    showing_work,
    warn,
    wide_output,
)
from twigcast.cli.network_status import status
from twigcast.cli.simulate_tables import about_parts
from twigcast.errors import OverlayError
from twigcast.simulation import parse_plan

if TYPE_CHECKING:
    from twigcast.broker import LocalNetwork

_TOPOLOGY: Final = "tree:levels=3,fanout=2"
_EVERY: Final = 0.1
_PATIENCE: Final = 60.0
"""Seconds that links have for coming up; on a busy machine with many brokers it takes some."""

network = typer.Typer(
    name="network", help="Run an overlay of brokers here, or look at one.", no_args_is_help=True
)
network.command()(status)


@network.command()
def up(
    topology: Annotated[
        str,
        typer.Option(
            help="The overlay: tree:levels=3,fanout=2, chain:count=5, star:count=9, draft, "
            "random:count=20,extra=5,seed=1, hierarchy:2x3x4,gateways=2 or a network file."
        ),
    ] = _TOPOLOGY,
    strategy: Annotated[
        str | None,
        typer.Option(
            help="How subscriptions spread: covering, flooding, and so on; otherwise as the "
            "network file says, or covering."
        ),
    ] = None,
    most_patterns: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="How many patterns a unit of brokers sends outside, and hears from there, at "
            "most, 0 for no limit; otherwise as the network file says, or no limit.",
        ),
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Where brokers keep documents and logs, for the next time too; otherwise a "
            "folder that is removed at the end.",
        ),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Give each broker an HTTP port.")] = False,
    base_port: Annotated[
        int,
        typer.Option(
            min=0,
            max=65_535,
            help="The first broker's port; the others follow, then the HTTP ports.  0 lets the "
            "system choose.",
        ),
    ] = 0,
    seconds: Annotated[
        float | None,
        typer.Option("--for", min=0.0, metavar="SECONDS", help="End by itself after so long."),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object when it is up, instead of a table.")
    ] = False,
) -> None:
    """Start an overlay of brokers, each a process on this machine, and end it with Ctrl-C.

    Of a network file it takes all but the clients.

    Latencies of the topology are not imitated; twigcast simulate does that.
    """
    try:
        plan = parse_plan(topology)
    except OverlayError as error:
        raise typer.BadParameter(str(error), param_hint="--topology") from None
    overlay = plan.overlay
    if plan.clients:
        warn("the clients of the network file are left out; connect your own")
    if len(parts := overlay.parts()) > 1:
        warn(about_parts(parts))
    if most_patterns is None:
        most_patterns = plan.strategy.most_patterns or 0
    with requiring("broker"):
        from twigcast.broker import LocalNetwork
    with ended_by_signals(), _folder(store) as folder:
        running = LocalNetwork(
            overlay,
            folder,
            http=http,
            strategy=strategy or plan.strategy.name,
            most_patterns=most_patterns,
            base_port=base_port,
        )
        try:
            note(f"starting {len(overlay):,} brokers, each a second of a processor")
            with showing_work() as show:
                running.start(lambda count: show("starting brokers", count, len(overlay)))
                show("waiting for links")
                running.wait_until_whole(_PATIENCE)
            _print(running, json=json)
            if not json:
                note(f"logs are in {folder}; Ctrl-C ends")
            with noting_signals() as signals:
                _watch(running, signals, seconds)
        finally:
            running.stop()


@contextmanager
def _folder(store: Path | None) -> Iterator[Path]:
    """Where a network keeps its things: the folder that was named, or one for this time."""
    if store is not None:
        yield store
        return
    folder = Path(tempfile.mkdtemp(prefix="twigcast-network-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _watch(running: LocalNetwork, signals: list[int], seconds: float | None) -> None:
    """Wait for the end, and report brokers that have ended before it."""
    deadline = None if seconds is None else time.monotonic() + seconds
    while not signals and (deadline is None or time.monotonic() < deadline):
        for broker in running.take_died():
            complain(broker.last_words())
            note(f"to bring it back: {shlex.join(running.command(broker.name))}")
        if not running.running:
            raise typer.Exit(1)
        time.sleep(_EVERY)


def _print(running: LocalNetwork, *, json: bool) -> None:
    if json:
        print_json({"folder": str(running.folder), "brokers": list(_rows(running))})
        sys.stdout.flush()
        return
    rows = []
    for row in _rows(running):
        web = [f"http://{row['http']}"] if row["http"] else []
        stands_for = [row["gateway"] or ""] if running.overlay.gateways else []
        rows.append((row["broker"], *stands_for, row["address"], *web, ", ".join(row["links"])))
    columns = ["broker", "address", "links"]
    if running.http_addresses:
        columns.insert(2, "http")
    if running.overlay.gateways:
        columns.insert(1, "gateway of")
    wide_output().print(make_table(columns, rows))
    sys.stdout.flush()


def _rows(running: LocalNetwork) -> Iterator[dict[str, Any]]:
    for name in running.overlay:
        yield {
            "broker": name,
            "gateway": running.overlay.gateways.get(name),
            "address": running.addresses[name],
            "http": running.http_addresses.get(name),
            "pid": running.processes[name].pid,
            "links": list(running.overlay.neighbours(name)),
        }
