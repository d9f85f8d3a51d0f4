"""Documents that arrive in a folder, and what lxml says of them: for the tests of streams."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from random import Random

from lxml import etree
from oracle import parse_tree, xpath_matches

WANTED = {
    "everything": "/order",
    "dear": "//item[price > 60]",
    "rome": "/order[@city='rome']",
    "several": "//item[2]",
    "gifts": "//item[gift]/price",
    "paris-cheap": "/order[@city='paris'][item/price < 20]",
    "nobody": "//refund",
}
"""XPath by key; each key is its own subscriber."""


def document(number: int) -> bytes:
    """The order of that number; every eleventh is not well-formed."""
    random = Random(number)
    city = random.choice(["rome", "paris", "oslo"])
    items = "".join(
        f"<item><price>{random.randrange(100)}</price>{random.choice(['', '<gift/>'])}</item>"
        for _ in range(random.randrange(4))
    )
    end = "" if number % 11 == 10 else "</order>"
    return f"<order city='{city}'>{items}{end}".encode()


def arrive(folder: Path, numbers: Iterable[int]) -> None:
    """Put documents into the folder, each whole when it appears."""
    for number in numbers:
        draft = folder.parent / f"{number}.draft"
        draft.write_bytes(document(number))
        # Spark takes files in the order of their times.
        os.utime(draft, (1_700_000_000 + number, 1_700_000_000 + number))
        draft.rename(folder / f"{number:05d}.xml")


def write_wanted(path: Path, wanted: Mapping[str, str] = WANTED) -> None:
    """Make or replace a file of subscriptions, in one step."""
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text("".join(f"{key}\t{xpath}\n" for key, xpath in wanted.items()))
    draft.rename(path)


def brute_force(
    numbers: Iterable[int], wanted: Mapping[str, str] = WANTED
) -> Counter[tuple[str, str]]:
    """The name of the document and the key of each delivery, each once."""
    found: Counter[tuple[str, str]] = Counter()
    for number in numbers:
        try:
            tree = parse_tree(document(number))
        except etree.XMLSyntaxError:
            continue
        keys = [key for key, xpath in wanted.items() if xpath_matches(tree, xpath)]
        found.update((f"{number:05d}.xml", key) for key in keys)
    return found


def are_bad(numbers: Iterable[int]) -> Counter[str]:
    """The names of those that are not well-formed."""
    return Counter(f"{number:05d}.xml" for number in numbers if number % 11 == 10)
