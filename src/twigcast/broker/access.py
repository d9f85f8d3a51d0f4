"""Who may do what at a broker.

    token, certificate ──identify──► Principal ──require, check_…──► nothing, or AccessError

*Who.*  A token belongs to the principal whose hash it has; one that belongs to nobody is refused,
even where no token would do, for its owner thinks to be known.  A client certificate, which TLS has
verified, belongs to the principal that names it; where no principal names any, its common name is
that of its principal.  Everybody else is anonymous.

*What.*  Rules add up: a principal may do what any rule that fits its name allows.  Without any
rules whoever is known may do everything.  Rules are not for the anonymous, not even those for
``*``; they may do what ``access.anonymous`` says: everything if it is absent and nobody can be
known here, nothing if it is absent otherwise.

*With what.*  A rule may narrow what it allows: ``publish`` to documents with some roots, or with
the roots and the paths of some schemas, and to some destinations if they are addressed;
``subscribe`` to durable subscriptions of some names.  A broker links under its own name, which is
that of its principal, or as a rule's ``brokers`` say; nobody links anonymously under the name of a
principal.

Invariant: all of this is a function of the configuration; nothing that a client does changes it.

Cost: a hash for a token; a look into a set for a permission; nothing for a document of a principal
who may publish anything, its start up to the first tag where roots are listed, and one reading of
it in the kernel where schemas are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from functools import lru_cache
from hmac import compare_digest
from typing import Final

from twigcast.broker.config import (
    ANONYMOUS,
    EVERYTHING,
    BrokerConfig,
    Permission,
    RuleConfig,
)
from twigcast.broker.schema_paths import strange_path
from twigcast.broker.tokens import hash_token, new_token
from twigcast.documents import DocumentLimits, ExpandedName, root_of
from twigcast.errors import AccessError
from twigcast.language import name_text
from twigcast.schema import Schema

__all__ = [
    "Access",
    "Permission",
    "Principal",
    "UnknownTokenError",
    "bearer_token",
    "hash_token",
    "new_token",
]

_REMEMBERED: Final = 10_000
"""Of how many principals the grants are kept; certificates may bring any number of names."""
_SHOWN: Final = 10
_BEARER: Final = re.compile(r"bearer +(\S+) *", re.IGNORECASE)


class UnknownTokenError(AccessError):
    """A token that nobody has."""

    def __init__(self) -> None:
        super().__init__(
            "the token is not known here; ask whoever runs the broker for one", "unauthenticated"
        )


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody known by name, or anybody."""

    name: str
    is_anonymous: bool = False
    certificate: str = field(default="", compare=False)
    """Whom the certificate names that somebody anonymous has shown."""

    def __str__(self) -> str:
        if self.certificate:
            return f"a client with the unknown certificate {_short(repr(self.certificate))}"
        return "a client without credentials" if self.is_anonymous else self.name


_NOBODY: Final = Principal(ANONYMOUS, is_anonymous=True)


@dataclass(frozen=True, slots=True)
class _Grants:
    """What one principal may do, all rules together; None where nothing is narrowed."""

    permissions: frozenset[Permission]
    roots: frozenset[ExpandedName] | None = None
    schemas: tuple[Schema, ...] = ()
    to: re.Pattern[str] | None = None
    durable: re.Pattern[str] | None = None
    brokers: re.Pattern[str] | None = None  # None here: none but its own


