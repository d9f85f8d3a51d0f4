"""The Spark session of a command, started with settings that suit documents.

Functions of this package take a Spark session and do not change it.  The settings here are for the
command line and for callers that have no Spark session yet.  ``conf`` overrules each of them, and
so do ``spark-defaults.conf`` and ``spark-submit``.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pyspark
from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from twigcast.errors import PipelineError, SparkMissingError
from twigcast.keywords import exact_keywords
from twigcast.pipeline.failures import reason_of

DEFAULTS: Mapping[str, str] = {
    # Documents are large rows: smaller batches stay in the processor's caches.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
    # Small files cost little to open here; the default would make a task of every 32 of them.
    "spark.sql.files.openCostInBytes": "65536",
    # The console shows one bar of ours, not Spark's.
    "spark.ui.showConsoleProgress": "false",
    # Python workers keep what they have mapped.
    "spark.python.worker.reuse": "true",
    # Times are written in UTC, whatever the zone of the machine.
    "spark.sql.session.timeZone": "UTC",
}
LOCAL_DEFAULTS: Mapping[str, str] = {
    # In one process nothing is shuffled far.
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g",
    # Nothing outside needs to reach a local Spark session.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


@exact_keywords
def start_session(
    name: str = "twigcast", master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """Start a Spark session, or return the active one unchanged.

    ``master`` is a master URL of Spark (``local[2]``, ``spark://host:7077``, ``yarn``, ``k8s://…``);
    the default is that of Spark's configuration, or else all cores of this machine.  ``conf``
    overrules everything.
    """
    existing = SparkSession.getActiveSession()
    if existing is not None:
        return existing
    _find_python()
    _find_java()
    given = _given()
    wanted = dict(conf or {})
    master = master or wanted.pop("spark.master", None) or given.get("spark.master")
    master = master or "local[*]"
    settings = dict(DEFAULTS)
    if master.startswith("local"):
        settings.update(LOCAL_DEFAULTS)
    settings = {key: value for key, value in settings.items() if key not in given}
    options = wanted.get(_JAVA_OPTIONS, given.get(_JAVA_OPTIONS, ""))
    if "log4j" not in options:
        # Spark's log lines would drown the output of a command; its errors are still shown.
        wanted[_JAVA_OPTIONS] = f"{options} -Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in (settings | wanted).items():
        builder = builder.config(key, value)
    try:
        session = builder.getOrCreate()
    except Exception as error:  # of Python, of the gateway or of Java
        raise PipelineError(f"Spark does not start on {master}: {reason_of(error)}") from error
    return session


def _given() -> dict[str, str]:
    """The settings of the user: Spark's file of defaults, and spark-submit."""
    folder = os.environ.get("SPARK_CONF_DIR")
    home = os.environ.get("SPARK_HOME", str(Path(pyspark.__file__).parent))
    file = Path(folder or Path(home, "conf"), "spark-defaults.conf")
    settings: dict[str, str] = {}
    if file.is_file():
        for line in file.read_text(encoding="utf-8").splitlines():
            words = re.split(r"[\s=:]+", line.strip(), maxsplit=1)
            if len(words) == 2 and not line.lstrip().startswith("#"):
                settings[words[0]] = words[1]
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        # spark-submit has started the JVM already, with the settings that it was given.
        SparkContext._ensure_initialized()
        settings |= dict(SparkConf().getAll())
    return settings | _submit_arguments(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))


def _submit_arguments(text: str) -> dict[str, str]:
    """The settings among arguments for spark-submit, with which PySpark will start the JVM."""
    settings: dict[str, str] = {}
    words = shlex.split(text)
    for option, value in pairwise(words):
        if option == "--master":
            settings["spark.master"] = value
        elif option == "--conf":
            name, _, setting = value.partition("=")
            settings[name] = setting
    return settings


def ui_address(session: SparkSession) -> str | None:
    """The address of Spark's web page; None if the page is switched off."""
    return session.sparkContext.uiWebUrl


def _find_python() -> None:
    """Let workers run this Python, unless the user chose another."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _find_java() -> None:
    """Use the Java of this environment, unless JAVA_HOME names one."""
    if "JAVA_HOME" in os.environ:
        return
    home = Path(sys.prefix) / "java-home"
    if (home / "bin" / "java").exists():
        os.environ["JAVA_HOME"] = str(home)
    elif shutil.which("java") is None:
        raise SparkMissingError(
            "Spark needs a Java of version 17 or newer, and there is none: "
            "install one, or set JAVA_HOME to where it is"
        )
