"""Counts of the messages that came over a link, by kind."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Final


@dataclass(slots=True)
class Counts:
    """Messages that brokers received, by kind.

    The first five are those that Li, Hou and Jacobsen count.  One update between brokers counts as
    many as the patterns and advertisements in it; so does one message of a client.
    """

    advertise: int = 0
    unadvertise: int = 0
    subscribe: int = 0
    unsubscribe: int = 0
    publish: int = 0
    channels: int = 0
    """Messages that say for which trees a channel holds."""
    link_states: int = 0
    refused: int = 0
    """Answers that something cannot be followed."""
    envelopes: int = 0
    """Messages as they are sent, each once, whatever it carries."""
    content_bytes: int = 0
    """The sizes of the documents."""
    wasted: int = 0
    """Documents between brokers that no client beyond the link got."""

    @property
    def messages(self) -> int:
        """The messages that the paper counts."""
        return self.advertise + self.unadvertise + self.subscribe + self.unsubscribe + self.publish

    @staticmethod
    def joined(several: Iterable[Counts]) -> Counts:
        """Counts that are the sums of several others."""
        whole = Counts()
        for each in several:
            for name in _NAMES:
                setattr(whole, name, getattr(whole, name) + getattr(each, name))
        return whole


_NAMES: Final = tuple(field.name for field in fields(Counts))
