"""Makes the Python module of the wire from its definition, ``src/twigcast/wire/twigcast.proto``."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def generate(folder: Path) -> None:
    """Write ``twigcast/wire/twigcast_pb2.py`` and its stub below a folder."""
    # The compiler is wanted here only.
    from grpc_tools import protoc

    source = ROOT / "src"
    status = protoc.main(
        [
            "protoc",
            f"-I{source}",
            f"--python_out={folder}",
            f"--pyi_out={folder}",
            str(source / "twigcast" / "wire" / "twigcast.proto"),
        ]
    )
    if status:
        sys.exit(status)


if __name__ == "__main__":
    generate(ROOT / "src")
