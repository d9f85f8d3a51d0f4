"""Commands are loaded when they are called: quickly, and without what they do not need."""

from __future__ import annotations

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from twigcast.cli import app


def test_other_commands_do_without_the_network() -> None:
    script = "import sys, twigcast.cli; print(*sys.modules)"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert not {"grpc", "google.protobuf", "fastapi"} & set(result.stdout.decode().split())


def test_a_command_loads_what_it_needs() -> None:
    script = (
        "import sys; from twigcast.cli import main; sys.argv[1:] = ['broker', '--help']\n"
        "try: main()\nexcept SystemExit: print(*sys.modules)"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    loaded = set(result.stdout.decode().splitlines()[-1].split())
    assert "twigcast.cli.broker" in loaded
    assert not {"twigcast.covering", "twigcast.cli.ask"} & loaded


def test_help_knows_all_commands_and_what_is_none_is_told() -> None:
    for name in ("match", "compact", "network", "simulate"):
        assert name in CliRunner().invoke(app, ["--help"]).stdout
    assert "Did you mean 'publish'" in CliRunner().invoke(app, ["publsh"]).stderr


@pytest.mark.parametrize("place", ["twigcast.cli.commands", "twigcast.cli.subscribe"])
def test_ctrl_c_while_it_loads_is_no_traceback(place: str) -> None:
    script = (
        "import sys\n"
        "class Interrupted:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {place!r}: raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Interrupted())\n"
        "from twigcast.cli import main; sys.argv[1:] = ['subscribe', '//a']; main()"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert result.returncode == 130
    assert b"Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["publish", "x"], "client"),
        (["subscribe", "//a"], "client"),
        (["ask", "//a"], "client"),
        (["network", "status"], "client"),
        (["broker"], "broker"),
        (["network", "up"], "broker"),
    ],
)
def test_without_grpc_the_right_extra_is_named(arguments: list[str], extra: str) -> None:
    script = (
        "import sys; sys.modules['grpc'] = None\n"
        f"from twigcast.cli import main; sys.argv[1:] = {arguments!r}; main()"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert result.returncode == 2, result.stderr
    assert b"Traceback" not in result.stderr
    assert f"pip install 'twigcast[{extra}]'" in result.stderr.decode()
