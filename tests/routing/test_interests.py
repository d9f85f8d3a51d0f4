"""Who wants what: random changes against a plain model, with lxml's answers."""

from __future__ import annotations

import logging
from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from twigcast.errors import DocumentError
from twigcast.language import parse
from twigcast.routing.interests import Interests

PATTERNS = [parse(text) for text in ("/a", "/a/b", "//b", "/a[b]/c", "//b[.='x']", "/a/*")]
DOCUMENTS = ("<a/>", "<a><b/></a>", "<a><b>x</b><c/></a>", "<b/>", "<c/>")


@given(seed=st.integers(0, 10**9))
def test_matches_are_those_of_what_is_wanted_now(seed: int) -> None:
    random = Random(seed)
    interests = Interests()
    wanted: dict[int, Counter[str]] = {}
    clients: set[int] = set()
    foreseen = dict(zip(DOCUMENTS, interests.foresee(DOCUMENTS), strict=True))
    for _ in range(40):
        action = random.random()
        if action < 0.15 or not wanted:
            is_client = random.random() < 0.5
            source = interests.open(is_client=is_client)
            wanted[source] = Counter()
            if is_client:
                clients.add(source)
        elif action < 0.6:
            source, pattern = random.choice(sorted(wanted)), random.choice(PATTERNS)
            interests.add(source, pattern)
            wanted[source][str(pattern)] += 1
        elif action < 0.8:
            source = random.choice(sorted(wanted))
            for text in [text for text, count in wanted[source].items() if count][:1]:
                interests.remove(source, parse(text))
                wanted[source][text] -= 1
        elif action < 0.85:
            source = random.choice(sorted(wanted))
            for text, count in wanted.pop(source).items():
                for _ in range(count):
                    interests.remove(source, parse(text))
            interests.close(source)
            clients.discard(source)
        else:
            document = random.choice(DOCUMENTS)
            # It may have been looked at before others were wanted.
            found = interests.match(document, random.choice((None, foreseen[document])))
            if random.random() < 0.5:
                foreseen = dict(zip(DOCUMENTS, interests.foresee(DOCUMENTS), strict=True))
            expected = {
                source: {text for text in +texts if parse(text).matches(document)}
                for source, texts in wanted.items()
            }
            assert {s: set(map(str, p)) for s, p in found.clients.items()} == {
                source: texts for source, texts in expected.items() if texts and source in clients
            }
            assert found.channels == {
                source for source, texts in expected.items() if texts and source not in clients
            }
    assert interests.clients(0) == clients
    texts = {text for each in wanted.values() for text in +each}
    assert len(interests) == len(texts)
    for pattern in PATTERNS:
        channels = frozenset(source for source in wanted if source % 2)
        assert interests.is_wanted(pattern, channels) == any(
            wanted[source][str(pattern)] for source in wanted if source in clients | channels
        )
        for source in wanted:
            assert interests.patterns(source).get(pattern, 0) == wanted[source][str(pattern)]
            assert interests.wants(source, pattern) == (wanted[source][str(pattern)] > 0)


def test_what_is_no_document_is_an_error_also_where_nothing_is_wanted() -> None:
    with pytest.raises(DocumentError):
        Interests().match("<a>")


def test_sets_of_channels_do_not_pile_up() -> None:
    interests = Interests()
    channels = [interests.open(is_client=False) for _ in range(60)]
    random = Random(1)
    for _ in range(3000):
        source = random.choice(channels)
        if interests.wants(source, PATTERNS[0]):
            interests.remove(source, PATTERNS[0])
        else:
            interests.add(source, PATTERNS[0])
    assert len(interests._sets) < 1100


def test_the_same_matches_have_the_same_answer_while_nothing_changes() -> None:
    interests = Interests()
    source = interests.open(is_client=True)
    interests.add(source, PATTERNS[0])
    document = next(each for each in DOCUMENTS if interests.match(each).clients)
    answer = interests.match(document)
    assert interests.match(document) is answer
    interests.add(source, PATTERNS[0])
    again = interests.match(document)
    assert again is not answer
    interests.remove(source, PATTERNS[0])
    assert interests.match(document) is not again
    interests.remove(source, PATTERNS[0])
    assert not interests.match(document).clients


def test_answers_do_not_pile_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("twigcast.routing.interests._REMEMBERED", 100)
    interests = Interests()
    source = interests.open(is_client=True)
    for number in range(300):
        interests.add(source, parse(f"//n{number}"))
    for number in range(300):
        answer = interests.match(f"<n{number}><m/></n{number}>")
        assert [str(each) for each in answer.clients[source]] == [f"//n{number}"]
        assert len(interests._answers) <= 51


def test_a_pattern_that_takes_too_much_work_does_no_harm(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.WARNING, logger="twigcast")
    interests = Interests()
    client = interests.open(is_client=True)
    interests.add(client, parse("//b[count((1 to 100000000)[. > 5]) > 3]"))
    interests.add(client, parse("/a/b"))
    wanting = interests.match("<a><b/></a>")
    assert [str(pattern) for pattern in wanting.clients[client]] == ["/a/b"]
    assert "takes too much work" in caplog.text


def test_a_bad_document_is_foreseen_as_such_and_harms_no_other() -> None:
    interests = Interests()
    source = interests.open(is_client=True)
    interests.add(source, parse("/a"))
    good, bad, also_good = interests.foresee(["<a/>", "<a", "<a><b/></a>"])
    assert interests.match("<a/>", good).clients.keys() == {source}
    assert interests.match("<a><b/></a>", also_good).clients.keys() == {source}
    for _ in range(2):
        with pytest.raises(DocumentError):
            interests.match("<a", bad)
