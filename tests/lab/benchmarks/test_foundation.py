"""The speed of the ground floor: every method is measured, and the command reports each."""

from __future__ import annotations

import json

from folders import EXAMPLES
from typer.testing import CliRunner

from lab.cli.commands import app


def test_bench_reports_each_measurement() -> None:
    arguments = ["--dtd", str(EXAMPLES / "news.dtd"), "--rounds", "2", "--json"]
    result = CliRunner().invoke(app, ["bench", "foundation", *arguments])
    assert result.exit_code == 0, result.output
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    methods = {line["method"] for line in lines}
    assert {"twigcast kernel", "lxml fromstring", "twigcast.parse"} <= methods
    assert all(isinstance(line["seconds"], float) and line["seconds"] > 0 for line in lines)
