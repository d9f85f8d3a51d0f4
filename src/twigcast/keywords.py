"""Keyword arguments that a function does not know, and those that it lacks.

Both are a ``TypeError`` that names the remedy.  :func:`refuse_unknown` and :func:`require` serve
functions that take ``**settings``; :func:`exact_keywords` is for functions with parameters of their
own, where Python refuses an unknown name and says no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from typing import Any, TypeVar

_Target = TypeVar("_Target", bound=Callable[..., Any])


def refuse_unknown(
    given: Iterable[str],
    known: Iterable[str],
    what: str,
    remedies: Mapping[str, str] | None = None,
) -> None:
    """Raise a TypeError for the first name that ``what`` does not know, with the nearest it does.

    ``remedies`` say, for names that belong elsewhere, what to write instead.
    """
    from difflib import get_close_matches  # only for whoever is refused

    names = list(known)
    for name in given:
        if name in names:
            continue
        if remedies and name in remedies:
            hint = f"write {remedies[name]}"
        elif near := get_close_matches(name, names, 1, 0.5):
            hint = f"did you mean {near[0]!r}?"
        else:
            hint = f"it takes {', '.join(names)}" if names else "it takes none"
        raise TypeError(f"{what} has no keyword argument {name!r}; {hint}")


def require(given: Iterable[str], needed: Mapping[str, str], what: str) -> None:
    """Raise a TypeError for the first name that ``what`` needs and lacks, with an example."""
    present = set(given)
    for name, example in needed.items():
        if name not in present:
            raise TypeError(f"{what} needs the keyword argument {name!r}, such as {example}")


def exact_keywords(target: _Target) -> _Target:
    """The function or class, with the nearest right name in the TypeError for an unknown keyword.

    Cost: one more call, some 0.1 µs; the names are looked at only after Python has refused.  The
    functions that are called a million times have no such wrapper.
    """
    if isinstance(target, type):
        target.__init__ = exact_keywords(target.__init__)  # type: ignore[misc]
        return target

    @wraps(target)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return target(*args, **kwargs)
        except TypeError:
            name = target.__qualname__.removesuffix(".__init__")
            refuse_unknown(kwargs, _keywords(target), f"{name}()")
            raise

    return call  # type: ignore[return-value]


def _keywords(function: Callable[..., Any]) -> list[str]:
    """The names that may be given as keyword arguments."""
    import inspect

    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind in kinds]
    return [name for name in names if name not in ("self", "cls")]
