"""The options of commands that read an expression: what it is read with."""

from __future__ import annotations

import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Final

import typer

from twigcast.errors import SubscriptionError
from twigcast.language import Bindings, Pattern, bindings_of_texts, parse_all

_REMEDY: Final = re.compile(r"bind it \((\w+)[^)]*\)")
_OPTIONS: Final = {
    "namespaces": "bind it (--namespace PREFIX=URI)",
    "variables": "bind it (--variable NAME=VALUE)",
}


class Origin(StrEnum):
    """Where a relative path begins."""

    ANYWHERE = "anywhere"
    DOCUMENT = "document"


class XPathVersion(StrEnum):
    """Whose rules hold where two versions of XPath disagree."""

    ONE = "1.0"
    TWO = "2.0"


NAMESPACE = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PREFIX=URI",
        help="Bind a prefix, or =URI for names without one; may be given several times.",
    ),
]
VARIABLE = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Bind a variable to a JSON value, as in limit=5, 'name=\"GHI\"' or "
        '\'kinds=["A", "B"]\'; may be given several times.',
    ),
]
RELATIVE_TO = Annotated[
    Origin | None,
    typer.Option(help="Where a relative path begins; anywhere, unless you say document."),
]
XPATH_VERSION = Annotated[
    XPathVersion | None,
    typer.Option(help="Whose rules hold where XPath 1.0 and 2.0 disagree; those of 1.0."),
]


def chosen_bindings(
    namespace: list[str] | None,
    variable: list[str] | None,
    relative_to: Origin | None,
    version: XPathVersion | None,
) -> Bindings:
    """What the options bind."""
    namespaces = _pairs(
        "--namespace",
        "PREFIX=URI, such as cap=urn:oasis:…, or =URI for names without a prefix",
        namespace,
    )
    variables = _pairs("--variable", "NAME=VALUE, such as limit=5", variable)
    try:
        return bindings_of_texts(namespaces, variables, relative_to, version)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None


def _pairs(option: str, form: str, given: Iterable[str] | None) -> dict[str, str]:
    bound: dict[str, str] = {}
    for binding in given or ():
        name, equals, value = binding.partition("=")
        if not equals:
            raise typer.BadParameter(f"{option} takes {form}, not {binding!r}")
        if name in bound:
            raise typer.BadParameter(f"{option} binds {name!r} twice; bind it once")
        bound[name] = value
    return bound


def parse_expressions(texts: list[str], bindings: Bindings) -> list[Pattern]:
    """Expressions that share bindings; errors name the option that mends them."""
    try:
        patterns = parse_all({text: text for text in texts}, bindings)
    except SubscriptionError as error:
        reason = _REMEDY.sub(lambda match: _OPTIONS[match[1]], error.reason)
        raise SubscriptionError(reason, error.text, error.position) from None
    return [patterns[text] for text in texts]
