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
from folders import ROOT
from lxml import etree
from typer.testing import CliRunner

import twigcast
from twigcast.cli import app
from twigcast.language import parse, read_subscriptions
from twigcast.schema import Schema

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


def test_match_reads_with_the_reader_that_is_chosen() -> None:
    command = ("match", "--json", str(EXAMPLES / "subscriptions.txt"), str(EXAMPLES / "documents"))
    assert lines(*command, "--reader", "expat") == lines(*command)
    refused = CliRunner().invoke(app, [*command, "--reader", "libxml2"])
    assert refused.exit_code == 2
    assert "'checked', 'expat'" in refused.output


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


STOCK = "<Stock><Symbol>GHI</Symbol><Price>12</Price></Stock>"


def explained(folder: Path, *arguments: str) -> list[str]:
    """The arguments that explain two subscriptions on a document."""
    (folder / "s.txt").write_text("ghi\t//Stock[Symbol='GHI'][Price>15]\nbond\t//Bond | //Stock\n")
    (folder / "stock.xml").write_text(STOCK)
    return ["match", str(folder / "s.txt"), str(folder / "stock.xml"), "--explain", *arguments]


def test_explain_draws_a_tree(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, explained(tmp_path), env={"COLUMNS": "200"})
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        str(tmp_path / "stock.xml"),
        "├── ✗ ghi does not match: //Stock[Symbol='GHI'][Price>15]",
        (
            '│   └── ✗ //Stock[Price > 15][Symbol = "GHI"] fails: '
            "1 Stock found at /Stock[1], where 1 of 2 conditions holds"
        ),
        "│       ├── ✗ Price > 15 fails: 12 at /Stock[1]/Price[1]",
        '│       └── ✓ Symbol = "GHI" holds: "GHI" at /Stock[1]/Symbol[1]',
        "└── ✓ bond matches: //Bond | //Stock",
        "    ├── ✗ //Bond fails: no Bond in the document",
        "    └── ✓ //Stock holds: found at /Stock[1]",
    ]


def test_explain_prints_json(tmp_path: Path) -> None:
    first, second = lines(*explained(tmp_path, "--json"))
    assert (first["key"], first["matches"]) == ("ghi", False)
    assert first["document"] == str(tmp_path / "stock.xml")
    assert first["subscription"] == "//Stock[Symbol='GHI'][Price>15]"
    assert first["pattern"] == '//Stock[Price>15][Symbol="GHI"]'
    assert first["reasons"] == ["Price > 15 fails: 12 at /Stock[1]/Price[1]"]
    assert (second["key"], second["matches"], second["reasons"]) == ("bond", True, [])
    alternatives = second["alternatives"]
    assert isinstance(alternatives, list)
    assert [finding["outcome"] for finding in alternatives] == ["fails", "holds"]
    assert alternatives[1]["witnesses"][0]["location"] == "/Stock[1]"


def test_explain_shows_the_values_of_expressions(tmp_path: Path) -> None:
    (tmp_path / "stock.xml").write_text(STOCK)
    (tmp_path / "s.txt").write_text(
        "two\t//Stock[count(Price)>1]\nlong\tcount(1 to 1000000000) > 5\n"
    )
    arguments = ["match", str(tmp_path / "s.txt"), str(tmp_path / "stock.xml"), "--explain"]
    result = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert result.exit_code == 0
    refusal = (
        "the explanation takes more than 2,000,000 steps; "
        "try a smaller document, or a part of the subscription"
    )
    assert result.stdout.splitlines() == [
        str(tmp_path / "stock.xml"),
        "├── ✗ two does not match: //Stock[count(Price)>1]",
        (
            "│   └── ✗ //Stock[count(Price)>1] fails: "
            "1 Stock found at /Stock[1], which does not pass"
        ),
        "│       └── ✗ count(Price)>1 fails",
        "│           └── = count(Price) is 1",
        '│               └── = Price is "12" at /Stock[1]/Price[1]',
        "└── long: count(1 to 1000000000) > 5",
        f"    └── {refusal}",
    ]
    first, second = lines(*arguments, "--json")
    assert first["reasons"] == ["count(Price)>1 fails: count(Price) is 1"]
    assert (second["key"], second["error"]) == ("long", refusal)


