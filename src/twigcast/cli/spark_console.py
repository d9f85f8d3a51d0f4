"""What the commands on Spark show while they run: where Spark runs, a bar, a line for each stage.

Everything goes to standard error: where Spark runs and the address of its own pages at the start,
a line when a stage is done, and on a terminal a bar for the tasks of the stages that run.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape

from twigcast.cli.console import error_output, showing_work
from twigcast.errors import PipelineError

if TYPE_CHECKING:
    from twigcast.pipeline import Stage

_GROUP = "twigcast"
_EVERY = 0.25


@contextmanager
def spark_session(
    command: str, master: str | None, settings: Mapping[str, str], *, quiet: bool = False
) -> Iterator[Any]:
    """A Spark session for a command, with progress shown; stopped at the end.

    ``quiet`` leaves the lines out, for commands that are asked often and answer quickly.
    """
    from twigcast.pipeline import describe, reason_of, start_group, start_session, ui_address

    # When it is interrupted, the gateway to Java logs stacks.
    logging.getLogger().setLevel(logging.CRITICAL)
    console = error_output()
    with showing_work() as show:
        show("starting Spark")
        spark = start_session(f"twigcast {command}", master, settings)
    try:
        if not quiet:
            address = ui_address(spark)
            where = f"Spark {spark.version} on {spark.sparkContext.master}"
            line = f"{where}, its pages at {address}" if address else where
            console.print(f"[dim]{escape(line)}[/]")
        start_group(spark, _GROUP)
        describe(spark, command)
        with _showing_stages(spark, None if quiet else console):
            yield spark
    except KeyboardInterrupt:
        console.print(f"[bold]stopped[/]; {escape(command)} has written no result")
        raise
    except Exception as error:
        if not type(error).__module__.startswith(("pyspark", "py4j")):
            raise
        raise PipelineError(f"Spark failed: {reason_of(error)}") from error
    finally:
        spark.stop()


@contextmanager
def _showing_stages(spark: Any, console: Console | None) -> Iterator[None]:
    from twigcast.pipeline import stages

    finished = threading.Event()
    printed: set[int] = set()

    def print_done(begun: list[Stage]) -> None:
        for stage in begun:
            if stage.seconds is not None and stage.number not in printed:
                printed.add(stage.number)
                if console is not None:
                    plural = "" if stage.tasks == 1 else "s"
                    line = f"stage {stage.number}: {stage.work}, {stage.tasks:,} task{plural}"
                    console.print(f"[dim]{escape(line)}, {stage.seconds:.1f} s[/]")

    with showing_work() as show:

        def follow() -> None:
            while not finished.wait(_EVERY):
                try:
                    begun = stages(spark, _GROUP)
                except Exception:  # the Spark session is being stopped
                    return
                print_done(begun)
                running = [stage for stage in begun if stage.seconds is None]
                if running:
                    done = sum(stage.done for stage in running)
                    total = sum(stage.tasks for stage in running)
                    show(f"{running[-1].work}: tasks", done, total)
                else:
                    show("working")

        thread = threading.Thread(target=follow, daemon=True)
        thread.start()
        try:
            yield
        finally:
            finished.set()
            thread.join()
    print_done(stages(spark, _GROUP))
