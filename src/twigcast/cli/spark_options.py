"""The options of the commands that run on Spark."""

from __future__ import annotations

from typing import Annotated

import typer

MASTER = Annotated[
    str | None,
    typer.Option(
        help="Where Spark runs: local[2], spark://host:7077, yarn, …; all cores of this machine by "
        "default.",
    ),
]
CONF = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="A setting of Spark, such as spark.driver.memory=4g; may be given several times.",
    ),
]


def spark_settings(conf: list[str] | None) -> dict[str, str]:
    """The settings that ``--conf`` gave, by name; the last of a name counts."""
    settings: dict[str, str] = {}
    for given in conf or ():
        name, equals, value = given.partition("=")
        name = name.strip()
        if not equals or not name:
            raise typer.BadParameter(
                f"--conf takes NAME=VALUE, such as spark.driver.memory=4g, not {given!r}"
            )
        if not name.startswith("spark."):
            raise typer.BadParameter(
                f"--conf sets what is Spark's, and its names start with spark.; {name!r} does not"
            )
        settings[name] = value.strip()
    return settings
