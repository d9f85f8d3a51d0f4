"""What an expression is read with: namespaces, variables, and two choices of its subscriber.

Prefixes and variables are replaced when an expression is read, so a pattern has none and its normal
form says all.  ``{"limit": 5, "kinds": ["A", "B"]}`` makes ``//a[b > $limit][c = $kinds]`` the
pattern ``//a[b>5][c[.="A" or .="B"]]``.

:class:`Bindings` is what a caller gave.  Its ``scope`` is what the grammar needs of it; that is
checked and computed once, however many expressions share the bindings.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal, NamedTuple, TypeAlias, TypedDict, get_args

from twigcast.language.expressions import Call, Constant, Expression, Operation
from twigcast.language.tokens import NAME

XML_NAMESPACE: Final = "http://www.w3.org/XML/1998/namespace"

Value: TypeAlias = str | bool | int | float | Decimal | date
"""What a variable may be; a ``datetime`` is a ``date``, too."""

Variables: TypeAlias = Mapping[str, Value | Sequence[Value]]

RelativeTo: TypeAlias = Literal["anywhere", "document"]
"""Where a relative path of a whole expression begins."""

Version: TypeAlias = Literal["1.0", "2.0"]
"""Whose rules hold where XPath 1.0 and 2.0 disagree."""


class BindingKeywords(TypedDict, total=False):
    """The keyword arguments beside ``namespaces`` of all that read an expression."""

    variables: Variables | None
    relative_to: RelativeTo
    version: Version


class Scope(NamedTuple):
    """Bindings as the grammar uses them: checked, and the values of variables as expressions."""

    namespaces: Mapping[str, str]
    variables: Mapping[str, Expression] = {}
    relative_to: RelativeTo = "anywhere"


@dataclass(frozen=True)
class Bindings:
    """All that one expression, or several that belong together, are read with."""

    namespaces: Mapping[str, str] = field(default_factory=dict)
    variables: Variables = field(default_factory=dict)
    relative_to: RelativeTo = "anywhere"
    version: Version = "1.0"

    @cached_property
    def scope(self) -> Scope:
        """TypeError or ValueError for what cannot be bound."""
        if self.relative_to not in get_args(RelativeTo):
            raise ValueError(f"relative_to is 'anywhere' or 'document', not {self.relative_to!r}")
        if self.version not in get_args(Version):
            raise ValueError(f"version is '1.0' or '2.0', not {self.version!r}")
        bound = check_namespaces(self.namespaces)
        return Scope(bound, constants_of(self.variables), self.relative_to)

    def beside(
        self,
        namespaces: Mapping[str, str] | None = None,
        *,
        variables: Variables | None = None,
        relative_to: RelativeTo | None = None,
        version: Version | None = None,
    ) -> Bindings:
        """These bindings and others, which come first where both bind a name."""
        return Bindings(
            {**self.namespaces, **(namespaces or {})},
            {**self.variables, **(variables or {})},
            relative_to or self.relative_to,
            version or self.version,
        )

    def __bool__(self) -> bool:
        """Whether an expression may mean something else with these bindings than with none."""
        return self != NO_BINDINGS

    def __getstate__(self) -> dict[str, object]:
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}


NO_BINDINGS: Final = Bindings()


def check_namespaces(namespaces: Mapping[str, str]) -> dict[str, str]:
    """The bindings with that of ``xml``; TypeError or ValueError for one that cannot be."""
    _require_mapping(namespaces, "namespaces", "prefixes to URIs")
    bound = {"xml": XML_NAMESPACE, **namespaces}
    for prefix, uri in bound.items():
        if not isinstance(prefix, str):
            raise TypeError(
                f"a prefix is a str, not {type(prefix).__name__}; "
                'the default namespace is bound with {"": uri}'
            )
        if prefix and re.fullmatch(NAME, prefix) is None:
            raise ValueError(f"{prefix!r} is no prefix; a prefix is a name without a colon")
        whose = f"the namespace of {prefix}" if prefix else "the default namespace"
        if not isinstance(uri, str):
            raise TypeError(f"{whose} is a str, not {type(uri).__name__}")
        if "{" in uri or "}" in uri:
            raise ValueError(f"{whose} must not have braces: {uri}")
        if (prefix == "xml") != (uri == XML_NAMESPACE):
            raise ValueError(f"xml and {XML_NAMESPACE} belong together; {whose} is {uri}")
    return bound


def _require_mapping(given: object, what: str, of: str) -> None:
    if not isinstance(given, Mapping):
        raise TypeError(f"{what} are a mapping from {of}, not {type(given).__name__}")


def constants_of(variables: Variables) -> dict[str, Expression]:
    """The values as expressions, by the name of the variable."""
    _require_mapping(variables, "variables", "names to values")
    return {name: _constant(name, value) for name, value in variables.items()}


def _constant(name: object, value: object) -> Expression:
    if not isinstance(name, str):
        raise TypeError(f"the name of a variable is a str, not {type(name).__name__}")
    if re.fullmatch(rf"{NAME}(?::{NAME})?", name) is None:
        raise ValueError(f"{name!r} is no name of a variable; write it without the $")
    if isinstance(value, bool):
        return Call("true" if value else "false")
    if isinstance(value, str):
        return Constant(value)
    if isinstance(value, int | float | Decimal):
        return _number(value)
    if isinstance(value, datetime):
        return Call("xs:dateTime", (Constant(value.isoformat()),))
    if isinstance(value, date):
        return Call("xs:date", (Constant(value.isoformat()),))
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        members = tuple(_constant(name, each) for each in value)
        return members[0] if len(members) == 1 else Operation(",", members)
    kind = type(value).__name__
    raise TypeError(
        f"the variable ${name} is a text, a number, a truth, a date, or a list of these, not {kind}"
    )


def _number(value: float | Decimal) -> Expression:
    if isinstance(value, int):
        return Operation("-", (Constant(-value),)) if value < 0 else Constant(value)
    if math.isnan(value):
        return Call("number", (Constant("NaN"),))
    if math.isinf(value):
        size: Expression = Operation("div", (Constant(1.0), Constant(0)))
    elif isinstance(value, Decimal):
        size = Constant(abs(value))
    else:
        size = Constant(abs(value))
    return Operation("-", (size,)) if math.copysign(1, value) < 0 else size