def test_explain_takes_the_subscriptions_named(tmp_path: Path) -> None:
    assert [line["key"] for line in lines(*explained(tmp_path, "--json", "--key", "bond"))] == [
        "bond"
    ]
    both = lines(*explained(tmp_path, "--json", "--key", "bond", "--key", "ghi"))
    assert [line["key"] for line in both] == ["ghi", "bond"]
    result = run(*explained(tmp_path, "--key", "bond", "--key", "nonsense", "--key", "x"))
    assert result.returncode == 2
    assert result.stdout == b""
    message = f"{tmp_path / 's.txt'} has no subscription with the key nonsense or x"
    assert message in result.stderr.decode()


def test_explain_asks_for_keys_where_subscriptions_are_many(tmp_path: Path) -> None:
    explained(tmp_path)
    arguments = ["match", str(tmp_path / "many.txt"), str(tmp_path / "stock.xml"), "--explain"]
    (tmp_path / "many.txt").write_text("".join(f"k{number}\t//Stock\n" for number in range(20)))
    assert len(lines(*arguments, "--json")) == 20
    (tmp_path / "many.txt").write_text("".join(f"k{number}\t//Stock\n" for number in range(21)))
    result = run(*arguments)
    assert result.returncode == 2
    assert result.stdout == b""
    assert "more than 20 subscriptions; name those to explain with --key" in result.stderr.decode()
    assert [line["key"] for line in lines(*arguments, "--json", "--key", "k20")] == ["k20"]


def test_explain_goes_on_after_a_bad_document(tmp_path: Path) -> None:
    arguments = explained(tmp_path, "--key", "bond")
    (tmp_path / "bad.xml").write_text("<a><b></a>")
    arguments[2:3] = [str(tmp_path / name) for name in ("bad.xml", "none.xml", "stock.xml")]
    bad, missing, good = lines(*arguments, "--json", status=1)
    assert "mismatched tag" in str(bad["error"])
    assert missing["error"] == "No such file or directory"
    assert good["matches"] is True
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"})
    assert shown.exit_code == 1
    assert "bad.xml line 1, column" in shown.stdout
    assert "✓ bond matches" in shown.stdout


def test_explain_shows_deep_patterns_in_full(tmp_path: Path) -> None:
    arguments = explained(tmp_path)
    (tmp_path / "s.txt").write_text("k\t/a" + "[x][a" * 40 + "[zebra]" + "]" * 40 + "\n")
    (tmp_path / "stock.xml").write_text("<a><x/>" * 41 + "</a>" * 41)
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "80"})
    assert shown.exit_code == 0
    assert "✗ a/zebra fails: no zebra in" in shown.stdout


def test_explain_says_why_nothing_can_match(tmp_path: Path) -> None:
    arguments = explained(tmp_path)
    (tmp_path / "s.txt").write_text("k\t/a[b<'x']\n")
    shown = CliRunner().invoke(app, arguments, env={"COLUMNS": "200"}).stdout
    assert "no document can match this subscription" in shown


def test_explain_has_plain_marks_for_plain_terminals(tmp_path: Path) -> None:
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "COLUMNS": "200"}
    command = [sys.executable, "-c", "from twigcast.cli import main; main()"]
    result = subprocess.run(
        [*command, *explained(tmp_path)],
        capture_output=True,
        env={**os.environ, **plain},
        timeout=60,
        check=True,
    )
    shown = result.stdout.decode("ascii")
    assert "x Price > 15 fails" in shown
    assert '+ Symbol = "GHI" holds' in shown


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
        ("match s.txt a.xml --key k".split(), "--key goes with --explain"),
        ("match s.txt a.xml --explain --reader checked".split(), "always reads with expat"),
        (["advertise", "examples/news.dtd", "--root", "nonsense"], "nonsense"),
        (["advertise", "examples/news.dtd", "--overlaps", "a[amount(b)]"], "amount()"),
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
    assert "s.txt, line 2: an expression" in result.stderr.decode()


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


