"""The size of the factorization tree against that of its patterns: Table 2 of Chand and Felber."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

from lab.benchmarks.charts import Line, Panel
from lab.benchmarks.covering.bench import TREES
from lab.benchmarks.covering.speed import count_nodes
from lab.benchmarks.generated import Generated
from lab.benchmarks.measure import followed
from lab.experiments.outcomes import Cell, Experiment, Outcome, Setting, Sheet
from lab.published import PublishedSearch
from lab.published.figures import PATTERN_NODES, TREE_NODES, XSEARCH
from twigcast.covering import PatternSearch
from twigcast.workload import generate_subscriptions

_FULL: Final = (1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
_QUICK: Final = (1_000, 2_000, 5_000, 10_000, 20_000)


def factorization_size(setting: Setting) -> Outcome:
    """Add patterns in XNET's setting and count nodes at each size."""
    sizes = _FULL if setting.full else _QUICK
    source = generate_subscriptions(setting.schema, TREES, seed=setting.seed)
    patterns = Generated("trees", source).take(max(sizes), setting.progress)
    ours, published = PatternSearch(), PublishedSearch()
    rows: list[list[Cell]] = []
    nodes = descents = 0
    for done, size in pairwise((0, *sizes)):
        added = patterns[done:size]
        if len(added) < size - done:
            break
        for pattern in followed(added, f"adding up to {size:,} patterns", setting.progress):
            ours.add(pattern)
            published.add(pattern)
        steps, behind = count_nodes(added)
        nodes += steps
        descents += behind
        printed, printed_tree = PATTERN_NODES[size], TREE_NODES[size]
        rows.append(
            [
                size,
                printed,
                printed_tree,
                printed_tree / printed,
                nodes + descents,
                published.trie_nodes,
                published.trie_nodes / (nodes + descents),
                nodes,
                ours.trie_nodes,
                ours.trie_nodes / nodes,
            ]
        )
    columns = (
        "patterns",
        *(
            f"{who} {what}"
            for who in ("paper", "rebuilt", "ours")
            for what in ("Σ|s|", "|T(R)|", "share")
        ),
    )
    remarks = [
        (
            "'rebuilt' is the paper's tree, built here: // is a node of its own, in patterns and "
            "in the tree.  Ours is a tree of their paths, and keeps // with the step behind it."
        ),
    ]
    if len(rows) < len(sizes):
        remarks.append(f"The DTD has {len(patterns):,} distinct patterns, or hardly more.")
    return Outcome(
        [Sheet("factorization-size", "Table 2: nodes of patterns and of trees", columns, rows)],
        [_panel(rows)],
        remarks,
    )


def _panel(rows: list[list[Cell]]) -> Panel:
    def line(label: str, column: int, style: int) -> Line:
        return Line(label, [(_number(row[0]), _number(row[column])) for row in rows], style)

    return Panel(
        "Nodes of the factorization tree ÷ nodes of all patterns",
        "patterns",
        "share",
        [
            line("twigcast", 9, 0),
            line("XSEARCH as published, built here", 6, 1),
            Line(
                f"{XSEARCH}, Table 2",
                [(size, TREE_NODES[size] / PATTERN_NODES[size]) for size in TREE_NODES],
                4,
                published=True,
            ),
        ],
        log_across=True,
    )


def _number(cell: Cell) -> float:
    assert isinstance(cell, (int, float))
    return cell


EXPERIMENT: Final = Experiment(
    "factorization-size",
    "the nodes of the factorization tree beside those of its patterns",
    f"{XSEARCH}, Table 2",
    factorization_size,
)
