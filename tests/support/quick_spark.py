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

QUICK_JAVA: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Tests are short: what the optimising compiler saves them is less than it costs."""


def submit_arguments() -> str:
    """The value of PYSPARK_SUBMIT_ARGS, which child processes inherit."""
    # A JVM that cannot use the archive would say so on standard output.
    options = f"{QUICK_JAVA} -XX:SharedArchiveFile={CLASSES} -Xlog:disable"
    setting = f"spark.driver.extraJavaOptions={options}"
    return f"--conf {shlex.quote(setting)} pyspark-shell"
