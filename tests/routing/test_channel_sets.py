"""Sets of channels as destinations: each pattern has a set, and there is room for so many sets."""

from __future__ import annotations

from random import Random

import pytest

from twigcast import Matcher
from twigcast.language import parse
from twigcast.routing import channel_sets
from twigcast.routing.channel_sets import NO_CHANNELS, ChannelSets
from twigcast.routing.interests import Interests

PATTERNS = [parse(f"//p{number}") for number in range(8)]
DOCUMENT = "<a><p0/><p1/><p2/><p3/></a>"


@pytest.mark.parametrize("room", [1, 3, 1024])
def test_documents_get_the_sets_that_there_is_room_for(
    room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_sets, "DESTINATION_COUNT", room)
    random = Random(room)
    matcher = Matcher()
    sets = ChannelSets(matcher)
    kept = dict.fromkeys(PATTERNS, NO_CHANNELS)
    for _ in range(400):
        pattern = random.choice(PATTERNS)
        wanted = frozenset(random.sample(range(5), random.randrange(3)))
        before = {channels for other, channels in kept.items() if channels and other != pattern}
        kept[pattern] = sets.change(pattern, kept[pattern], wanted)
        has_room = not wanted or wanted in before or len(before) < room
        assert kept[pattern] == (wanted if has_room else NO_CHANNELS)
        assert len(matcher) == sum(map(bool, kept.values()))
        expected = {kept[pattern] for pattern in PATTERNS[:4] if kept[pattern]}
        assert set(sets.sets(matcher.match_destinations([DOCUMENT])[0])) == expected


@pytest.mark.parametrize("room", [1, 3])
def test_what_finds_no_room_is_named(room: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_sets, "DESTINATION_COUNT", room)
    random = Random(room)
    interests = Interests()
    sources = [interests.open(is_client=number == 0) for number in range(5)]
    wanted = {source: set[int]() for source in sources}
    for _ in range(300):
        source, number = random.choice(sources), random.randrange(len(PATTERNS))
        if number in wanted[source]:
            interests.remove(source, PATTERNS[number])
        else:
            interests.add(source, PATTERNS[number])
        wanted[source] ^= {number}
        answer = interests.match(DOCUMENT)
        assert answer.channels == {each for each in sources[1:] if wanted[each] & {0, 1, 2, 3}}
        clients = {PATTERNS[number] for number in wanted[sources[0]] & {0, 1, 2, 3}}
        assert {each for some in answer.clients.values() for each in some} == clients
        assert interests.match(DOCUMENT) is answer


def test_patterns_of_channels_are_not_named() -> None:
    interests = Interests()
    client, channel = interests.open(is_client=True), interests.open(is_client=False)
    for pattern in PATTERNS:
        interests.add(channel, pattern)
    batch = interests._matcher.match_destinations
    interests.refresh()
    assert batch([DOCUMENT]).named[0] == []
    interests.add(client, PATTERNS[0])
    interests.refresh()
    assert batch([DOCUMENT]).named[0] == ["//p0"]
    assert len(interests._matcher) == len(PATTERNS)
