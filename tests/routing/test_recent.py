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


def test_a_later_incarnation_begins_anew_and_an_earlier_one_is_over() -> None:
    recent = RecentDocuments()
    assert recent.add(document(5, incarnation=1))
    assert recent.add(document(5, incarnation=2))
    assert not recent.add(document(6, incarnation=1))


def test_origins_are_told_apart() -> None:
    recent = RecentDocuments()
    assert recent.add(document(1))
    assert recent.add(DocumentId("b", 0, 1))


def test_memory_is_bounded() -> None:
    recent = RecentDocuments(window=10)
    for number in range(1000):
        assert recent.add(document(number))
    assert sum(len(origin.seen) for origin in recent._origins.values()) <= 21
    for number in range(10_000):
        recent.add(DocumentId(f"b{number}", 0, 1))
    assert len(recent._origins) <= 4096
