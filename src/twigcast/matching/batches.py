"""Batches of documents, made ready for the kernel wherever they come from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias, get_args

from twigcast.documents import DocumentLimits
from twigcast.matching._kernel import Documents

ReaderName: TypeAlias = Literal["checked", "expat"]
"""Who reads documents: Twigcast's own reader with expat behind it, or expat alone."""
READERS: Final[tuple[str, ...]] = get_args(ReaderName)


def prepare_batch(
    documents: Any, limits: DocumentLimits, reader: ReaderName = "checked"
) -> Documents:
    """Documents in any sequence, or in Arrow data, which are read where they lie."""
    prepared = Documents(limits, reader)
    chunks = _arrow_chunks(documents)
    if chunks is None:
        prepared.add_all(documents)
        return prepared
    for chunk in chunks:
        _, offsets, data = chunk.buffers()
        is_valid = chunk.is_valid().to_pylist() if chunk.null_count else None
        kind = str(chunk.type)
        wide, is_text = kind.startswith("large"), kind.endswith("string")
        prepared.add_arrow(offsets, data, wide, is_text, chunk.offset, len(chunk), is_valid)
    return prepared


def _arrow_chunks(documents: Any) -> Iterable[Any] | None:
    """The arrays of Arrow data; None for anything else."""
    module = type(documents).__module__
    if not module.startswith("pyarrow"):
        if isinstance(documents, (bytes, bytearray, memoryview, str)):
            raise TypeError("match_batch takes several documents; for one, call match")
        if isinstance(documents, Mapping) or type(documents).__name__ == "DataFrame":
            raise TypeError(f"documents are a sequence, not {type(documents).__name__}")
        return None
    name = str(getattr(documents, "type", type(documents).__name__))
    if name not in ("binary", "large_binary", "string", "large_string"):
        raise TypeError(f"documents are an array of binaries or strings, not {name}; cast it first")
    chunks: Iterable[Any] = getattr(documents, "chunks", (documents,))
    return chunks
