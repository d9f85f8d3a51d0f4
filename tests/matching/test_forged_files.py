"""A file whose checksum fits is still not believed: forged words are refused, or do no harm."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import forge_matcher_file
import pytest
from forge_matcher_file import (
    DOCUMENTS,
    EVERY_KIND,
    HEADER_SIZE,
    JOINED,
    NONE,
    SECTIONS,
    Change,
    alterable,
    draw_forgery,
    forge,
    genuine,
    read_word,
    save,
    sections_of,
    sweep,
    with_sections,
)

from twigcast import Matcher, MatcherFileError

TOOL = Path(forge_matcher_file.__file__)


def run_tool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


# --- forgeries ----------------------------------------------------------------------------------


def test_forged_files_are_refused_or_do_no_harm() -> None:
    run = run_tool("--seed", "1", "--count", "150")
    assert run.returncode == 0, run.stdout + run.stderr
    counts = {name: int(count) for count, name in map(str.split, run.stdout.split(","))}
    assert sum(counts.values()) == 150
    assert counts["refused"] > 40
    assert counts["harmless"] > 40
    assert counts["failing"] == 0


@pytest.mark.slow
def test_no_small_number_in_place_of_another_does_harm() -> None:
    run = run_tool("--sweep", "--count", "1000000")
    assert run.returncode == 0, run.stdout + run.stderr


# --- what once did harm -------------------------------------------------------------------------


def lone_branch_without_probe() -> bytes:
    """A unit of one branch that has no probe, reached by a trigger: nothing tells if it holds."""
    data = save(["//a[not(b)]", "//c[a][b]"])
    units = sections_of(data)["units"]
    branch = 4 * read_word(data, units, 1)
    assert read_word(data, units, 2) == 1, "the first unit has one branch"
    exact, at_root = Change("units", 3, 4, 0), Change("branches", branch, 4, 0)
    return forge(data, [exact, at_root, Change("branches", branch + 1, 4, NONE)])


def lone_branch_without_probe_at_its_node() -> bytes:
    """The same where the branch stays where it was."""
    data = save(["//a[not(b)]", "//c[a][b]"])
    branch = 4 * read_word(data, sections_of(data)["units"], 1)
    return forge(data, [Change("units", 3, 4, 0), Change("branches", branch + 1, 4, NONE)])


def local_test_that_is_the_name_test() -> bytes:
    """A word for which one test stands twice, so that a name would pass it twice."""
    data = save(["//a", "//*:a"])
    first = 3  # behind the eight bytes of where the word begins and the four of its length
    by_name, by_local = (read_word(data, sections_of(data)["words"], first + at) for at in (0, 1))
    assert NONE not in (by_name, by_local)
    return forge(data, [Change("words", first + 1, 4, by_name)])


def pattern_with_too_many_subscribers() -> bytes:
    """A matcher so long that a list of its keys would need more memory than there is."""
    return forge(save(["//a"]), [Change("patterns", 1, 4, 2**31), Change("patterns", 2, 4, 2**31)])


def pattern_with_the_subscribers_of_another() -> bytes:
    """Two arrays in one place: whoever joined one pattern would replace a member of the other."""
    data = save(["//a", "//a", "//b", "//b"])
    words = 7
    assert [read_word(data, sections_of(data)["patterns"], at) for at in (0, words)] == [0, 2]
    return forge(data, [Change("patterns", words, 4, 0)])


def pattern_with_room_for_more_subscribers() -> bytes:
    """Room that somebody else's array may lie in."""
    return forge(save(["//a", "//a", "//b", "//b"]), [Change("patterns", 1, 4, 4)])


def subscriber_of_another_pattern() -> bytes:
    return forge(save(["//a", "//a", "//b"]), [Change("subscribers", 0, 4, 1)])


def subscriber_who_is_two_members() -> bytes:
    return forge(save(["//a", "//a"]), [Change("members", 1, 4, 0)])


def subscriber_who_left() -> bytes:
    return forge(save(["//a", "//a"]), [Change("subscribers", 1, 4, NONE)])


def pattern_that_somebody_left() -> bytes:
    return forge(save(["//a"]), [Change("patterns", 4, 4, 0)])


def pattern_that_is_older_than_its_subscribers() -> bytes:
    return forge(save(["//a"] * 3), [Change("patterns", 3, 4, 1)])