def test_commands_take_an_xsd(tmp_path: Path) -> None:
    orders = str(EXAMPLES / "orders.xsd")
    shown = lines("advertise", orders, "--limit", "0", "--json", "--overlaps", "//*:author")
    name = "/Q{urn:example:orders}"
    assert f"{name}order{name}book{name}author" in [line["advertisement"] for line in shown]
    arguments = ["generate", "documents", "--xsd", orders, "--count", "9", "--seed", "1"]
    made = CliRunner().invoke(app, [*arguments, "--output", str(tmp_path / "made")])
    assert made.exit_code == 0
    validator = etree.XMLSchema(file=orders)
    written = sorted((tmp_path / "made").iterdir())
    assert len(written) == 9
    assert all(validator.validate(etree.parse(str(path))) for path in written)
    subscriptions = tmp_path / "s.txt"
    arguments = ["generate", "subscriptions", "--xsd", orders, "--count", "30", "--shape", "path"]
    made = CliRunner().invoke(app, [*arguments, "--output", str(subscriptions)])
    assert made.exit_code == 0
    assert "Q{urn:example:orders}" in subscriptions.read_text()
    merged = CliRunner().invoke(
        app, ["cover", str(subscriptions), "--xsd", orders, "--merge", "0.1"]
    )
    assert merged.exit_code == 0, merged.output
    arguments = ["simulate", "--xsd", orders, "--subscriptions", "5", "--documents", "3"]
    simulated = CliRunner().invoke(app, [*arguments, "--strategy", "imperfect-merging", "--json"])
    assert simulated.exit_code == 0, simulated.output
    refused = CliRunner().invoke(app, ["advertise", orders, "--root", "article"])
    assert refused.exit_code != 0


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


def test_help_names_every_command() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    for command in ("match", "advertise", "generate", "simulate"):
        assert command in shown


