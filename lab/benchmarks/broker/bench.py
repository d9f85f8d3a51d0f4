"""What the rows of the broker benchmark share: sizes, documents, subscriptions, networks.

Brokers are processes, and so is everybody who publishes, subscribes or holds connections
(:mod:`~lab.benchmarks.broker.load`): nobody who is measured shares an interpreter with
anybody else, or with this one, which only gives orders and reads answers.  All of them share the
machine, so a figure is that of brokers and clients together on its cores.

Nothing here needs gRPC until a network is asked for, so the other benchmarks run without it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lab.benchmarks.broker.load import Load
from lab.benchmarks.generated import Generated
from lab.benchmarks.matching.bench import PATHS, fill
from lab.benchmarks.matching.scale import absent_paths
from lab.benchmarks.measure import Progress, quiet
from lab.benchmarks.results import Goal
from twigcast.routing import Overlay
from twigcast.schema import Schema
from twigcast.workload import DocumentParameters, generate_documents, generate_subscriptions

if TYPE_CHECKING:
    from twigcast.broker import LocalNetwork

DOCUMENTS: Final = DocumentParameters(levels=10, size=5_000)
HELD_TOGETHER: Final = 10
"""Expressions of one subscription of the client that holds those that do not match."""

_PREFIX: Final = "twigcast-bench-"
_DRAWN: Final = 2
"""So many are drawn for each that matches no document."""


@dataclass(frozen=True, slots=True)
class BrokerSizes:
    """How much each row does; the sizes that the goals are about by default."""

    name: str = "full"
    documents: int = 500
    """Distinct documents, which are published again and again."""
    subscriptions: int = 10_000
    ephemeral: int = 20_000
    """Publications of one round; likewise below."""
    durable: int = 10_000
    fanned: int = 390
    """Publications of a round that go to hundreds of subscriptions."""
    stalled: int = 1_000
    """Subscriptions that take nothing."""
    singly: int = 2_000
    """Publications of a round beside them, one after the other."""
    chained: int = 10_000
    timed: int = 5_000
    """Publications whose latency is taken, at half the rate that the chain sustains."""
    brokers: int = 4
    clients: int = 1_000
    expressions: int = 100
    """Of each of these clients."""
    processes: int = 4
    """Among which these clients are divided."""
    spread: int = 60
    """Subscriptions whose time to the other end is measured."""
    spread_brokers: int = 3


FULL_BROKER: Final = BrokerSizes()
QUICK_BROKER: Final = BrokerSizes(
    name="quick",
    documents=100,
    subscriptions=1_000,
    ephemeral=4_000,
    durable=2_000,
    fanned=117,
    stalled=200,
    singly=400,
    chained=2_000,
    timed=1_000,
    brokers=3,
    clients=100,
    expressions=20,
    processes=2,
    spread=10,
    spread_brokers=2,
)


class BrokerBench:
    """One run of the benchmark: where its workload comes from and how often it is timed."""

    def __init__(
        self,
        schema: Schema,
        sizes: BrokerSizes,
        *,
        seed: int,
        rounds: int,
        progress: Progress = quiet,
    ) -> None:
        self.sizes = sizes
        self.seed = seed
        self.rounds = rounds
        self.progress = progress
        self.everything = f"/{schema.root}"
        """The expression that every document matches."""
        self._schema = schema
        self._scratch = Path(tempfile.gettempdir())
        self._paths = Generated("paths", map(str, generate_subscriptions(schema, PATHS, seed=seed)))

    @cached_property
    def documents(self) -> list[bytes]:
        """The documents that are published."""
        self.progress(f"making {self.sizes.documents:,} documents")
        made = generate_documents(self._schema, DOCUMENTS, seed=self.seed)
        return list(islice(made, self.sizes.documents))

    @property
    def mean_bytes(self) -> float:
        """The size of a document, on average."""
        return sum(map(len, self.documents)) / len(self.documents)

    def paths(self, count: int) -> list[str]:
        """That many distinct linear subscriptions; what the schema lacks has names of its own."""
        drawn = self._paths.take(count, self.progress)
        return [*drawn, *absent_paths(drawn, count - len(drawn), self.seed)]

    def silent_paths(self, count: int) -> list[str]:
        """That many distinct linear subscriptions that match none of the documents."""
        drawn = self._paths.take(_DRAWN * count, self.progress)
        batch = fill(drawn).match_batch(self.documents)
        matching = {int(batch.key(number)[1:]) for number in set(batch.ids)}
        silent = [text for number, text in enumerate(drawn) if number not in matching][:count]
        return [*silent, *absent_paths(drawn, count - len(silent), self.seed)]

    def goal(self, bound: float, *sizes: str, least: bool = False) -> Goal:
        """A bound on a figure; it applies where the sizes of those names are the full ones."""
        full = all(getattr(self.sizes, size) == getattr(FULL_BROKER, size) for size in sizes)
        return Goal(bound, least, applies=full)

    @contextmanager
    def scratch(self) -> Iterator[None]:
        """A folder for stores, logs and what is read by the load; it goes at the end."""
        with tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True) as name:
            self._scratch = Path(name)
            yield

    def file(self, texts: Sequence[str]) -> str:
        """The name of a file with these expressions, one a line."""
        with tempfile.NamedTemporaryFile(
            "w", dir=self._scratch, suffix=".txt", encoding="utf-8", delete=False
        ) as file:
            file.writelines(f"{text}\n" for text in texts)
        return file.name

    @cached_property
    def document_folder(self) -> str:
        """A folder with the documents, for those who publish."""
        return self.folder_of(self.documents)

    def folder_of(self, documents: Iterable[bytes]) -> str:
        """A folder with documents, a file each."""
        folder = Path(tempfile.mkdtemp(dir=self._scratch))
        for number, document in enumerate(documents):
            (folder / f"{number:06}.xml").write_bytes(document)
        return str(folder)

    @contextmanager
    def network(
        self, brokers: int, *, store: bool = False, settings: str = ""
    ) -> Iterator[LocalNetwork]:
        """A chain of so many brokers, named ``b0``, ``b1``, and so on; without stores or with.

        ``settings`` are those of their configuration, where they are not the usual ones.
        """
        from twigcast.broker import LocalNetwork

        names = [f"b{number}" for number in range(brokers)]
        overlay = Overlay(names, list(pairwise(names)))
        with (
            tempfile.TemporaryDirectory(dir=self._scratch, ignore_cleanup_errors=True) as folder,
            LocalNetwork(
                overlay, folder, store=store, extra_arguments=_configured(folder, settings)
            ) as network,
        ):
            yield network

    @contextmanager
    def loads(self) -> Iterator[Loads]:
        """Processes that make load; they end with the block."""
        with ExitStack() as stack:
            yield Loads(stack, self._scratch)


def _configured(folder: str, settings: str) -> list[str]:
    if not settings:
        return []
    file = Path(folder) / "settings.toml"
    file.write_text(settings, encoding="utf-8")
    return ["--config", str(file)]


class Loads:
    """Starts processes that make load, and ends them together."""

    def __init__(self, stack: ExitStack, folder: Path) -> None:
        self._stack = stack
        self._folder = folder
        self._starting: list[Load] = []

    def begin(self, role: str, **parameters: object) -> Load:
        """Start a process of that role; see :meth:`wait`."""
        load = self._stack.enter_context(Load(role, parameters, self._folder / f"{role}.log"))
        self._starting.append(load)
        return load

    def wait(self) -> None:
        """Wait until all that have been started are ready."""
        for load in self._starting:
            load.ready = load.hear()
        self._starting.clear()
