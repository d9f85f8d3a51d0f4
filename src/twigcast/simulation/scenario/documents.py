"""The documents that a scenario publishes: made from advertised schemas, or read from files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import cycle, islice
from pathlib import Path

from twigcast.documents import decompose
from twigcast.errors import DocumentError, NetworkError, OverlayError, ScenarioError, WorkloadError
from twigcast.routing import Anything, ClientPlan, Promise
from twigcast.schema import Schema
from twigcast.simulation.scenario.clients import derived_seed
from twigcast.simulation.scenario.workload import SimulatedDocument
from twigcast.workload import DocumentParameters, generate_documents


def draw_documents(clients: Iterable[ClientPlan], count: int, seed: int) -> list[SimulatedDocument]:
    """Documents of the schemas that clients advertise, each of these publishing in turn.

    Clients with the same schema share one sequence of documents, so how many there are does not
    change what is published.
    """
    streams: dict[Schema, Iterator[bytes]] = {}
    turns: list[tuple[str, Iterator[bytes]]] = []
    for client in clients:
        for promise in client.advertisements.values():
            if isinstance(promise, Schema):
                if promise not in streams:
                    drawn = generate_documents(
                        promise, DocumentParameters(), seed=derived_seed(seed, len(streams))
                    )
                    streams[promise] = drawn
                turns.append((client.name, streams[promise]))
    if not turns:
        raise WorkloadError(
            "no client advertises a schema to make documents from; name files to publish"
        )
    return [
        SimulatedDocument(f"document {number}", producer, next(documents))
        for number, (producer, documents) in enumerate(islice(cycle(turns), count), start=1)
    ]


def read_documents(clients: Iterable[ClientPlan], names: Sequence[str]) -> list[SimulatedDocument]:
    """The documents of files, and of the ``.xml`` files in folders.

    Each is published by a client that has promised it, these in turn.  Raises DocumentError for
    what is not well-formed, NetworkError for what nobody promises, and ScenarioError for a file
    that is not there.
    """
    producers = [client for client in clients if client.advertisements]
    if not producers:
        raise OverlayError(
            "no client advertises anything, so none may publish; give one an advertisement, as in "
            'advertises = [{ id = "all", anything = true }]'
        )
    documents = []
    turn = 0
    for name in _files(names):
        content = Path(name).read_bytes()
        try:
            paths = [each.path for each in decompose(content, name)]
        except DocumentError as error:
            raise DocumentError(f"{name}: {error}") from None
        for offset in range(len(producers)):
            client = producers[(turn + offset) % len(producers)]
            if any(_keeps(promise, paths) for promise in client.advertisements.values()):
                documents.append(SimulatedDocument(name, client.name, content))
                turn += offset + 1
                break
        else:
            raise NetworkError(
                f"{name}: no client advertises such documents; leave it out, or let one advertise "
                "its schema, or anything"
            )
    if not documents:
        raise WorkloadError(f"no .xml file in {', '.join(names)}; name others")
    return documents


def _files(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if Path(name).is_dir():
            files = (file for file in Path(name).rglob("*.xml") if file.is_file())
            yield from map(str, sorted(files))
        elif Path(name).is_file():
            yield name
        else:
            raise ScenarioError(f"{name} is not here; name other `files`, or leave them out")


def _keeps(promise: Promise, paths: Iterable[Sequence[tuple[str, str]]]) -> bool:
    """Whether a document with these paths is one that was promised, as far as its paths show."""
    if isinstance(promise, Anything):
        return True
    return all(promise.automaton.matches_path(path) for path in paths)
