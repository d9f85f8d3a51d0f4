"""Write constraints.txt: the newest versions that install together, of everything an install takes.

Pins must serve every Python that pyproject.toml allows, so run this with the oldest of them: what
installs there has so far had wheels for the newer ones as well, seldom the other way round.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

from find_java import WHEEL

ROOT = Path(__file__).resolve().parent.parent
HEADER = f"""\
# The versions that `make setup` installs. `make constraints`, run with the oldest Python that
# pyproject.toml allows, writes this file. {WHEEL} is installed only where no JVM is found.
"""


def resolve() -> dict[str, str]:
    """Return name and version of every distribution that a full set-up takes, ours excepted."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    command += ["--dry-run", "--ignore-installed", "--no-build-isolation", "--report", "-"]
    command += ["--editable", f"{ROOT}[all,dev]", "--editable", f"{ROOT}/lab"]
    command += ["pip", "setuptools", "wheel", WHEEL]
    report = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    metadata = [item["metadata"] for item in json.loads(report)["install"]]
    pins = {re.sub(r"[-_.]+", "-", each["name"]).lower(): each["version"] for each in metadata}
    del pins["twigcast"], pins["twigcast-lab"]
    return pins


if __name__ == "__main__":
    lines = [f"{name}=={version}\n" for name, version in sorted(resolve().items())]
    (ROOT / "constraints.txt").write_text(HEADER + "".join(lines))
