"""The command line, as a user calls it."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import twigcast
from twigcast.cli import app
from twigcast.language import parse, read_subscriptions
from twigcast.schema import Schema

ROOT = Path(__file__).resolve().parent.parent
EXAMPLES = ROOT / "examples"


def run(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-c", "from twigcast.cli import main; main()", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=120, check=False)


def lines(*arguments: str, status: int = 0) -> list[dict[str, object]]:
    """The JSON lines that a command prints."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == status, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_match_table() -> None:
    result = CliRunner().invoke(
        app,
        ["match", str(EXAMPLES / "subscriptions.txt"), str(EXAMPLES / "documents")],
        env={"COLUMNS": "200"},
    )
    assert result.exit_code == 0
    rows = [row for row in result.stdout.splitlines() if "stocks.xml" in row]
    assert len(rows) == 1
    assert "ghi-above-15, any-falling, everything" in rows[0]


def test_match_agrees_with_each_pattern() -> None:
    subscriptions = list(read_subscriptions(EXAMPLES / "subscriptions.txt"))
    files = sorted((EXAMPLES / "documents").glob("*.xml"))
    answers = lines("match", "--json", str(EXAMPLES / "subscriptions.txt"), *map(str, files))
    assert [answer["document"] for answer in answers] == list(map(str, files))
    for answer, file in zip(answers, files, strict=True):
        assert answer["matches"] == [
            entry.key for entry in subscriptions if entry.pattern.matches(file.read_bytes())
        ]


def test_match_goes_on_after_a_bad_document(tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text("<a><b></a>")
    (tmp_path / "good.xml").write_text("<a/>")
    (tmp_path / "s.txt").write_text("k\t/a\n")
    answers = lines("match", "--json", str(tmp_path / "s.txt"), str(tmp_path), status=1)
    assert "line 1, column" in str(answers[0]["error"])
    assert answers[1]["matches"] == ["k"]
    table = CliRunner().invoke(
        app, ["match", str(tmp_path / "s.txt"), str(tmp_path)], env={"COLUMNS": "300"}
    )
    assert table.exit_code == 1
    assert "mismatched tag" in table.stdout


def test_match_goes_on_after_a_missing_file(tmp_path: Path) -> None:
    (tmp_path / "good.xml").write_text("<a/>")
    (tmp_path / "s.txt").write_text("k\t/a\n")
    names = [str(tmp_path / name) for name in ("s.txt", "none.xml", "good.xml")]
    answers = lines("match", "--json", *names, status=1)
    assert answers[0]["error"] == "No such file or directory"
    assert answers[1]["matches"] == ["k"]


def test_match_tells_of_an_empty_folder(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("k\t/a\n")
    result = run("match", str(tmp_path / "s.txt"), str(tmp_path))
    assert result.returncode == 1
    assert b"no .xml file in" in result.stderr


def test_keys_are_never_cut(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("é" * 100 + "\t/a\n", encoding="utf-8")
    (tmp_path / "a.xml").write_text("<a/>")
    arguments = ["match", str(tmp_path / "s.txt"), str(tmp_path / "a.xml")]
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "60"}).stdout
    assert shown.count("é") == 100


def test_results_go_where_they_are_sent_though_a_progress_bar_shows(tmp_path: Path) -> None:
    """With a terminal for errors only, as when a user redirects the output."""
    (tmp_path / "s.txt").write_text("k\t/a\n")
    (tmp_path / "a.xml").write_text("<a/>")
    controller, terminal = pty.openpty()
    command = [sys.executable, "-c", "from twigcast.cli import main; main()", "match", "--json"]
    command += [str(tmp_path / "s.txt"), str(tmp_path / "a.xml")]
    environment = {**os.environ, "TERM": "xterm"}
    result = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=terminal, timeout=60, check=True, env=environment
    )
    os.close(terminal)
    shown = os.read(controller, 100_000)
    os.close(controller)
    assert json.loads(result.stdout)["matches"] == ["k"]
    assert b"matching" in shown


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_closed_streams_are_no_traceback(tmp_path: Path, closed: str) -> None:
    (tmp_path / "s.txt").write_text("k\t/a\n")
    script = f'"{sys.executable}" -c "from twigcast.cli import main; main()"'
    result = subprocess.run(
        f"{script} match --json s.txt - {closed}",
        shell=True,
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert "Traceback" not in result.stderr


def test_any_locale_can_show_any_key(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("café\t/a\n", encoding="utf-8")
    (tmp_path / "a.xml").write_text("<a/>")
    command = [sys.executable, "-c", "from twigcast.cli import main; main()", "match"]
    command += [str(tmp_path / "s.txt"), str(tmp_path / "a.xml")]
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "200"}
    environment = {**os.environ, **plain}
    table = subprocess.run(command, capture_output=True, env=environment, timeout=60, check=True)
    assert b"caf" in table.stdout
    answer = subprocess.run(
        [*command, "--json"], capture_output=True, env=environment, timeout=60, check=True
    )
    assert json.loads(answer.stdout)["matches"] == ["café"]


def test_version() -> None:
    assert run("--version").stdout.decode() == f"twigcast {twigcast.__version__}\n"


def test_match_reads_standard_input(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("k\t/a\n")
    result = run("match", "--json", str(tmp_path / "s.txt"), "-", stdin=b"<a/>")
    assert json.loads(result.stdout) == {"document": "-", "matches": ["k"]}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["match", "missing.txt", "x.xml"], "missing.txt: No such file or directory"),
        (["advertise", "missing.dtd"], "missing.dtd"),
        (
            "generate subscriptions --dtd examples/news.dtd --count 1 --wildcard 2".split(),
            "less than or equal to 1",
        ),
        ("match - -".split(), "can be read once only"),
        ("bench --dtd nowhere.dtd".split(), "nowhere.dtd is not here; name a DTD with --dtd"),
        (["advertise", "examples/news.dtd", "--root", "nonsense"], "nonsense"),
        (["advertise", "examples/news.dtd", "--overlaps", "a[count(b)]"], "count()"),
    ],
)
def test_errors_are_told_in_a_few_words(
    arguments: list[str], message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == b""
    assert message in result.stderr.decode()
    assert "Traceback" not in result.stderr.decode()


def test_a_bad_subscription_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "s.txt").write_text("k\t/a\nl\t/a[\n")
    (tmp_path / "a.xml").write_text("<a/>")
    result = run("match", str(tmp_path / "s.txt"), str(tmp_path / "a.xml"))
    assert result.returncode == 2
    assert "s.txt, line 2: a step" in result.stderr.decode()


