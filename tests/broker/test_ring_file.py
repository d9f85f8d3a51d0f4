"""A ring in a temporary file: what was written is read again, across the end too."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from twigcast.broker.ring_file import RingFile


@pytest.fixture
def ring() -> Iterator[RingFile]:
    ring = RingFile(10)
    yield ring
    ring.close()


def test_what_was_written_is_read_also_across_the_end(ring: RingFile) -> None:
    assert ring.write(b"abcdefg") == 0
    assert ring.write(b"hijkl") == 7  # goes on at the front, over a and b
    assert ring.end == 12
    assert ring.read(7, 5) == b"hijkl"
    assert ring.read(2, 5) == b"cdefg"


def test_nothing_counts_as_written_when_the_disk_refuses(
    ring: RingFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    ring.write(b"abc")
    write = os.pwrite

    def half(file: int, content: bytes, offset: int) -> int:
        if offset > 4:
            raise OSError("no space left")
        return write(file, content[:2], offset)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", half)
        with pytest.raises(OSError, match="no space"):
            ring.write(b"defg")
    assert ring.end == 3
    assert ring.write(b"xyz") == 3
    assert ring.read(0, 6) == b"abcxyz"


def test_a_ring_that_is_cleared_begins_anew(ring: RingFile) -> None:
    ring.write(b"abcdefgh")
    ring.clear()
    with pytest.raises(OSError, match="lost its end"):
        ring.read(0, 8)
    assert ring.write(b"ij") == 0
    assert ring.read(0, 2) == b"ij"
