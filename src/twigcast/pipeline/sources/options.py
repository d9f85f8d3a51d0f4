"""The options of a source; what is left out is taken from the files themselves."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from twigcast.errors import PipelineError
from twigcast.keywords import exact_keywords

FILES: Final = "files"
PARQUET: Final = "parquet"
JSON_LINES: Final = "jsonl"
CSV: Final = "csv"
ROWS: Final = "rows"
FORMATS: Final = (FILES, PARQUET, JSON_LINES, CSV, ROWS)
TABLES: Final = (PARQUET, JSON_LINES, CSV)

# A qualified name of Namespaces in XML, near enough to catch a path, a tag or a pattern.
_NAME: Final = re.compile(r"(?:[^\W\d][\w.-]*:)?[^\W\d][\w.-]*")


@exact_keywords
@dataclass(frozen=True, slots=True)
class SourceOptions:
    """How to read documents; every option may be left out.

    ``format``       one of ``files``, ``parquet``, ``jsonl``, ``csv``, ``rows``; left out, the
                     endings of the files decide
    ``column``       the column of a table that holds the XML
    ``id_column``    the column with the ids of the documents
    ``at_column``    the column with the broker at which a document enters
    ``time_column``  the column with the time of a document
    ``row_element``  cut XML files at this element, as it is written in them: ``row``, ``p:row``
    ``pattern``      take those files of folders whose names fit, such as ``*.rss``
    """

    format: str | None = None
    column: str | None = None
    id_column: str | None = None
    at_column: str | None = None
    time_column: str | None = None
    row_element: str | None = None
    pattern: str | None = None

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in FORMATS:
            raise PipelineError(
                f"the format {self.format!r} is not known; choose one of {', '.join(FORMATS)}"
            )
        if self.format == ROWS and self.row_element is None:
            raise PipelineError("the format 'rows' needs a row_element, the element to cut at")
        if self.row_element is not None:
            if self.format not in (None, ROWS):
                raise PipelineError(
                    f"row_element is for the format 'rows', not for {self.format!r}; name one"
                )
            if not _NAME.fullmatch(self.row_element):
                raise PipelineError(
                    f"the row_element {self.row_element!r} is not an element's name; "
                    "write it as the file does, such as row or p:row"
                )

    @property
    def wanted_format(self) -> str | None:
        """The format that ``format`` or ``row_element`` asks for."""
        return ROWS if self.row_element is not None else self.format

    @property
    def named_columns(self) -> dict[str, str]:
        """The columns that the user named, by the option that names them."""
        pairs = {
            "column": self.column,
            "id_column": self.id_column,
            "at_column": self.at_column,
            "time_column": self.time_column,
        }
        return {option: name for option, name in pairs.items() if name is not None}


DEFAULT_OPTIONS: Final = SourceOptions()
"""No option is given."""
