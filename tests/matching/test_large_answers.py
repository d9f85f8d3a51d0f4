"""Answers too large for the caches of a processor, which the kernel writes past them."""

from __future__ import annotations

from itertools import pairwise

from twigcast import Matcher

DOCUMENTS = [b"<a/>", b"<a><b/></a>", b"<c/>", b"<a><b/><d/></a>"] * 300
PATHS = ("//a", "//a/b", "//d", "//nothing")
SIZES = (2_000, 701, 33, 5)


def test_a_large_answer_has_whom_each_document_has() -> None:
    matcher = Matcher()
    for number in range(max(SIZES)):  # in turn, so that their numbers do not follow each other
        for path, size in zip(PATHS, SIZES, strict=True):
            if number < size:
                matcher.add(f"{path} {number}", path)
    former = matcher.match_batch(DOCUMENTS)
    matcher.remove("//a 1500")
    matcher.add("late", "//a/b")
    for batch, changed in ((former, False), (matcher.match_batch(DOCUMENTS), True)):
        keys = {number: batch.key(number) for number in set(batch.ids)}
        expected = []
        for document in DOCUMENTS[:4]:
            wanted = [path for path in PATHS if _holds(path, document)]
            one = {
                f"{path} {number}" for path in wanted for number in range(SIZES[PATHS.index(path)])
            }
            if changed:
                one -= {"//a 1500"}
                one |= {"late"} if "//a/b" in wanted else set()
            expected.append(sorted(one))
        assert len(batch.ids) > 2**20
        for number, (begin, end) in enumerate(pairwise(batch.offsets)):
            found = [keys[each] for each in batch.ids[begin:end]]
            assert sorted(found) == expected[number % 4]


def _holds(path: str, document: bytes) -> bool:
    return f"<{path.rpartition('/')[2]}".encode() in document
