"""A simulation that is held against an observer who knows everything.

    Simulation ──► links that lose, double, reorder, delay ──► tables, deliveries, crossings
         │                              │                                  │
         │                              └──► Witness: what holds at any time
         └── judge ──► World ──► Oracle: what must have come of it ──► checks ──► what is wrong

In :mod:`~lab.histories.running` messages arrive in any order, but each does.  Here
they are frames on links that lose them, and arrive because sessions see to it, while links slow
down, are cut, and brokers crash.  When all has come to rest nobody may see a difference.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from lab.histories.checks import wrong_at_rest
from lab.histories.oracle import Oracle, World
from lab.histories.witness import Publication, Witness
from twigcast.documents import Source
from twigcast.routing import GATHERING, Overlay, Promise, Strategy
from twigcast.simulation import Conditions, Fault, Simulation


class Draft(NamedTuple):
    """A document that is to be published at rest, and the promises that it keeps."""

    client: str
    content: str
    promises: tuple[Promise, ...] = ()


class JudgedSimulation(Simulation):
    """A simulation with a witness; ``conditions`` are those of every link.

    Cost: that of the oracle, which asks patterns one by one; for small networks.
    """

    def __init__(
        self,
        overlay: Overlay,
        strategy: Strategy,
        *,
        seed: int = 0,
        conditions: Conditions | None = None,
        gathering: float = GATHERING,
        faults: Iterable[Fault] = (),
    ) -> None:
        given = Conditions() if conditions is None else conditions
        self._witness = Witness()
        super().__init__(
            overlay,
            strategy,
            seed=seed,
            loss=given.loss,
            duplication=given.duplication,
            reordering=given.reordering,
            jitter=given.jitter,
            gathering=gathering,
            faults=faults,
            observer=self._witness,
        )

    def crash(self, broker: str) -> None:
        """Let a broker lose everything, also which documents it has sent on."""
        super().crash(broker)
        self._witness.lives[broker] += 1

    def publish(self, client: str, content: Source, *, scope: str = "") -> None:
        """Publish a document at any time; nobody may get it twice, or without wanting it."""
        assert not scope, "the oracle is that of a flat network"
        text = content if isinstance(content, str) else bytes(content).decode()
        self._publish(Draft(client, text))

    def judge(self, drafts: Iterable[Draft] = ()) -> list[str]:
        """Come to rest, publish these, and come to rest again: what is wrong, in words."""
        self.run()
        exact = [self._publish(draft) for draft in drafts]
        self.run()
        oracle = Oracle(World.of(self.network))
        return [*self._witness.wrong, *wrong_at_rest(self.network, oracle, exact)]

    def _publish(self, draft: Draft) -> Publication:
        world = World.of(self.network)
        content = draft.content.encode()  # an object of its own, by which the witness knows it
        publication = Publication.of(
            draft.client,
            world.clients[draft.client],
            world.strategy,
            content,
            draft.promises,
        )
        self._witness.publish(publication)
        super().publish(draft.client, content)
        return publication
