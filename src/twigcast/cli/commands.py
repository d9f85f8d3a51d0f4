"""All commands by name.  The module of a command is loaded when the command is called, or for help.

A command needs few libraries, and half a second of loading is long for whoever types it; so no
module of a command is imported here.
"""

from __future__ import annotations

from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from twigcast import __version__

_MODULES: Final = {
    "match": "match",
    "cover": "cover",
    "advertise": "advertise",
    "generate": "generate",
    "route": "route",
    "stream": "stream",
    "archive": "archive",
    "query": "query",
    "compact": "archive",
    "broker": "broker",
    "publish": "publish",
    "subscribe": "subscribe",
    "letters": "letters",
    "ask": "ask",
    "token": "token",
    "admin": "admin",
    "network": "network",
    "simulate": "simulate",
}
"""The commands, in the order of the help, and the module in which each stands under its name."""


class _Commands(TyperGroup):
    """The commands, loaded as they are asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in _MODULES and cmd_name not in self.commands:
            self.commands[cmd_name] = _load(cmd_name)
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0] not in _MODULES:
            for name in _MODULES:  # one of them is suggested
                self.get_command(ctx, name)
        return super().resolve_command(ctx, args)


def load_all() -> None:
    """Load the modules of all commands."""
    for name in _MODULES:
        _module(name)


def _module(name: str) -> ModuleType:
    return import_module(f"twigcast.cli.{_MODULES[name]}")


def _load(name: str) -> Any:
    command = getattr(_module(name), name)
    if isinstance(command, typer.Typer):
        return get_group(command)
    alone = typer.Typer(add_completion=False)
    alone.command(name)(command)
    return get_command(alone)


app = typer.Typer(
    cls=_Commands,
    help="Deliver XML documents to whoever's XPath they match.",
    no_args_is_help=True,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
)


@app.callback()
def _show_version(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    if version:
        typer.echo(f"twigcast {__version__}")
        raise typer.Exit
