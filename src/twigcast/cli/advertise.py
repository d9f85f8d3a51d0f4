"""``twigcast advertise``: the advertisements of a schema."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

import typer
from rich.text import Text

from twigcast.cli.binding_options import (
    NAMESPACE,
    RELATIVE_TO,
    VARIABLE,
    XPATH_VERSION,
    chosen_bindings,
    parse_expressions,
)
from twigcast.cli.console import output, print_json, print_table, read_schema, readable_count
from twigcast.language import Pattern
from twigcast.schema import Advertisement, Advertisements, Schema


def advertise(
    schema_file: Annotated[
        str, typer.Argument(metavar="SCHEMA", help="The file of a DTD or an XSD, or its URL.")
    ],
    root: Annotated[
        str | None, typer.Option(help="The root element, where the schema leaves it open.")
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=1, max=100, help="Plain paths of at most so many names instead of ( )+ groups."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=0, help="How many to show; 0 shows all.")] = 40,
    overlaps: Annotated[
        str | None, typer.Option(help="Only those that overlap this subscription.")
    ] = None,
    namespace: NAMESPACE = None,
    variable: VARIABLE = None,
    relative_to: RELATIVE_TO = None,
    xpath_version: XPATH_VERSION = None,
    json: Annotated[
        bool, typer.Option("--json", help="One JSON object an advertisement instead of a table.")
    ] = False,
) -> None:
    """List what documents of a schema promise: their root-to-leaf paths."""
    schema = read_schema(schema_file, root)
    bindings = chosen_bindings(namespace, variable, relative_to, xpath_version)
    if overlaps is None and bindings:
        raise typer.BadParameter(
            "--namespace, --variable, --relative-to and --xpath-version go with --overlaps"
        )
    pattern = None if overlaps is None else parse_expressions([overlaps], bindings)[0]
    advertisements = schema.advertisements(depth)
    shown = list(islice(_overlapping(schema, advertisements, pattern), limit or None))
    if json:
        for entry in shown:
            print_json({"advertisement": str(entry), "kind": entry.kind})
        return
    _print_summary(schema, pattern)
    print_table(("advertisement", "kind"), [(str(entry), entry.kind) for entry in shown])
    total = readable_count(advertisements.count())
    exactness = "" if advertisements.exact else ", which promise more paths than the schema has"
    if not advertisements.complete:
        exactness = ", for the paths to that depth only"
    which = "overlapping ones shown" if pattern is not None else "shown"
    output().print(f"{len(shown):,} {which} of {total} advertisements{exactness}")


def _print_summary(schema: Schema, pattern: Pattern | None) -> None:
    console = output()
    recursive = sorted(schema.recursive_elements)
    console.print(
        f"root {schema.root}, {len(schema.elements):,} elements, {len(recursive):,} on a cycle, "
        f"{schema.count_paths(10):,} label paths to depth 10"
    )
    if pattern is not None:
        answer = "may match" if schema.overlaps(pattern) else "never matches"
        console.print(Text(f"{pattern} {answer} a document of this schema"))


def _overlapping(
    schema: Schema, advertisements: Advertisements, pattern: Pattern | None
) -> Iterator[Advertisement]:
    """All advertisements, or those that overlap a pattern; none are tried where none can."""
    if pattern is None:
        yield from advertisements
    elif schema.overlaps(pattern):
        yield from (entry for entry in advertisements if entry.overlaps(pattern))
