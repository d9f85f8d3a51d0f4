"""Advertisements: promises of what a client publishes, made anew on every stream.

A schema travels as a text in which everything is spelled out, so that the broker needs none of the
files that it came from: a DTD, or the declarations of an XSD.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeAlias

from twigcast.client.connection import Connection, Speaker, log
from twigcast.client.failures import refused
from twigcast.client.requests import Request, Requests, Result
from twigcast.wire import messages

if TYPE_CHECKING:
    from twigcast.schema import Advertisement, Schema

Promised: TypeAlias = "str | os.PathLike[str] | Schema | Advertisement | None"
"""A DTD or an XSD (its path or text), a schema, an advertisement or its text; None is anything."""


class Advertised:
    """An advertisement that holds until it is ended, or the client is closed."""

    def __init__(self, registry: Advertisements, question: messages.Advertise) -> None:
        self._registry = registry
        self._question = question
        self._is_ended = False

    def __repr__(self) -> str:
        question = self._question
        promised = question.path or ("a schema" if question.schema else "anything")
        if question.dtd.root:
            promised = f"the DTD of {question.dtd.root}"
        return f"<Advertised {promised}{': ended' if self._is_ended else ''}>"

    async def end(self) -> None:
        """Take it back; does nothing a second time."""
        if not self._is_ended:
            self._is_ended = True
            await self._registry.end(self._question)


class Advertisements(Speaker):
    """All advertisements of a client; the requests speak for it."""

    def __init__(self, connection: Connection, requests: Requests) -> None:
        self._connection = connection
        self._requests = requests
        self._count = 0
        self._standing: dict[str, messages.Advertise] = {}

    async def add(self, promised: Promised, root: str | None, scope: str) -> Advertised:
        """Advertise, and wait until the broker has answered."""
        self._connection.require()
        question = to_question(promised, root)
        self._count += 1
        question.advertisement = str(self._count)
        question.scope = scope
        request = Request(question, lasting=True)
        try:
            await self._requests.ask(request).done()
        except BaseException:
            request.end(None)
            raise
        self._standing[question.advertisement] = question
        return Advertised(self, question)

    async def end(self, question: messages.Advertise) -> None:
        """Take an advertisement back."""
        del self._standing[question.advertisement]
        if self._connection.welcome is not None:
            ending = messages.Unadvertise(advertisement=question.advertisement)
            await self._requests.ask(Request(ending)).done()

    def on_connected(self, welcome: messages.Welcome) -> None:
        """Advertise again what still holds."""
        for question in self._standing.values():
            again = messages.Advertise()
            again.CopyFrom(question)
            self._requests.ask(Request(again, self._hear_again))

    def _hear_again(self, result: Result) -> None:
        if isinstance(result, messages.Answer) and result.problems:
            log.warning("advertisement refused: %s", refused(result.problems[0]))


def to_question(promised: Promised, root: str | None) -> messages.Advertise:
    """The request to the broker; raises SchemaError or AdvertisementError for what is none.

    A text with ``<`` is a DTD or an XSD; one that begins with ``/`` and ends in neither ``.dtd``
    nor ``.xsd`` is an advertisement; every other says where a DTD or an XSD is.
    """
    if promised is None:
        _refuse_root(root)
        return messages.Advertise(anything=True)
    from twigcast.schema import Advertisement, Schema, is_path_expression

    if isinstance(promised, str) and is_path_expression(promised):
        promised = Advertisement.parse(promised)
    if isinstance(promised, Advertisement):
        _refuse_root(root)
        return messages.Advertise(path=str(promised))
    schema = Schema.of(promised, root)
    if not schema.is_dtd:
        return messages.Advertise(schema=schema.to_json())
    return messages.Advertise(dtd=messages.Dtd(text=schema.to_dtd(), root=schema.root))


def _refuse_root(root: str | None) -> None:
    if root is not None:
        raise ValueError("root goes with a DTD or an XSD; nothing else has one to choose")
