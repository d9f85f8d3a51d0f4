"""How tests start Spark: with a JVM that is quick to start, in every process that they start.

``make test`` first writes an archive of the classes that Spark loads, with
``tools/archive_spark_classes.py``.  A JVM maps the archive instead of loading and checking those
classes anew: 6 s of processor time for a session with one job, not 11.  Without the archive, or
with one of another JVM, Spark starts as always.
"""

from __future__ import annotations

import shlex
from typing import Final

from folders import ROOT

CLASSES: Final = ROOT / ".venv" / "spark-classes.jsa"

QUICK_JAVA: Final = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djdk.lang.Process.launchMechanism=VFORK"
)
"""Tests are short: what the optimising compiler saves them is less than it costs.

Hadoop starts a process to change the mode of a file or a folder, some eighty times for one result;
``vfork`` starts each in a third of the time.
"""


def submit_arguments() -> str:
    """The value of PYSPARK_SUBMIT_ARGS, which child processes inherit."""
    # A JVM that cannot use the archive would say so on standard output.
    options = f"{QUICK_JAVA} -XX:SharedArchiveFile={CLASSES} -Xlog:disable"
    settings = (
        f"spark.driver.extraJavaOptions={options}",
        # Small tables take less time than compiling Java for each plan.
        "spark.sql.codegen.wholeStage=false",
        "spark.sql.codegen.factoryMode=NO_CODEGEN",
    )
    return " ".join([*(f"--conf {shlex.quote(each)}" for each in settings), "pyspark-shell"])
