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
    # Nobody asks for the numbers of fields, which are a third of the stub.
    stub = folder / "twigcast" / "wire" / "twigcast_pb2.pyi"
    lines = stub.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if not line.endswith("_FIELD_NUMBER: _ClassVar[int]\n")]
    stub.write_text("".join(kept).replace("ClassVar as _ClassVar, ", ""), encoding="utf-8")


if __name__ == "__main__":
    generate(ROOT / "src")
