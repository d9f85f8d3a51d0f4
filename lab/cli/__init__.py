"""The command line of the laboratory: ``twigcast-lab bench`` and ``twigcast-lab experiment``.

It behaves as ``twigcast`` does: tables for people, ``--json`` for programs, results on standard
output, progress and errors on standard error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from twigcast.cli import run

if TYPE_CHECKING:
    import typer

__all__ = ["main"]


def main() -> None:
    """Run the command line of the laboratory."""
    run(_load)


def _load() -> typer.Typer:
    from lab.cli.commands import app

    return app