class Access:
    """The doors of a broker, as its configuration has them."""

    def __init__(self, config: BrokerConfig) -> None:
        self._principals = {each.name: Principal(each.name) for each in config.principals}
        self._by_token = {
            hashed: (hashed, self._principals[each.name])
            for each in config.principals
            for hashed in each.tokens
        }
        self._by_certificate = {
            each.certificate: self._principals[each.name]
            for each in config.principals
            if each.certificate
        }
        self._knows_somebody = config.authenticates
        anonymous = config.access.anonymous
        if anonymous is None:
            anonymous = frozenset() if config.authenticates else EVERYTHING
        self._anonymous = _Grants(anonymous)
        self._rules = tuple((_globs((rule.who,)), rule) for rule in config.rules)
        self._of_name = lru_cache(maxsize=_REMEMBERED)(self._add_up)
        self._limits = DocumentLimits(size=config.limits.document_bytes)
        self._reader = config.reader

    def identify(self, *, token: str | None, certificate_names: Sequence[str] = ()) -> Principal:
        """Whose credentials these are; UnknownTokenError for a token that nobody has.

        ``certificate_names`` are those of a certificate that TLS has verified.  A token decides
        where there is one, so that several clients can share a certificate.
        """
        if token is not None:
            given = hash_token(token)
            hashed, principal = self._by_token.get(given, ("", _NOBODY))
            if compare_digest(hashed, given):
                return principal
            raise UnknownTokenError
        names = [name for name in certificate_names if name]
        for name in names:
            if name in self._by_certificate:
                return self._by_certificate[name]
        if names and not self._by_certificate and names[0] != ANONYMOUS:
            return Principal(names[0])
        return replace(_NOBODY, certificate=names[0]) if names else _NOBODY

    def may(self, principal: Principal, permission: Permission) -> bool:
        """Whether somebody may do a thing, perhaps with some things only."""
        return permission in self._grants(principal).permissions

    def require(self, principal: Principal, permission: Permission) -> None:
        """AccessError for somebody who may not do a thing."""
        if permission not in self._grants(principal).permissions:
            raise self._refusal(principal, f"{permission.value} here")

    def require_known(self, principal: Principal) -> None:
        """AccessError for whoever is not known, unless everybody may do everything."""
        if principal.is_anonymous:
            self.require(principal, Permission.ADMINISTER)

    def require_something(self, principal: Principal) -> None:
        """AccessError for whoever may do nothing here."""
        if not any(self.may(principal, each) for each in Permission):
            raise self._refusal(principal, "do anything")

    def check_document(self, principal: Principal, content: bytes) -> None:
        """AccessError for somebody who may not publish this; DocumentError for what is none."""
        self.require(principal, Permission.PUBLISH)
        grants = self._grants(principal)
        if grants.roots is None:
            return
        root = root_of(content, self._limits)
        if root in grants.roots:
            return
        schemas = [each for each in grants.schemas if _begins(each, root)]
        if not schemas:
            allowed = {name_text(*name) for name in grants.roots}
            allowed |= {schema.root for schema in grants.schemas}
            raise self._refusal(
                principal,
                f"publish documents with the root {_short(name_text(*root))}, only with "
                f"{_listed(allowed)}",
            )
        for schema in schemas:
            strange = strange_path(schema, content, self._limits, self._reader)
            if strange is None:
                return
        raise self._refusal(
            principal,
            f"publish this document: its path {_short(str(strange))} is none that the schema of "
            f"{schemas[-1].root} has",
        )

    def check_destinations(self, principal: Principal, destinations: Iterable[str]) -> None:
        """AccessError for somebody who may not address documents to one of these."""
        self.require(principal, Permission.PUBLISH)
        allowed = self._grants(principal).to
        for each in destinations if allowed is not None else ():
            if allowed is not None and not allowed.fullmatch(each):
                raise self._refusal(principal, f"address documents to {_short(repr(each))}")

    def require_durable(self, principal: Principal, durable_name: str) -> None:
        """AccessError for somebody who may not use durable subscriptions of that name."""
        self.require(principal, Permission.SUBSCRIBE)
        names = self._grants(principal).durable
        if names is not None and not names.fullmatch(durable_name):
            raise self._refusal(
                principal, f"use a durable subscription of the name {_short(repr(durable_name))}"
            )

    def require_link(self, principal: Principal, broker_name: str) -> None:
        """AccessError for somebody who may not link as the broker of that name."""
        self.require(principal, Permission.LINK)
        if principal.is_anonymous:
            allowed = broker_name not in self._principals
        else:
            brokers = self._grants(principal).brokers
            allowed = broker_name == principal.name or (
                brokers is not None and brokers.fullmatch(broker_name) is not None
            )
        if not allowed:
            raise self._refusal(principal, f"link as the broker {_short(repr(broker_name))}")

    def _refusal(self, principal: Principal, what: str) -> AccessError:
        reason = f"{principal} may not {what}"
        if principal.certificate:
            return AccessError(
                f"{reason}; no principal has that certificate: ask whoever runs the broker to add "
                "one",
                "unauthenticated",
            )
        if principal.is_anonymous and self._knows_somebody:
            return AccessError(f"{reason}; show a token or a certificate", "unauthenticated")
        return AccessError(f"{reason}; ask whoever runs the broker to allow it", "not-allowed")

    def _grants(self, principal: Principal) -> _Grants:
        return self._anonymous if principal.is_anonymous else self._of_name(principal.name)

    def _add_up(self, name: str) -> _Grants:
        if not self._rules:
            return _Grants(EVERYTHING)
        rules = [rule for who, rule in self._rules if who.fullmatch(name)]
        publishing = _allowing(rules, Permission.PUBLISH)
        subscribing = _allowing(rules, Permission.SUBSCRIBE)
        linking = _allowing(rules, Permission.LINK)
        is_narrow = all(rule.roots or rule.schemas for rule in publishing)
        brokers = [glob for rule in linking for glob in rule.brokers]
        return _Grants(
            permissions=frozenset(permission for rule in rules for permission in rule.allow),
            roots=frozenset(name for rule in publishing for name in rule.roots)
            if is_narrow
            else None,
            schemas=tuple(schema for rule in publishing for schema in rule.schemas),
            to=_globs(glob for rule in publishing for glob in rule.to)
            if all(rule.to for rule in publishing)
            else None,
            durable=_globs(glob for rule in subscribing for glob in rule.durable)
            if all(rule.durable for rule in subscribing)
            else None,
            brokers=_globs(brokers) if brokers else None,
        )


def bearer_token(header: str | None) -> str | None:
    """The token in an ``authorization`` header or metadata; None where there is no header."""
    if header is None:
        return None
    token = _BEARER.fullmatch(header)
    if token is None:
        raise AccessError(
            'the authorization is not understood; write "Bearer" and the token', "unauthenticated"
        )
    return token[1]


def _allowing(rules: Iterable[RuleConfig], permission: Permission) -> list[RuleConfig]:
    return [rule for rule in rules if permission in rule.allow]


def _globs(globs: Iterable[str]) -> re.Pattern[str]:
    """An expression for what fits one of the globs, letter for letter."""
    return re.compile("|".join(translate(glob) for glob in globs))


def _begins(schema: Schema, root: ExpandedName) -> bool:
    automaton = schema.automaton
    return bool(automaton.first & automaton.positions(*root))


def _short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}…"


def _listed(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - _SHOWN} more" if len(listed) > _SHOWN else ""
    return ", ".join(listed[:_SHOWN]) + more