def test_match_takes_an_expression_itself(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<a><b>3</b></a>", encoding="utf-8")
    (answer,) = lines("match", "--json", "//a[b > 2]", str(document))
    assert answer["matches"] == ["//a[b > 2]"]
    (told,) = lines("match", "--json", "--explain", "//a[b > 5]", str(document))
    assert (told["subscription"], told["matches"]) == ("//a[b > 5]", False)


def test_match_binds_the_prefixes_of_an_expression(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<a xmlns='urn:a'><b/></a>", encoding="utf-8")
    (answer,) = lines("match", "--json", "//x:b", str(document), "--namespace", "x=urn:a")
    assert answer["matches"] == ["//x:b"]
    (answer,) = lines("match", "--json", "//a/b", str(document), "--namespace", "=urn:a")
    assert answer["matches"] == ["//a/b"]
    unbound = run("match", "//x:b", str(document))
    assert unbound.returncode == 2
    assert b"bind it (--namespace PREFIX=URI)" in unbound.stderr
    with_file = run("match", str(tmp_path / "s.txt"), str(document), "--namespace", "x=urn:a")
    assert with_file.returncode == 2
    assert b"--namespace, --variable, --relative-to" in with_file.stderr
    twice = run("match", "//x:b", "a.xml", "--namespace", "x=urn:a", "--namespace", "x=urn:b")
    assert twice.returncode == 2
    assert b"--namespace binds 'x' twice" in twice.stderr
    broken = run("match", "//x:a[", "a.xml", "--namespace", "x=urn:a")
    assert b"warning" not in broken.stderr
    assert b"//x:a[: there is no such file" in broken.stderr


def test_match_binds_variables_and_takes_choices(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<a><b>7</b><c>GHI</c></a>", encoding="utf-8")
    options = ["--variable", "limit=5", "--variable", 'names=["ABC", "GHI"]']
    options += ["--relative-to", "document", "--xpath-version", "2.0"]
    xpath = "a[b > $limit][c = $names]"
    (answer,) = lines("match", "--json", xpath, str(document), *options)
    assert answer["matches"] == [xpath]
    (answer,) = lines("match", "--json", "b", str(document), "--relative-to", "document")
    assert answer["matches"] == []
    for arguments, said in (
        ((xpath,), "bind it (--variable NAME=VALUE)"),
        ((xpath, "--variable", "limit"), "--variable takes NAME=VALUE, such as limit=5"),
        (("//a[b = $x]", "--variable", "x=GHI"), "'GHI' is no value of $x"),
        (("//a[b = $x]", "--variable", "x=1", "--variable", "x=2"), "--variable binds 'x' twice"),
        (("//a", "--xpath-version", "3.1"), "'1.0', '2.0'"),
        ((str(document), "--variable", "x=1"), "go with an XPath"),
    ):
        result = CliRunner().invoke(
            app, ["match", arguments[0], str(document), *arguments[1:]], env={"COLUMNS": "200"}
        )
        assert result.exit_code, said
        assert said in f"{result.output}{result.exception}"


def test_what_is_neither_file_nor_expression_names_both_readings(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<a/>", encoding="utf-8")
    neither = run("match", "lists/of[", str(document))
    assert neither.returncode == 2
    assert b"lists/of[: there is no such file, and as an XPath: an expression" in neither.stderr
    missing = run("match", str(tmp_path / "desk.txt"), str(document))
    assert missing.returncode == 2
    assert b"desk.txt: No such file" in missing.stderr
    empty = run("match", "", str(document))
    assert empty.returncode == 2
    assert b"an expression was expected" in empty.stderr
    forgotten = run("match", "lists/desk", str(document))
    assert forgotten.returncode == 0
    assert b"no file is called lists/desk; it is read as an XPath" in forgotten.stderr


def test_a_comparison_that_never_holds_is_told_on_standard_error(tmp_path: Path) -> None:
    document = tmp_path / "a.xml"
    document.write_text("<a/>", encoding="utf-8")
    result = run("match", "--json", "//a[@day >= '2024-01-01']", str(document))
    assert result.returncode == 0
    assert b"warning: this comparison never holds" in result.stderr
    assert b"\n              ^\n" in result.stderr
    assert json.loads(result.stdout)["matches"] == []


def test_the_package_is_a_program() -> None:
    command = [sys.executable, "-m", "twigcast", "--version"]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (result.returncode, result.stdout) == (0, f"twigcast {twigcast.__version__}\n")


@pytest.mark.parametrize("command", ["match", "cover"])
def test_bad_subscriptions_are_left_out_and_named(tmp_path: Path, command: str) -> None:
    file = tmp_path / "desk.txt"
    file.write_text("wrong\t//a[\ngood\t//a\n" + "".join(f"{n}\t//a[\n" for n in range(20)))
    document = tmp_path / "a.xml"
    document.write_text("<a/>")
    files = [str(file), *([str(document)] if command == "match" else [])]
    refused = CliRunner().invoke(app, [command, *files])
    assert refused.exit_code != 0
    result = CliRunner().invoke(app, [command, *files, "--skip-bad", "--json"])
    assert result.exit_code == 0
    (line,) = result.stdout.splitlines()
    assert "good" in line or "//a" in line
    assert "wrong" not in line
    assert "left out" in result.stderr
    assert "desk.txt, line 1" in result.stderr
    assert "21 in all: also lines 12, 13" in result.stderr


def test_blanks_instead_of_a_tab_are_a_warning(tmp_path: Path) -> None:
    file = tmp_path / "desk.txt"
    file.write_text("alice //a/b\n//a / b\na/b\n")
    noted = run("cover", str(file)).stderr.decode()
    assert noted.count("a tab, not blanks") == 1
    assert "line 1" in noted
    file.write_text("alice //a[\n")
    refused = run("cover", str(file))
    assert refused.returncode != 0
    assert b"a tab, not blanks" in refused.stderr


def test_advertise_binds_the_prefixes_of_an_expression() -> None:
    schema = str(EXAMPLES / "orders.xsd")
    namespace = Schema.of(schema).root.partition("}")[0][2:]
    bound = ["--overlaps", "//o:*", "--namespace", f"o={namespace}"]
    assert lines("advertise", schema, "--json", "--limit", "0", *bound)
    other = ["--overlaps", "/o:*", "--namespace", "o=urn:other"]
    assert lines("advertise", schema, "--json", *other) == []
    result = CliRunner().invoke(app, ["advertise", schema, "--namespace", "o=urn:other"])
    assert result.exit_code == 2
    assert "--overlaps" in result.stderr