def test_advertise() -> None:
    news = str(EXAMPLES / "news.dtd")
    shown = lines("advertise", news, "--limit", "5", "--json")
    expected = Schema.from_dtd(news).advertisements().take(5)
    assert [line["advertisement"] for line in shown] == list(map(str, expected))
    plain = lines("advertise", news, "--limit", "5", "--depth", "4", "--json")
    assert {line["kind"] for line in plain} == {"non-recursive"}
    wanted = lines("advertise", news, "--overlaps", "//headline", "--limit", "3", "--json")
    assert len(wanted) == 3
    assert all("/headline" in str(line["advertisement"]) for line in wanted)
    assert lines("advertise", news, "--overlaps", "//nonsense", "--json") == []
    table = CliRunner().invoke(app, ["advertise", str(EXAMPLES / "protein.dtd")])
    assert "root proteins" in table.stdout


@pytest.mark.parametrize("shape", ["tree", "path"])
def test_generate_subscriptions(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "s.txt"
    arguments = ["generate", "subscriptions", "--dtd", str(EXAMPLES / "news.dtd")]
    arguments += ["--count", "50", "--seed", "5", "--shape", shape, "--values", "0.5"]
    assert CliRunner().invoke(app, [*arguments, "--output", str(path)]).exit_code == 0
    found = list(read_subscriptions(path))
    assert len({entry.pattern for entry in found}) == 50
    assert [entry.key for entry in found][:2] == ["s1", "s2"]
    shown = CliRunner().invoke(app, arguments)
    assert shown.stdout_bytes == path.read_bytes()
    other = CliRunner().invoke(app, [*arguments, "--seed", "6"])
    assert other.stdout_bytes != path.read_bytes()


def test_generated_comparisons_keep_to_operators_and_range() -> None:
    arguments = "generate subscriptions --count 40 --values 1 --lowest 5000 --highest 5009"
    arguments += f" --dtd {EXAMPLES / 'news.dtd'}"
    result = CliRunner().invoke(app, [*arguments.split(), "--operators", "<= >="])
    lines_with_numbers = re.findall(r"([<>=!]+)([0-9]+)\]", result.stdout)
    assert len(lines_with_numbers) == 40
    for operator, number in lines_with_numbers:
        assert operator in ("<=", ">=")
        assert 5000 <= int(number) <= 5009


def test_generate_documents(tmp_path: Path) -> None:
    arguments = ["generate", "documents", "--dtd", str(EXAMPLES / "protein.dtd")]
    arguments += ["--count", "12", "--seed", "5", "--size", "1500"]
    assert CliRunner().invoke(app, [*arguments, "--output", str(tmp_path)]).exit_code == 0
    files = sorted(tmp_path.glob("*.xml"))
    assert [file.name for file in files][:2] == ["document-01.xml", "document-02.xml"]
    assert all(parse("/proteins").matches(file.read_bytes()) for file in files)
    shown = CliRunner().invoke(app, arguments)
    on_lines = shown.stdout_bytes.splitlines()
    assert on_lines == [file.read_bytes().replace(b"\n", b"") for file in files]


def test_a_reader_that_leaves_early_is_no_error() -> None:
    script = (
        "from twigcast.cli import main; main()",
        "generate subscriptions --count 20000 --dtd " + str(EXAMPLES / "protein.dtd"),
    )
    producer = subprocess.Popen(
        [sys.executable, "-c", script[0], *script[1].split()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert producer.stdout is not None
    assert producer.stderr is not None
    producer.stdout.readline()
    producer.stdout.close()
    errors = producer.stderr.read()
    producer.stderr.close()
    producer.wait(timeout=60)
    assert errors == b""


def test_bench_reports_each_measurement() -> None:
    found = lines("bench", "--dtd", str(EXAMPLES / "news.dtd"), "--rounds", "2", "--json")
    ways = {str(line["way"]) for line in found}
    assert {"expat alone", "twigcast kernel", "lxml fromstring", "twigcast.parse"} <= ways
    assert all(isinstance(line["seconds"], float) and line["seconds"] > 0 for line in found)


def test_help_names_every_command() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    for command in ("match", "advertise", "generate", "bench"):
        assert command in shown