def key_that_ends_before_it_begins() -> bytes:
    return forge(save(["//a"] * 3), [Change("key_ends", 1, 8, 3)])


def key_behind_all_others() -> bytes:
    return forge(save(["//a"] * 3), [Change("key_ends", 3, 8, 2**40)])


def key_that_is_no_text() -> bytes:
    return forge(save(["//a"] * 8), [Change("keys", 0, 4, NONE)])


def name_that_is_no_text() -> bytes:
    return forge(save(["//abcdefgh"]), [Change("name_bytes", 0, 4, NONE)])


def name_that_is_two_steps() -> bytes:
    data = save(["//a/b[c][d]//abcdefgh"])
    return forge(data, [Change("name_bytes", 0, 4, int.from_bytes(b"////", "little"))])


def pattern_at_the_root() -> bytes:
    """A path without steps, which has no spelling."""
    return forge(save(["//a"]), [Change("patterns", 5, 4, 0)])


def element_below_a_text() -> bytes:
    """A branching point that, spelled and read again, is not above its branches."""
    data = save(["/a/b/c[a/b/c][b]"])
    node, test = 3, 1
    assert sections_of(data)["nodes"].size > 20 * 4
    return forge(data, [Change("nodes", 5 * node + test, 4, 2)])


def kinds_that_are_exchanged() -> bytes:
    """``*`` for texts, ``text()`` for elements."""
    return forge(save(["//*", "//a[text()]"]), [Change("tests", 0, 4, 3), Change("tests", 6, 4, 1)])


