"""``twigcast generate``: workloads from a DTD or an XSD."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from twigcast.cli.console import read_schema, with_progress
from twigcast.cli.workload_options import (
    BranchingOption,
    DescendantOption,
    LengthOption,
    RootOption,
    ShapeOption,
    SkewOption,
    ValuesOption,
    WildcardOption,
)
from twigcast.workload import (
    DocumentParameters,
    Shape,
    ValueParameters,
    Vocabulary,
    generate_documents,
    generate_subscriptions,
    pattern_parameters,
)

generate = typer.Typer(
    name="generate",
    help="Make subscriptions or documents from a DTD or an XSD.",
    no_args_is_help=True,
)

_Dtd = Annotated[str, typer.Option("--dtd", "--xsd", help="The file of the DTD or XSD.")]
_Count = Annotated[int, typer.Option(min=1, help="How many to make.")]
_Seed = Annotated[int, typer.Option(help="The same seed gives the same output.")]
_Lowest = Annotated[int, typer.Option(help="The lowest number in documents and comparisons.")]
_Highest = Annotated[int, typer.Option(help="The highest number in documents and comparisons.")]


@generate.command()
def subscriptions(
    dtd: _Dtd,
    count: _Count,
    seed: _Seed = 1,
    root: RootOption = None,
    shape: ShapeOption = Shape.TREE,
    length: LengthOption = 10,
    wildcard: WildcardOption = 0.1,
    descendant: DescendantOption = 0.05,
    branching: BranchingOption = 0.1,
    skew: SkewOption = 1.0,
    distinct: Annotated[bool, typer.Option(help="No two subscriptions alike.")] = True,
    values: ValuesOption = 0.0,
    operators: Annotated[
        str, typer.Option(help="How they compare: some of = != < <= > >= contains starts-with.")
    ] = "= < <= > >=",
    lowest: _Lowest = 0,
    highest: _Highest = 999,
    output: Annotated[
        Path | None, typer.Option(help="A file for them; standard output otherwise.")
    ] = None,
) -> None:
    """Make subscriptions, one a line: a key, a tab, an XPath expression."""
    parameters = pattern_parameters(
        shape, length, wildcard, descendant, branching, skew, distinct=distinct
    )
    schema = read_schema(dtd, root)
    compared = ValueParameters(
        fraction=values,
        operators=tuple(operators.split()),
        vocabulary=Vocabulary(lowest=lowest, highest=highest),
    )
    patterns = generate_subscriptions(
        schema, parameters, seed=seed, values=compared if values else None
    )
    with _opened(output) as file:
        numbered = enumerate(islice(patterns, count), start=1)
        for number, pattern in with_progress(
            numbered, "subscriptions", count, printing=output is None
        ):
            file.write(f"s{number}\t{pattern}\n".encode())


@generate.command()
def documents(
    dtd: _Dtd,
    count: _Count,
    seed: _Seed = 1,
    root: RootOption = None,
    levels: Annotated[int, typer.Option(min=1, help="The greatest depth of a document.")] = 10,
    repeats: Annotated[
        int, typer.Option(min=1, help="How often a repeated part stands at most.")
    ] = 3,
    size: Annotated[
        int | None, typer.Option(min=1, help="The characters to aim at in a document.")
    ] = None,
    lowest: _Lowest = 0,
    highest: _Highest = 999,
    output: Annotated[
        Path | None,
        typer.Option(
            help="A folder for them, a file each; otherwise standard output, a line each."
        ),
    ] = None,
) -> None:
    """Make documents that are valid against the schema."""
    schema = read_schema(dtd, root)
    parameters = DocumentParameters(
        levels=levels,
        repeats=repeats,
        size=size,
        vocabulary=Vocabulary(lowest=lowest, highest=highest),
    )
    made = generate_documents(schema, parameters, seed=seed)
    numbered = with_progress(
        enumerate(islice(made, count), start=1), "documents", count, printing=output is None
    )
    if output is None:
        for _, document in numbered:
            sys.stdout.buffer.write(document.replace(b"\n", b"") + b"\n")
        sys.stdout.buffer.flush()
        return
    output.mkdir(parents=True, exist_ok=True)
    width = len(str(count))
    for number, document in numbered:
        (output / f"document-{number:0{width}}.xml").write_bytes(document)


@contextmanager
def _opened(path: Path | None) -> Iterator[BinaryIO]:
    if path is None:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
    else:
        with path.open("wb") as file:
            yield file
