"""Documents are new once, with bounded memory."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from twigcast.routing import DocumentId
from twigcast.routing.recent import RecentDocuments


def document(number: int, incarnation: int = 0) -> DocumentId:
    return DocumentId("a", incarnation, number)


@given(numbers=st.lists(st.integers(0, 30)))
def test_within_the_window_each_document_is_new_once(numbers: list[int]) -> None:
    recent = RecentDocuments(window=100)
    seen: set[int] = set()
    for number in numbers:
        assert recent.add(document(number)) == (number not in seen)
        seen.add(number)


@given(numbers=st.lists(st.integers(0, 60)))
def test_what_is_far_behind_is_taken_to_have_been_seen(numbers: list[int]) -> None:
    recent = RecentDocuments(window=8)
    seen: set[int] = set()
    for number in numbers:
        is_old = bool(seen) and number <= max(seen) - 8
        assert recent.add(document(number)) == (number not in seen and not is_old)
        seen.add(number)


@given(documents=st.lists(st.builds(document, st.integers(0, 9), st.sampled_from([1, 2, 2**60]))))
def test_incarnations_are_told_apart_and_not_ordered(documents: list[DocumentId]) -> None:
    recent = RecentDocuments()
    seen: set[DocumentId] = set()
    for each in documents:
        assert recent.add(each) == (each not in seen)
        seen.add(each)


def test_origins_are_told_apart() -> None:
    recent = RecentDocuments()
    assert recent.add(document(1))
    assert recent.add(DocumentId("b", 0, 1))


def test_memory_is_bounded() -> None:
    recent = RecentDocuments(window=10)
    for number in range(1000):
        assert recent.add(document(number))
    assert sum(len(life.seen) for life in recent._lives.values()) <= 21
    for number in range(10_000):
        recent.add(DocumentId(f"b{number}", 0, 1))
    assert len(recent._lives) <= 4096
