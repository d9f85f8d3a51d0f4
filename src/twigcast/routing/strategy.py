"""How a network spreads subscriptions, as a value.

The six strategies that Li, Hou and Jacobsen compare (section 5), and XNET's::

                                  towards          covering   merging
    flooding                      everyone         no         no
    covering                      everyone         yes        no
    advertisements                advertisements   no         no
    advertisements-covering       advertisements   yes        no
    perfect-merging               advertisements   yes        D = 0
    imperfect-merging             advertisements   yes        D ≤ 0.1
    xnet                          producers        yes        no
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final


class Towards(Enum):
    """To which brokers a subscription is sent."""

    EVERYONE = "everyone"
    """All of them; a document may come from anywhere."""
    PRODUCERS = "producers"
    """Those on the path to a producer, whatever it publishes."""
    ADVERTISEMENTS = "advertisements"
    """Those on the path to a producer that advertises what may match."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """Where subscriptions go, and how brokers aggregate them.

    ``merging`` is the degree of imperfection that a merger may have (0: perfect ones only), or
    None for no merging.  Degrees are counted from the advertised schemas, over paths of at most
    ``depth`` elements.  Where brokers are arranged in units (:mod:`twigcast.hierarchy`), a unit
    tells the one around it at most ``most_patterns``, and hears no more from there; what does not
    fit is cut to wider patterns, so documents may come to a gateway in vain.  None is for no limit.
    """

    towards: Towards = Towards.ADVERTISEMENTS
    covering: bool = True
    merging: float | None = None
    depth: int = 10
    most_patterns: int | None = None

    def __post_init__(self) -> None:
        if self.most_patterns is not None and self.most_patterns < 1:
            raise ValueError(f"a unit tells 1 pattern at least, not {self.most_patterns}")
        if self.merging is None:
            return
        if not 0 <= self.merging <= 1:
            raise ValueError(f"the degree of a merger is from 0 to 1, not {self.merging}")
        if not self.covering:
            raise ValueError("merging starts from what covering leaves: set covering=True")
        if self.towards is not Towards.ADVERTISEMENTS:
            raise ValueError(
                "merging counts paths of advertised schemas: set towards=Towards.ADVERTISEMENTS"
            )

    @property
    def name(self) -> str:
        """The name in :data:`STRATEGIES`, or a description; without ``most_patterns``."""
        for name, strategy in STRATEGIES.items():
            if strategy == replace(self, most_patterns=None):
                return name
        if self == Strategy(merging=self.merging, most_patterns=self.most_patterns):
            return f"imperfect-merging:{self.merging!r}"
        parts = [f"towards {self.towards.value}"]
        if self.covering:
            parts.append("covering")
        if self.merging is not None:
            parts.append(f"merging D ≤ {self.merging:g} to depth {self.depth}")
        return ", ".join(parts)

    @staticmethod
    def of(strategy: Strategy | str | None) -> Strategy:
        """A strategy as it is or by its name; the default one for None."""
        if isinstance(strategy, str):
            return Strategy.named(strategy)
        if strategy is None:
            return Strategy()
        if not isinstance(strategy, Strategy):
            raise TypeError(f"a Strategy or its name is needed, not {type(strategy).__name__}")
        return strategy

    @staticmethod
    def named(name: str) -> Strategy:
        """The strategy of that name; ``imperfect-merging:0.2`` sets the degree."""
        strategy = STRATEGIES.get(name)
        if strategy is not None:
            return strategy
        if name.startswith(_DEGREE):
            degree = name.removeprefix(_DEGREE)
            try:
                return Strategy(merging=float(degree))
            except ValueError:
                raise ValueError(
                    f"{name}: the degree of a merger is a number from 0 to 1, not {degree!r}"
                ) from None
        raise ValueError(f"there is no strategy {name!r}; choose one of: {', '.join(STRATEGIES)}")


_DEGREE: Final = "imperfect-merging:"
STRATEGIES: Final = {
    "flooding": Strategy(Towards.EVERYONE, covering=False),
    "covering": Strategy(Towards.EVERYONE),
    "advertisements": Strategy(covering=False),
    "advertisements-covering": Strategy(),
    "perfect-merging": Strategy(merging=0.0),
    "imperfect-merging": Strategy(merging=0.1),
    "xnet": Strategy(Towards.PRODUCERS),
}
PAPER_STRATEGIES: Final = tuple(name for name in STRATEGIES if name != "xnet")
"""Those of the tables of Li, Hou and Jacobsen, in their order."""
