"""The Spark session of a command: started with what suits documents, unless a user says otherwise.

Functions of this package take a session and change nothing of it.  The settings here are for the
command line and whoever has no session yet; each can be overruled by ``conf``, and those that come
from ``spark-defaults.conf`` or ``spark-submit`` are left alone.
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
    # Times are written as they are meant, whatever the zone of the machine.
    "spark.sql.session.timeZone": "UTC",
}
LOCAL_DEFAULTS: Mapping[str, str] = {
    # In one process nothing is shuffled far.
    "spark.sql.shuffle.partitions": "8",
    "spark.driver.memory": "2g",
    # Nobody outside needs to reach a session of this machine.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
}
_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
_LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")


@exact_keywords
def start_session(
    name: str = "twigcast", master: str | None = None, conf: Mapping[str, str] | None = None
) -> SparkSession:
    """A Spark session; the one that is there, as it is, if there is one.

    ``master`` is what Spark knows (``local[2]``, ``spark://host:7077``, ``yarn``, ``k8s://…``);
    all cores of this machine where neither it nor the configuration of Spark names one.  ``conf``
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
        # Spark's own lines would drown what a command says; errors are still told.
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
    """What the user's configuration of Spark says: its file of defaults, and spark-submit."""
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
        # spark-submit has started the JVM already, and told it what it was told.
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
    """Where Spark shows what it does, for a browser; None where that is switched off."""
    return session.sparkContext.uiWebUrl


def _find_python() -> None:
    """Workers run the same Python, unless the user chose another."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)


def _find_java() -> None:
    """The Java of the environment, as set up beside it, where none is named."""
    if "JAVA_HOME" in os.environ:
        return
    home = Path(sys.prefix) / "java-home"
    if (home / "bin" / "java").exists():
        os.environ["JAVA_HOME"] = str(home)
    elif shutil.which("java") is None:
        raise SparkMissingError(
            "Spark needs a Java of version 17 or newer, and none is found: "
            "install one, or set JAVA_HOME to where it is"
        )
