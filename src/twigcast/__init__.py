"""Twigcast: deliver XML documents to whoever's XPath they match.

>>> import twigcast
>>> pattern = twigcast.parse("//Stock[Symbol='GHI'][Price>15]")
>>> pattern.matches("<Stock><Symbol>GHI</Symbol><Price>17</Price></Stock>")
True
>>> print(pattern)
//Stock[Price>15][Symbol="GHI"]

The names below are loaded when first used, so that importing the package stays quick and needs
neither a compiler's product nor Spark.
"""

from __future__ import annotations

import importlib
from types import FunctionType
from typing import TYPE_CHECKING, Any

from twigcast.keywords import exact_keywords

if TYPE_CHECKING:
    from twigcast.client import connect, connect_sync
    from twigcast.covering import (
        Change,
        CoverIndex,
        CoverIndexStats,
        CoveringTable,
        SubscriptionTree,
        covers,
        equivalent,
        overlaps,
    )
    from twigcast.documents import DocumentLimits, PathPublication, decompose
    from twigcast.errors import (
        AccessError,
        AdvertisementError,
        ConfigError,
        ConnectionFailedError,
        CountingBudgetError,
        CoveringBudgetError,
        DocumentError,
        DuplicateKeyError,
        ExplanationBudgetError,
        MatcherFileError,
        NetworkError,
        OverlayError,
        RefusedError,
        ScenarioError,
        SchemaError,
        StoreError,
        SubscriptionError,
        SubscriptionFileError,
        SubscriptionWarning,
        TwigcastError,
        UnknownKeyError,
        WorkloadError,
    )
    from twigcast.hierarchy import Network, read_network
    from twigcast.language import (
        LanguageLimits,
        Pattern,
        Subscription,
        parse,
        read_subscriptions,
    )
    from twigcast.matching import BatchMatches, Matcher, MatcherStats
    from twigcast.routing import FrozenNetwork, Overlay, Strategy
    from twigcast.schema import Advertisement, Schema

__version__ = "0.1.0"

_HOMES = {
    "AccessError": "errors",
    "Advertisement": "schema",
    "AdvertisementError": "errors",
    "BatchMatches": "matching",
    "Change": "covering",
    "ConfigError": "errors",
    "ConnectionFailedError": "errors",
    "CountingBudgetError": "errors",
    "CoverIndex": "covering",
    "CoverIndexStats": "covering",
    "CoveringBudgetError": "errors",
    "CoveringTable": "covering",
    "DocumentError": "errors",
    "DocumentLimits": "documents",
    "DuplicateKeyError": "errors",
    "ExplanationBudgetError": "errors",
    "FrozenNetwork": "routing",
    "LanguageLimits": "language",
    "Matcher": "matching",
    "MatcherFileError": "errors",
    "MatcherStats": "matching",
    "Network": "hierarchy",
    "NetworkError": "errors",
    "Overlay": "routing",
    "OverlayError": "errors",
    "PathPublication": "documents",
    "Pattern": "language",
    "RefusedError": "errors",
    "ScenarioError": "errors",
    "Schema": "schema",
    "SchemaError": "errors",
    "StoreError": "errors",
    "Strategy": "routing",
    "Subscription": "language",
    "SubscriptionError": "errors",
    "SubscriptionFileError": "errors",
    "SubscriptionTree": "covering",
    "SubscriptionWarning": "errors",
    "TwigcastError": "errors",
    "UnknownKeyError": "errors",
    "WorkloadError": "errors",
    "connect": "client",
    "connect_sync": "client",
    "covers": "covering",
    "decompose": "documents",
    "equivalent": "covering",
    "overlaps": "covering",
    "parse": "language",
    "read_network": "hierarchy",
    "read_subscriptions": "language",
}

__all__ = [
    "AccessError",
    "Advertisement",
    "AdvertisementError",
    "BatchMatches",
    "Change",
    "ConfigError",
    "ConnectionFailedError",
    "CountingBudgetError",
    "CoverIndex",
    "CoverIndexStats",
    "CoveringBudgetError",
    "CoveringTable",
    "DocumentError",
    "DocumentLimits",
    "DuplicateKeyError",
    "ExplanationBudgetError",
    "FrozenNetwork",
    "LanguageLimits",
    "Matcher",
    "MatcherFileError",
    "MatcherStats",
    "Network",
    "NetworkError",
    "Overlay",
    "OverlayError",
    "PathPublication",
    "Pattern",
    "RefusedError",
    "ScenarioError",
    "Schema",
    "SchemaError",
    "StoreError",
    "Strategy",
    "Subscription",
    "SubscriptionError",
    "SubscriptionFileError",
    "SubscriptionTree",
    "SubscriptionWarning",
    "TwigcastError",
    "UnknownKeyError",
    "WorkloadError",
    "connect",
    "connect_sync",
    "covers",
    "decompose",
    "equivalent",
    "overlaps",
    "parse",
    "read_network",
    "read_subscriptions",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'twigcast' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"twigcast.{home}"), name)
    if isinstance(value, FunctionType):
        value = exact_keywords(value)
        value.__module__, value.__qualname__ = __name__, name  # by which it is pickled
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
