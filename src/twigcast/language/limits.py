"""How large a subscription may be."""

from __future__ import annotations

from dataclasses import dataclass, fields

from twigcast.keywords import exact_keywords

_DEEPEST = 200


@exact_keywords
@dataclass(frozen=True, slots=True)
class LanguageLimits:
    """Bounds on one expression, so that a hostile one is refused at once.

    ``length`` counts characters, ``steps`` the steps of all its paths and the comparisons together,
    ``depth`` how far steps, brackets and parentheses are nested in each other (at most 200: trees
    are walked by recursion).  The normal form must keep to them too, so that it can be parsed.
    """

    length: int = 20_000
    steps: int = 500
    depth: int = 100

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"the limit on {field.name} must be at least 1")
        if self.depth > _DEEPEST:
            raise ValueError(f"the limit on depth can be {_DEEPEST} at most")


DEFAULT_LIMITS = LanguageLimits()
