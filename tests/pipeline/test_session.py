"""Starting a session: the user's settings win, and what is missing is named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {blocked!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Blocked())
"""


def run(code: str, **environment: str) -> str:
    """What a Python of its own prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# --- without Spark ------------------------------------------------------------------------------


@pytest.mark.parametrize("missing", ["pyspark", "pyarrow"])
def test_all_but_the_pipeline_works_without_spark_and_that_says_what_to_install(
    missing: str,
) -> None:
    code = WITHOUT.format(blocked=[missing]) + (
        "import twigcast, twigcast.cli\n"
        "assert twigcast.parse('//a').matches('<a/>')\n"
        "try:\n"
        "    import twigcast.pipeline\n"
        "except twigcast.errors.SparkMissingError as error:\n"
        "    assert isinstance(error, ImportError)\n"
        "    print(error)\n"
    )
    told = run(code)
    assert "twigcast[spark]" in told
    assert missing in told


def test_neither_the_package_nor_the_command_line_imports_spark() -> None:
    code = "import sys, twigcast, twigcast.cli; print('pyspark' in sys.modules)"
    assert run(code).strip() == "False"


# --- Java and Python ----------------------------------------------------------------------------


def unset(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    """Take variables away; those that the test then sets go too at its end."""
    for name in names:
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An environment without any Java; the folder is that of the Python."""
    pytest.importorskip("pyspark", reason="the pipeline needs Spark")
    unset(monkeypatch, "JAVA_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    return tmp_path


def test_without_java_the_message_says_what_to_do(bare: Path) -> None:
    from twigcast.errors import SparkMissingError
    from twigcast.pipeline.session import _find_java

    # Where a session is there already, starting one does not look for a Java.
    with pytest.raises(SparkMissingError, match=r"Java.*17.*JAVA_HOME"):
        _find_java()


def executable(path: Path) -> None:
    path.parent.mkdir(parents=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(0o755)


def test_the_java_beside_the_python_is_taken(bare: Path) -> None:
    from twigcast.pipeline.session import _find_java

    executable(bare / "java-home" / "bin" / "java")
    _find_java()
    assert os.environ["JAVA_HOME"] == str(bare / "java-home")


def test_a_java_that_is_named_or_on_the_path_is_left_alone(
    bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from twigcast.pipeline.session import _find_java

    executable(bare / "bin" / "java")
    monkeypatch.setenv("PATH", str(bare / "bin"))
    _find_java()
    assert "JAVA_HOME" not in os.environ
    executable(bare / "java-home" / "bin" / "java")
    monkeypatch.setenv("JAVA_HOME", "/elsewhere")
    _find_java()
    assert os.environ["JAVA_HOME"] == "/elsewhere"


def test_workers_run_this_python_unless_another_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark", reason="the pipeline needs Spark")
    from twigcast.pipeline.session import _find_python

    unset(monkeypatch, "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
    monkeypatch.setenv("PYSPARK_PYTHON", "/other/python")
    _find_python()
    assert os.environ["PYSPARK_PYTHON"] == "/other/python"
    assert os.environ["PYSPARK_DRIVER_PYTHON"] == sys.executable
    monkeypatch.delenv("PYSPARK_PYTHON")
    _find_python()
    assert os.environ["PYSPARK_PYTHON"] == sys.executable


# --- settings -----------------------------------------------------------------------------------

SETTINGS = """
import json
from twigcast.errors import PipelineError
from twigcast.pipeline import start_session

told = {}
try:
    start_session(master="no-such-master")
except PipelineError as error:
    told["no such master"] = str(error)
session = start_session(
    conf={
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "Asia/Tokyo",
    }
)
names = (
    "spark.master",
    "spark.app.name",
    "spark.sql.shuffle.partitions",
    "spark.sql.session.timeZone",
    "spark.sql.files.openCostInBytes",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
    "spark.driver.host",
)
told["first"] = {name: session.conf.get(name) for name in names}
session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "77")
again = start_session()
told["same"] = again is session
told["again"] = {name: again.conf.get(name) for name in names}
session.stop()
print(json.dumps(told))
"""


@pytest.mark.spark
def test_settings_of_the_user_win_over_ours_and_ours_over_those_of_spark(tmp_path: Path) -> None:
    pytest.importorskip("pyspark", reason="the pipeline needs Spark")
    (tmp_path / "spark-defaults.conf").write_text(
        "spark.master local[1]\n"
        "spark.sql.shuffle.partitions 5\n"
        "spark.sql.files.openCostInBytes 1234\n"
        f"spark.local.dir {tmp_path / 'local'}\n"
    )
    told = json.loads(run(SETTINGS, SPARK_CONF_DIR=str(tmp_path)).splitlines()[-1])
    assert told["first"] == {
        "spark.master": "local[1]",
        "spark.app.name": "twigcast",
        "spark.sql.shuffle.partitions": "3",
        "spark.sql.session.timeZone": "Asia/Tokyo",
        "spark.sql.files.openCostInBytes": "1234",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1000",
        "spark.driver.host": "127.0.0.1",
    }
    # A session that is there is handed out as it is.
    assert told["same"]
    assert told["again"] == told["first"] | {"spark.sql.execution.arrow.maxRecordsPerBatch": "77"}
    assert "no-such-master" in told["no such master"]


def test_what_spark_submit_is_told_counts(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    session = pytest.importorskip("twigcast.pipeline.session")
    (tmp_path / "spark-defaults.conf").write_text(
        "# mine\nspark.master  local[3]\nspark.driver.memory=5g\n\nspark.ui.port: 4050\n"
    )
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--master yarn --conf spark.a='b c' pyspark-shell")
    assert session._given() == {
        "spark.master": "yarn",
        "spark.driver.memory": "5g",
        "spark.ui.port": "4050",
        "spark.a": "b c",
    }
