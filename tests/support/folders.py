"""Where things lie in the checkout that the tests run in."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
DOCS = ROOT / "docs"
SUPPORT = ROOT / "tests" / "support"
