"""A set that is searched for coverings survives what goes wrong in the middle of a change."""

from __future__ import annotations

import sys
from subprocess import run

import pytest

import twigcast.covering.search
from twigcast.covering import PatternSearch
from twigcast.covering._cover import SearchKernel
from twigcast.covering.splitting import Twig
from twigcast.language import Pattern, parse

_RUNS_OUT = """
import resource, sys
from twigcast.covering import PatternSearch
from twigcast.language import parse

patterns = [parse(f"/a[b{i % 97}/c{i}][d{i}/e]") for i in range(12_000)]
search = PatternSearch()
for pattern in patterns[:4_000]:
    search.add(pattern)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
_, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (used + int(sys.argv[1]) * 2**18, hard))
failed = 0
for pattern in patterns[4_000:]:
    try:
        search.add(pattern)
    except MemoryError:
        failed += 1
        if failed == 3:
            break
resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
print(failed)
for pattern in patterns:
    if pattern not in search:
        search.add(pattern)
everything = parse("/a")
assert len(search) == len(patterns) == len(search.covered_by(everything))
assert set(search.covered_by(everything)) == set(patterns)
for pattern in patterns:
    search.remove(pattern)
assert search.trie_nodes == 0 and not search.covered_by(everything)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits its memory as Linux does")
def test_a_set_survives_when_memory_runs_out_in_the_middle_of_an_addition() -> None:
    failed = 0
    for quarters in (4, 7, 12, 21):
        command = [sys.executable, "-c", _RUNS_OUT, str(quarters)]
        failed += int(run(command, capture_output=True, check=True, text=True).stdout)
    assert failed > 0


def test_a_set_survives_when_building_anew_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    patterns = [parse(f"/a[@x={i}]/b") for i in range(300)]
    found = PatternSearch()
    for pattern in patterns:
        found.add(pattern)
    monkeypatch.setattr(found, "_most_terms", 10)
    for allowance in ("_TERMS_EACH", "_SPARE_TERMS"):
        monkeypatch.setattr(twigcast.covering.search, allowance, 0)
    real = twigcast.covering.search._twigs
    turns = iter(range(150))

    def interrupted(pattern: Pattern) -> tuple[Twig, ...] | str:
        if next(turns, None) is None:
            raise KeyboardInterrupt
        return real(pattern)

    monkeypatch.setattr(twigcast.covering.search, "_twigs", interrupted)
    with pytest.raises(KeyboardInterrupt):
        found.covered_by(parse("/a"))
    monkeypatch.setattr(twigcast.covering.search, "_twigs", real)
    assert set(found.covered_by(parse("/a/b"))) == set(patterns)


def test_a_set_that_only_grows_is_not_built_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(twigcast.covering.search, "_SPARE_TERMS", 10)
    built = 0
    fill = PatternSearch._fill

    def counted(self: PatternSearch, kernel: SearchKernel) -> None:
        nonlocal built
        built += 1
        fill(self, kernel)

    monkeypatch.setattr(PatternSearch, "_fill", counted)
    search = PatternSearch()
    monkeypatch.setattr(search, "_most_terms", 10)
    patterns = [parse(f"/a[@x={number}]/b") for number in range(500)]
    for pattern in patterns:
        assert not search.covering(pattern)
        search.add(pattern)
    assert built == 0
    for pattern in patterns[10:]:
        search.remove(pattern)
    assert search.covering(patterns[0]) == [patterns[0]]
    assert built == 1
