"""Real documents with subscriptions made of what stands in them are answered as by libxml2.

Each subscription starts from one element of one document: its path from the root, and its
attributes, text, values and place among its siblings.  So each is known to match something, and
meets many documents that nearly match.
"""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from lxml import etree
from matcher_answers import answer, as_set, fill
from oracle import parse_tree
from real_documents import SUBSCRIPTIONS, draft_subscriptions, read_folder

from twigcast import Matcher
from twigcast.errors import DocumentError
from twigcast.language import Pattern
from twigcast.matching import CompactDocument

FOLDERS = ("cap", "iso20022", "newsml", "ubl")


# --- the comparison -----------------------------------------------------------------------------


@pytest.mark.parametrize("folder", FOLDERS)
def test_answers_as_libxml2_does(shared_data: Path, folder: str) -> None:
    data = read_folder(shared_data, folder)
    trees: dict[str, etree._ElementTree] = {}
    bad: set[str] = set()
    for name, document in data.items():
        try:
            CompactDocument(document)
        except DocumentError:
            bad.add(name)
        else:
            trees[name] = parse_tree(document)
    assert len(trees) > 0.9 * len(data)

    patterns = draft_subscriptions(list(trees.values()), Random(folder))
    questions = {key: compile_for_libxml2(pattern) for key, pattern in patterns.items()}
    expected = {
        name: {key for key, ask in questions.items() if ask(tree)} for name, tree in trees.items()
    }
    met = set().union(*expected.values())
    assert met == patterns.keys(), "a subscription that its own document does not match"
    assert any(len(keys) < SUBSCRIPTIONS // 2 for keys in expected.values())

    for cache_bytes in (256 * 2**20, 0, 20_000):
        matcher = fill(Matcher(cache_bytes=cache_bytes), patterns)
        for name, document in data.items():
            if name in bad:
                with pytest.raises(DocumentError):
                    matcher.match(document)
            else:
                assert answer(matcher, document) == expected[name], (name, cache_bytes)
        assert matcher.stats().cached_bytes <= cache_bytes

    batch = fill(Matcher(), patterns).match_batch(list(data.values()))
    for number, name in enumerate(data):
        assert (number in batch.errors) is (name in bad)
        assert as_set(batch[number]) == expected.get(name, set())


def compile_for_libxml2(pattern: Pattern) -> etree.XPath:
    text, prefixes = pattern.to_xpath()
    return etree.XPath(text, namespaces=prefixes)


def test_all_folders_are_among_those_tested(shared_data: Path) -> None:
    folders = {path.name for path in (shared_data / "documents").iterdir() if path.is_dir()}
    assert folders <= set(FOLDERS)


def test_documents_of_all_kinds_through_one_matcher(shared_data: Path, tmp_path: Path) -> None:
    """Subscriptions to one kind stay silent on the others, changes and reloading included."""
    kinds = {folder: read_folder(shared_data, folder) for folder in FOLDERS}
    random = Random(1)
    patterns: dict[str, Pattern] = {}
    samples: list[bytes] = []
    for folder, data in kinds.items():
        good = [document for document in data.values() if is_good(document)]
        trees = [parse_tree(document) for document in good]
        drafted = draft_subscriptions(trees, random)
        patterns |= {f"{folder} {key}": pattern for key, pattern in drafted.items()}
        samples += random.sample(good, 6)
    random.shuffle(samples)
    questions = {key: compile_for_libxml2(pattern) for key, pattern in patterns.items()}
    matcher = fill(Matcher(), patterns)
    expected = [
        {key for key, ask in questions.items() if ask(tree)} for tree in map(parse_tree, samples)
    ]
    assert [answer(matcher, sample) for sample in samples] == expected

    gone = set(random.sample(sorted(patterns), len(patterns) // 2))
    for key in gone:
        matcher.remove(key)
    assert [answer(matcher, sample) for sample in samples] == [keys - gone for keys in expected]
    matcher.save(tmp_path / "half")
    matcher = fill(Matcher.load(tmp_path / "half"), {key: patterns[key] for key in gone})
    assert [answer(matcher, sample) for sample in samples] == expected


def is_good(document: bytes) -> bool:
    try:
        CompactDocument(document)
    except DocumentError:
        return False
    return True