def branch_with_the_probe_of_another() -> bytes:
    """A branch from deep down that holds at the top, from where no way leads up to the others."""
    data = save(["/a/b/c[a/b/c][b]", "/a[not(new)]"])
    probes = sections_of(data)["probes"]
    at_the_top = [at for at in range(probes.size // 32) if read_word(data, probes, 8 * at + 3) == 1]
    assert read_word(data, sections_of(data)["branches"], 1) not in at_the_top
    return forge(data, [Change("branches", 1, 4, at_the_top[0])])


def head_with_the_list_of_another() -> bytes:
    """A text that is found at the top and leads to a predicate from deep down."""
    data = save(["/a[starts-with(., 'ab')]", "/a/b/c[a/b/c[starts-with(., 'ab')]][b]"])
    heads = sections_of(data)["heads"]
    assert heads.size == 2 * 16
    return forge(data, [Change("heads", 2, 4, read_word(data, heads, 4 + 2))])


def unit_with_more_branches_than_are_counted() -> bytes:
    """A branch so often that sixteen bits do not count it."""
    data = save(["//a[b][c][d]"])
    begin, size = sections_of(data)["branches"]
    *leaves, point = (data[at : at + 16] for at in range(begin, begin + size, 16))
    count = 2**16 + len(leaves)
    branches = [*leaves, *leaves[:1] * (2**16), point]
    above = count.to_bytes(4, "little")
    section = b"".join(one[:8] + above + one[12:] for one in branches[:-1]) + point
    forged = with_sections(data, {"branches": section})
    return forge(forged, [Change("units", 2, 4, count + 1)])


def unit_with_more_denials_than_are_counted() -> bytes:
    data = save(["//a[b][not(c)]"])
    begin, size = sections_of(data)["denials"]
    forged = with_sections(data, {"denials": data[begin : begin + size] * (2**16)})
    return forge(forged, [Change("units", 5, 4, 2**16)])


MUST_BE_REFUSED = (
    unit_with_more_branches_than_are_counted,
    unit_with_more_denials_than_are_counted,
    lone_branch_without_probe,
    lone_branch_without_probe_at_its_node,
    local_test_that_is_the_name_test,
    pattern_with_too_many_subscribers,
    pattern_with_the_subscribers_of_another,
    pattern_with_room_for_more_subscribers,
    subscriber_of_another_pattern,
    subscriber_who_is_two_members,
    subscriber_who_left,
    pattern_that_somebody_left,
    pattern_that_is_older_than_its_subscribers,
    key_that_ends_before_it_begins,
    key_behind_all_others,
    key_that_is_no_text,
    name_that_is_no_text,
    name_that_is_two_steps,
    pattern_at_the_root,
    element_below_a_text,
    kinds_that_are_exchanged,
)
MUST_DO_NO_HARM = (branch_with_the_probe_of_another, head_with_the_list_of_another)


def test_what_once_did_harm_does_none(tmp_path: Path) -> None:
    paths = [tmp_path / make.__name__ for make in (*MUST_BE_REFUSED, *MUST_DO_NO_HARM)]
    for path, make in zip(paths, (*MUST_BE_REFUSED, *MUST_DO_NO_HARM), strict=True):
        path.write_bytes(make())
    run = run_tool(*paths)
    assert run.returncode == 0, run.stdout + run.stderr
    outcomes = {
        Path(line.split(": ")[1]).name: line.split(": ")[2] for line in run.stdout.splitlines()[:-1]
    }
    assert {make.__name__: outcomes[make.__name__] for make in MUST_BE_REFUSED} == {
        make.__name__: "refused" for make in MUST_BE_REFUSED
    }
    assert outcomes.keys() >= {make.__name__ for make in MUST_DO_NO_HARM}


# --- the forger ---------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [0, 1, 3, 14])
def test_the_forger_knows_the_format(number: int, tmp_path: Path) -> None:
    """A file with nothing altered is signed as it was, and its sections fill it without a gap."""
    data = genuine(number)
    assert forge(data, []) == data
    assert with_sections(data, {}) == data
    end = HEADER_SIZE + 16 * len(SECTIONS)
    for begin, size in sections_of(data).values():
        assert begin == -(-end // 64) * 64
        end = begin + size
    assert len(data) == -(-end // 64) * 64
    path = tmp_path / "genuine"
    path.write_bytes(data)
    assert len(Matcher.load(path)) > 0


def test_a_change_without_a_new_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "damaged"
    data = genuine(1)
    forged = forge(data, [Change("texts", 0, 4, 0)])
    path.write_bytes(forged[:HEADER_SIZE] + data[HEADER_SIZE:])
    with pytest.raises(MatcherFileError, match="damaged"):
        Matcher.load(path)


def test_forgeries_depend_on_seed_and_number_alone() -> None:
    assert draw_forgery(1, 7) == draw_forgery(1, 7)
    assert draw_forgery(1, 7) != draw_forgery(1, 8) != draw_forgery(2, 8)


def test_forgeries_alter_every_section() -> None:
    altered = Counter(
        change.section for number in range(1_500) for change in draw_forgery(1, number).changes
    )
    assert altered.keys() == {"header", "table", *SECTIONS}
    assert {change.section for forgery in sweep(1) for change in forgery.changes} <= {*SECTIONS}


def test_what_is_forged_holds_every_kind_of_pattern() -> None:
    """Every section has something in it to alter, and the documents match what they should meet."""
    assert alterable(genuine(0)).keys() == {"header", "table", *SECTIONS}
    matcher = Matcher()
    for expression in (*EVERY_KIND, *JOINED):
        if expression not in matcher:
            matcher.add(expression, expression, {"p": "urn:p"})
    matched = {key for document in DOCUMENTS[:-1] for key in matcher.match(document)}
    assert len(matched) > 0.8 * len(matcher)


def test_a_crash_a_hang_and_an_error_are_told(tmp_path: Path) -> None:
    """The tool fails where a matcher does, whatever way it has of failing."""
    script = tmp_path / "failing.py"
    script.write_text(FAILING)
    command = [sys.executable, str(script), str(TOOL.parent)]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    crash, hang, error, memory = run.stdout.split("\0")
    assert crash == "crashes: SIGSEGV"
    assert hang == "hangs: SIGPROF"
    assert "ZeroDivisionError" in error
    assert "MemoryError" in memory


FAILING = """
import os, signal, sys, tempfile
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import forge_matcher_file as forger


def loop():
    while True:
        pass


outcomes = []
forger.PROCESSOR_SECONDS = 0.2
for fail in (
    lambda: os.kill(os.getpid(), signal.SIGSEGV), loop, lambda: 1 / 0, lambda: bytes(2**31)
):
    forger.Use = lambda path, fail=fail: fail()
    with tempfile.TemporaryDirectory() as folder:
        outcomes.append(forger.attempt(b"", Path(folder)))
print(*outcomes, sep="\\0", end="")
"""
