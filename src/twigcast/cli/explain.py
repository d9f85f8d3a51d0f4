"""``twigcast match --explain``: why a subscription matches a document, or does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from typing import Final

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from twigcast.cli.console import complain, output, print_json, read_bytes, with_progress
from twigcast.documents import Document, read_document
from twigcast.errors import DocumentError, ExplanationBudgetError
from twigcast.language import Subscription
from twigcast.matching import Explanation, Finding, Outcome, explain

_MOST_EXPLAINED: Final = 20
_NARROWEST: Final = 60
_PLAIN_MARKS: Final = {"✓": "+", "✗": "x", "–": "-"}
_STYLES: Final = {
    Outcome.HOLDS: "green",
    Outcome.FAILS: "red",
    Outcome.NO_VALUE: "red",
    Outcome.IS: "dim",
    Outcome.NOT_REACHED: "dim",
}


def choose_subscriptions(
    subscriptions: Iterator[Subscription], path: str, keys: list[str]
) -> list[Subscription]:
    """The subscriptions to explain, in the order of the file."""
    if not keys:
        chosen = list(islice(subscriptions, _MOST_EXPLAINED + 1))
        if len(chosen) > _MOST_EXPLAINED:
            complain(
                f"{path} has more than {_MOST_EXPLAINED} subscriptions; "
                "name those to explain with --key"
            )
            raise typer.Exit(2)
        return chosen
    missing = dict.fromkeys(keys)
    chosen = []
    for subscription in with_progress(subscriptions, "reading"):
        if subscription.key in missing:
            chosen.append(subscription)
            del missing[subscription.key]
            if not missing:
                return chosen
    complain(f"{path} has no subscription with the key {' or '.join(missing)}")
    raise typer.Exit(2)


def explain_files(chosen: list[Subscription], names: list[str], *, json: bool) -> None:
    """Print, for each file, why each subscription matches it or not."""
    failed = False
    for name in with_progress(names, "explaining", len(names), printing=True):
        try:
            document = read_document(read_bytes(name))
        except (DocumentError, OSError) as error:
            failed = True
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            _print_unreadable(name, reason, json=json)
            continue
        explained = ((entry, _explain_within_budget(entry, document)) for entry in chosen)
        if json:
            for entry, explanation in explained:
                line = {"document": name, "key": entry.key, "subscription": entry.xpath}
                if isinstance(explanation, ExplanationBudgetError):
                    print_json(line | {"error": str(explanation)})
                else:
                    print_json(line | asdict(explanation) | {"reasons": explanation.reasons})
        else:
            _print_tree(name, explained)
    if failed:
        raise typer.Exit(1)


def _explain_within_budget(
    entry: Subscription, document: Document
) -> Explanation | ExplanationBudgetError:
    try:
        return explain(entry.pattern, document)
    except ExplanationBudgetError as error:
        return error


def _print_unreadable(name: str, reason: str, *, json: bool) -> None:
    if json:
        print_json({"document": name, "error": reason})
    else:
        output().print(Text.assemble((name, "bold"), " ", (reason, "red")))


def _print_tree(
    name: str, explained: Iterator[tuple[Subscription, Explanation | ExplanationBudgetError]]
) -> None:
    console = output()
    tree = Tree(Text(name, style="bold"))
    depth = 0
    for subscription, explanation in explained:
        if isinstance(explanation, ExplanationBudgetError):
            label = Text.assemble((subscription.key, "bold"), f": {subscription.xpath}")
            tree.add(label).add(Text(str(explanation), style="red"))
            continue
        answer, outcome = ("does not match", Outcome.FAILS)
        if explanation.matches:
            answer, outcome = ("matches", Outcome.HOLDS)
        label = _marked(console, outcome, "").append(subscription.key, style="bold")
        branch = tree.add(label.append(f" {answer}: {subscription.xpath}"))
        depth = max([depth, *(_add(console, branch, f) for f in explanation.alternatives)])
        if not explanation.alternatives:
            branch.add(Text(explanation.reasons[0]))
    # Each level is indented by four; the innermost text needs room beside that.
    console.width = max(console.width, 4 * (depth + 1) + _NARROWEST)
    console.print(tree)


def _add(console: Console, branch: Tree, finding: Finding) -> int:
    """Add a finding and its parts to the tree; how many levels they take."""
    below = branch.add(_marked(console, finding.outcome, finding.sentence))
    return 1 + max([0, *(_add(console, below, part) for part in finding.parts)])


def _marked(console: Console, outcome: Outcome, sentence: str) -> Text:
    mark = outcome.mark
    if console.options.ascii_only:
        mark = _PLAIN_MARKS.get(mark, mark)
    return Text.assemble((mark, _STYLES[outcome]), f" {sentence}")
