"""What the tests of generated workloads share."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from folders import EXAMPLES

from twigcast.schema import Schema

REAL_DTDS = {"nitf-2-5.dtd": "nitf", "auction.dtd": "site", "NewsMLv1.2.dtd": "NewsML"}
"""DTDs among the shared data, which are not part of the project, and their roots."""

SMALL = """
    <!ELEMENT shop (name, (open | closed), item*, note?)>
    <!ATTLIST shop id ID #IMPLIED country (at | ch | de) #REQUIRED>
    <!ELEMENT name (#PCDATA)>
    <!ELEMENT open EMPTY>
    <!ELEMENT closed EMPTY>
    <!ATTLIST closed until NMTOKEN #IMPLIED>
    <!ELEMENT item (name, price, part*)>
    <!ATTLIST item stock NMTOKEN #REQUIRED like IDREF #IMPLIED>
    <!ELEMENT price (#PCDATA)>
    <!ELEMENT part (item | name)>
    <!ELEMENT note (#PCDATA | name | note)*>
"""


@cache
def example(name: str) -> Schema:
    return Schema.from_dtd(EXAMPLES / name)


@cache
def small() -> Schema:
    return Schema.from_dtd(SMALL, root="shop")


def real(folder: Path, name: str) -> Schema:
    path = folder / "dtd" / name
    if not path.exists():
        pytest.skip(f"{name} is not among the shared data")
    return Schema.from_dtd(path, root=REAL_DTDS[name])
