"""Overlays of known shape: chains, stars, trees and random ones, from a call or from a short text.

    tree:levels=3,fanout=2          chain:count=5          star:count=9          draft
    random:count=20,extra=5,seed=1,cost=1..4,latency=5..40
    hierarchy:2x3x4,gateways=2      (2 units of 3 units of 4 brokers: twigcast.hierarchy)
    offices.toml                    (a network file: twigcast.routing.network_file)

Each may say ``latency=`` in milliseconds.  Brokers are named ``b1``, ``b2``, … with as many digits
as the last one has, so that names sort as numbers do: ``b001`` is the first of 100 and more.

Cost: linear in brokers and links; a thousand brokers take milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from math import isqrt, prod
from pathlib import Path
from random import Random
from typing import Final, NamedTuple, NoReturn

from twigcast.errors import OverlayError
from twigcast.hierarchy import MOST_LEVELS, MOST_MEMBERS, read_network
from twigcast.routing import Link, LinkTraits, NetworkPlan, Overlay

MOST_BROKERS: Final = 100_000
MOST_LINKS: Final = 1_000_000
"""What a text may ask for, so that a slip of the finger does not fill the memory."""

_COST = LinkTraits().cost
_LATENCY = LinkTraits().latency


def chain(count: int, *, latency: float = _LATENCY) -> Overlay:
    """Brokers in a row; ``latency`` is that of every link, in seconds, here and below."""
    _require_count("chain", count)
    return _overlay(count, ((number - 1, number) for number in range(1, count)), latency)


def star(count: int, *, latency: float = _LATENCY) -> Overlay:
    """The first broker in the middle, ``count - 1`` around it."""
    _require_count("star", count)
    return _overlay(count, ((0, number) for number in range(1, count)), latency)


def balanced_tree(levels: int, fanout: int, *, latency: float = _LATENCY) -> Overlay:
    """The first broker at the root, ``fanout`` below every one that is not on the last level.

    Li, Hou and Jacobsen's published experiments have fanout 2 and 3 or 7 levels.
    """
    for name, value in (("levels", levels), ("fanout", fanout)):
        if value < 1:
            raise OverlayError(f"{name} of a tree is 1 at least, not {value}")
    count = 0
    on_level = 1
    for _ in range(levels):
        count += on_level
        on_level *= fanout
        _require_count("tree", count)
    pairs = (((number - 1) // fanout, number) for number in range(1, count))
    return _overlay(count, pairs, latency)


def draft_tree(*, latency: float = _LATENCY) -> Overlay:
    """The 8 brokers of the draft of Li, Hou and Jacobsen, as far as its text says.

    ::

                   b1              one publisher
              b2        b3
           b4    b5  b6    b7
        b8                         one subscriber each: b5, b6, b7, b8

    "Starting from a root broker which is connected to one publisher, all brokers except the leaves
    are connected to one or two subordinate brokers"; the figure is not part of the text, so this
    tree is our choice.  Its table speaks for it: flooding takes the subscriptions of four leaves to
    8 brokers each, 32 in all; advertisements save 18,289 of 58,138 messages, so to 13.7 at most.
    There are 13 on the four paths to this root, and more in every other tree that is allowed.
    """
    return _overlay(8, [(0, 1), (0, 2), (1, 3), (1, 4), (2, 5), (2, 6), (3, 7)], latency)


def random_connected(
    count: int,
    extra: int = 0,
    seed: int = 0,
    *,
    costs: tuple[float, float] = (_COST, _COST),
    latencies: tuple[float, float] = (_LATENCY, _LATENCY),
) -> Overlay:
    """A random spanning tree and ``extra`` redundant links; the same for the same arguments.

    The tree grows as networks do: each broker joins one that is there already, whichever.  The
    other links are drawn from all pairs that are left.  Costs and latencies lie evenly between
    their bounds, and do not change which links there are.
    """
    _require_count("random overlay", count)
    pairs = count * (count - 1) // 2
    most = min(pairs, MOST_LINKS) - (count - 1)
    if not 0 <= extra <= most:
        raise OverlayError(
            f"{count:,} brokers have room for 0 to {most:,} redundant links, not {extra:,}"
        )
    for name, (least, greatest) in (("costs", costs), ("latencies", latencies)):
        if not least <= greatest:
            raise OverlayError(
                f"{name} lie between two bounds, the lesser first: {greatest} < {least}"
            )
    random = Random(seed)
    tree = [(random.randrange(number), number) for number in range(1, count)]
    # As many more as the tree may have among them; of a sample every part is a sample.
    drawn = map(_pair, random.sample(range(pairs), extra + count - 1))
    in_tree = set(tree)
    redundant = [pair for pair in drawn if pair not in in_tree][:extra]
    names = broker_names(count)
    return Overlay(
        names,
        {
            Link(names[one], names[other]): LinkTraits(
                random.uniform(*costs), random.uniform(*latencies)
            )
            for one, other in (*tree, *redundant)
        },
    )


def hierarchy(sizes: Sequence[int], gateways: int = 1, *, latency: float = _LATENCY) -> Overlay:
    """Units of units of brokers, so many in each: of sizes 2, 3 and 4, 24 brokers in 6 clusters.

    The members of a unit are linked as a tree of fanout 2.  The first ``gateways`` of them stand
    for it; where there are several, each is linked to one of every unit that the tree links.
    """
    count = prod(sizes)
    if not 0 < len(sizes) <= MOST_LEVELS:
        raise OverlayError(f"a hierarchy has 1 to {MOST_LEVELS} levels, not {len(sizes)}")
    for size in sizes:
        if not 1 <= size <= MOST_MEMBERS:
            raise OverlayError(f"a unit has 1 to {MOST_MEMBERS} members, not {size}")
    _require_count("hierarchy", count)
    most = min(sizes[1:], default=1)
    if not 1 <= gateways <= most:
        raise OverlayError(
            f"{gateways} gateways are too many or too few: the smallest unit has {most} members"
        )
    pairs: set[tuple[str, str]] = set()
    standing: dict[str, str] = {}

    def build(unit: str, sizes: Sequence[int]) -> list[str]:
        """Link the members of a unit; those who stand for it."""
        names = [f"{unit}/{name}" if unit else name for name in _member_names(sizes)]
        members = [build(name, sizes[1:]) if sizes[1:] else [name] for name in names]
        for number, member in enumerate(members[1:], start=1):
            above = members[(number - 1) // 2]
            pairs.update(zip(above, member, strict=True))
        chosen = [brokers[0] for brokers in members[:gateways]]
        standing.update(dict.fromkeys(chosen if unit else (), unit))
        return chosen

    build("", sizes)
    brokers = _paths(sizes)
    return Overlay(brokers, {pair: LinkTraits(latency=latency) for pair in sorted(pairs)}, standing)


def _paths(sizes: Sequence[int]) -> list[str]:
    """The names of all brokers of a hierarchy."""
    if len(sizes) == 1:
        return _member_names(sizes)
    below = _paths(sizes[1:])
    return [f"{unit}/{name}" for unit in _member_names(sizes) for name in below]


def _member_names(sizes: Sequence[int]) -> list[str]:
    letter = "b" if len(sizes) == 1 else "cst"[len(sizes) - 2]
    return [f"{letter}{number:0{len(str(sizes[0]))}}" for number in range(1, sizes[0] + 1)]


def _pair(index: int) -> tuple[int, int]:
    """The pair at an index of the list (0, 1), (0, 2), (1, 2), (0, 3), (1, 3), (2, 3) and so on."""
    second = (1 + isqrt(1 + 8 * index)) // 2
    return index - second * (second - 1) // 2, second


def broker_names(count: int) -> list[str]:
    """So many names that sort as their numbers do."""
    width = len(str(count))
    return [f"b{number:0{width}}" for number in range(1, count + 1)]


def _require_count(shape: str, count: int) -> None:
    if not 1 <= count <= MOST_BROKERS:
        raise OverlayError(f"a {shape} has 1 to {MOST_BROKERS:,} brokers, not {count:,}")


def _overlay(count: int, pairs: Iterable[tuple[int, int]], latency: float) -> Overlay:
    names = broker_names(count)
    traits = LinkTraits(latency=latency)
    return Overlay(names, {Link(names[one], names[other]): traits for one, other in pairs})


# --- the text --------------------------------------------------------------------------------


class _Shape(NamedTuple):
    """A word that a text may begin with; ``example`` shows what may follow."""

    build: Callable[..., Overlay]
    example: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ("latency",)
    unnamed: str = ""
    """The setting that may stand first without its name."""


_SHAPES: Final = {
    "tree": _Shape(balanced_tree, "tree:levels=3,fanout=2", ("levels", "fanout")),
    "chain": _Shape(chain, "chain:count=5", ("count",)),
    "star": _Shape(star, "star:count=9", ("count",)),
    "draft": _Shape(draft_tree, "draft", ()),
    "random": _Shape(
        random_connected,
        "random:count=20,extra=5,seed=1",
        ("count",),
        ("extra", "seed", "cost", "latency"),
    ),
    "hierarchy": _Shape(
        hierarchy,
        "hierarchy:2x3x4,gateways=2",
        ("sizes",),
        ("gateways", "latency"),
        unnamed="sizes",
    ),
}


def parse_topology(text: str) -> Overlay:
    """The overlay of :func:`parse_plan`."""
    return parse_plan(text).overlay


def parse_plan(text: str) -> NetworkPlan:
    """What a network file describes; or the overlay that a text describes (see above).

    Without them ``extra`` and ``seed`` are 0, ``cost`` is 1 and ``latency`` 1 millisecond; for a
    random overlay the last two may be ranges.  Raises :class:`~twigcast.errors.OverlayError` with
    the text, what is wrong with it and what is allowed.
    """
    word, _, settings = text.partition(":")
    shape = _SHAPES.get(word)
    if shape is None:
        if text.endswith(".toml") or Path(text).is_file():
            return read_network(text)
        _refuse_word(text, word)
    arguments: dict[str, int | float | tuple[float, ...]] = {}
    for name, value in _settings(text, shape, settings).items():
        if name == "sizes":
            arguments[name] = tuple(_whole(text, name, each) for each in value.split("x"))
            continue
        if name not in ("cost", "latency"):
            arguments[name] = _whole(text, name, value)
            continue
        low, high = _bounds(text, name, value, may_differ=word == "random")
        if name == "latency":
            low, high = low / 1000, high / 1000
        if word == "random":
            arguments["costs" if name == "cost" else "latencies"] = low, high
        else:
            arguments[name] = low
    try:
        return NetworkPlan(shape.build(**arguments))
    except OverlayError as error:
        raise OverlayError(f"the topology {text!r}: {error}") from None


def _refuse_word(text: str, word: str) -> NoReturn:
    near = get_close_matches(word.strip().lower(), _SHAPES, 1)
    hint = f"did you mean {_SHAPES[near[0]].example!r}? " if near else ""
    examples = ", ".join(shape.example for shape in _SHAPES.values())
    raise OverlayError(
        f"the topology {text!r}: there is no shape and no file of that name; {hint}"
        f"allowed are: {examples}, or the path of a network file (.toml)"
    )


def _settings(text: str, shape: _Shape, settings: str) -> dict[str, str]:
    allowed = (*shape.required, *shape.optional)
    form = f"allowed are {', '.join(allowed)}, as in {shape.example!r}"
    given: dict[str, str] = {}
    for setting in settings.split(",") if settings.strip() else ():
        name, equals, value = map(str.strip, setting.partition("="))
        if not equals and not given and shape.unnamed:
            name, equals, value = shape.unnamed, "=", name
        if not equals or name not in allowed:
            near = get_close_matches(name, allowed, 1)
            hint = f" (did you mean {near[0]}=?)" if near else ""
            raise OverlayError(
                f"the topology {text!r}: {setting.strip()!r} is no setting{hint}; {form}"
            )
        if name in given:
            raise OverlayError(f"the topology {text!r}: {name} is set twice; leave one out")
        given[name] = value
    missing = [name for name in shape.required if name not in given]
    if missing:
        raise OverlayError(f"the topology {text!r}: {' and '.join(missing)} missing; {form}")
    return given


def _whole(text: str, name: str, value: str) -> int:
    if not re.fullmatch("[0-9]{1,18}", value):
        raise OverlayError(f"the topology {text!r}: {name} is a whole number, not {value!r}")
    return int(value)


_NUMBER = r"[0-9]+(?:\.[0-9]+)?|\.[0-9]+"


def _bounds(text: str, name: str, value: str, *, may_differ: bool) -> tuple[float, float]:
    match = re.fullmatch(rf"({_NUMBER})(?:\.\.({_NUMBER}))?", value)
    if match is None or (match[2] and not may_differ):
        form = "a number (12.5) or a range (5..20)" if may_differ else "a number (12.5)"
        unit = "milliseconds, " if name == "latency" else ""
        raise OverlayError(f"the topology {text!r}: {name} is {unit}{form}, not {value!r}")
    return float(match[1]), float(match[2] or match[1])
