"""Sessions: over a channel that does its worst, all messages come, once each and in order."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

from twigcast.routing.link_sessions import Frame, LinkSession
from twigcast.routing.messages import Message, Unsubscribe, Update

EXAMPLES = settings().max_examples
TICKS_TO_HEAL = 4
"""One that lets frames grow old, one that resends, one that confirms, one for what had waited."""

ENDS = st.integers(0, 1)
TALKERS = st.sampled_from([(0,), (1,), (0, 1)])
"""Where one end only listens, no message of its own confirms for it."""


def numbered(number: int) -> Message:
    return Unsubscribe((str(number),))


class Line:
    """Two ends, the frames on their way to each, and what each has said and heard."""

    def __init__(self, window: int) -> None:
        self.window = window
        self.number = 0
        self.air: tuple[list[Frame], list[Frame]] = ([], [])
        self._begin()

    def _begin(self) -> None:
        self.ends = (LinkSession(self.number, self.window), LinkSession(self.number, self.window))
        self.said: tuple[list[Message], list[Message]] = ([], [])
        self.heard: tuple[list[Message], list[Message]] = ([], [])
        self.confirmed = [0, 0]
        self.strangers = [0, 0]
        self.forged = [0, 0]

    def cut(self) -> None:
        """End the life of the link and begin another; what is in the air stays there."""
        self.number += 1
        self._begin()

    def say(self, end: int) -> None:
        # Messages of different directions and lives differ, so that none is taken for another.
        message = numbered((self.number * 2 + end) * 1_000_000 + len(self.said[end]))
        self.said[end].append(message)
        self._put(end, self.ends[end].send(message))

    def tick(self, end: int) -> None:
        self._put(end, self.ends[end].tick())

    def arrive(self, end: int, index: int, is_copy: bool = False) -> None:
        """Let a frame come, whichever; a copy of it may come again."""
        frame = self.air[end][index]
        if not is_copy:
            del self.air[end][index]
        if frame.session == self.number:
            self.confirmed[end] = max(self.confirmed[end], frame.acknowledged)
        else:
            self.strangers[end] += 1
        messages, frames = self.ends[end].receive(frame)
        self.heard[end].extend(messages)
        self._put(end, frames)

    def _put(self, end: int, frames: list[Frame]) -> None:
        """Look at what an end puts on the channel: every frame says nothing but the truth."""
        for frame in frames:
            assert frame.session == self.number
            assert frame.acknowledged == len(self.heard[end])
            if frame.message is None:
                assert frame.sequence == 0
                assert len(frames) == 1, "a bare acknowledgement beside a frame that confirms too"
            else:
                assert frame.message == self.said[end][frame.sequence - 1]
                assert frame.sequence <= self.confirmed[end] + self.window
        self.air[1 - end].extend(frames)

    def check(self) -> None:
        for end, session in enumerate(self.ends):
            heard = self.heard[end]
            assert heard == self.said[1 - end][: len(heard)]
            assert session.unacknowledged == len(self.said[end]) - self.confirmed[end]
            assert session.foreign == self.strangers[end]
            assert session.impossible == self.forged[end]
            if session.is_idle:
                assert self.heard[1 - end] == self.said[end]

    def flow(self, order: Random | None = None) -> None:
        """Let all frames come that are in the air or follow from those, in order or not."""
        while any(self.air):
            for end in (0, 1):
                while self.air[end]:
                    self.arrive(end, 0 if order is None else order.randrange(len(self.air[end])))
                    self.check()

    def heal(self, order: Random | None = None) -> None:
        """Lose nothing more: soon all has come."""
        self.flow(order)
        for _ in range(TICKS_TO_HEAL):
            for end in (0, 1):
                self.tick(end)
            self.flow(order)
        assert self.heard == (self.said[1], self.said[0])
        for session in self.ends:
            assert session.is_idle
            assert session.tick() == []


class HostileChannel(RuleBasedStateMachine):
    """Both ends talk, and Hypothesis decides what becomes of each frame."""

    @initialize(window=st.integers(1, 5), talkers=TALKERS)
    def begin(self, window: int, talkers: tuple[int, ...]) -> None:
        self.line = Line(window)
        self.talkers = talkers

    @rule(data=st.data(), count=st.integers(1, 7))
    def say(self, data: st.DataObject, count: int) -> None:
        end = data.draw(st.sampled_from(self.talkers))
        for _ in range(count):
            self.line.say(end)

    @rule(end=ENDS)
    def tick(self, end: int) -> None:
        self.line.tick(end)

    @precondition(lambda self: any(self.line.air))
    @rule(end=ENDS, data=st.data(), is_copy=st.booleans())
    def arrive(self, end: int, data: st.DataObject, is_copy: bool) -> None:
        end, index = self._choose(end, data)
        self.line.arrive(end, index, is_copy)

    @precondition(lambda self: any(self.line.air))
    @rule(end=ENDS, data=st.data())
    def lose(self, end: int, data: st.DataObject) -> None:
        end, index = self._choose(end, data)
        del self.line.air[end][index]

    @rule()
    def lose_all(self) -> None:
        for frames in self.line.air:
            frames.clear()

    @rule(end=ENDS)
    def all_arrive_backwards(self, end: int) -> None:
        for index in reversed(range(len(self.line.air[end]))):
            self.line.arrive(end, index)

    # Not too often: a life must be long enough for troubles to add up.
    @rule(chance=st.integers(0, 3))
    def cut(self, chance: int) -> None:
        if chance == 3:
            self.line.cut()

    @rule(end=ENDS, data=st.data())
    def forge(self, end: int, data: st.DataObject) -> None:
        line = self.line
        first_too_far = len(line.heard[end]) + line.window + 1
        message = data.draw(st.sampled_from([None, numbered(-1)]))
        beyond = st.integers(0, 2**70)
        sequences = st.one_of(
            beyond.map(lambda above: first_too_far + above), beyond.map(lambda below: -1 - below)
        )
        # Of messages that wait, none has been sent: the oracle is the highest number seen.
        sent = min(len(line.said[end]), line.confirmed[end] + line.window)
        acknowledgements = st.one_of(
            beyond.map(lambda above: sent + 1 + above), beyond.map(lambda below: -1 - below)
        )
        usual = 0 if message is None else 1
        sequence, acknowledged = data.draw(
            st.one_of(
                st.tuples(sequences, st.just(0)),
                st.tuples(st.just(usual), acknowledgements),
                st.tuples(st.just(1 - usual), st.just(0)),
            )
        )
        session = line.ends[end]
        before = session.is_idle, repr(session)
        assert session.receive(Frame(line.number, sequence, acknowledged, message)) == ([], [])
        assert (session.is_idle, repr(session)) == before
        line.forged[end] += 1

    @invariant()
    def all_is_well(self) -> None:
        if hasattr(self, "line"):
            self.line.check()

    def teardown(self) -> None:
        if hasattr(self, "line"):
            self.line.heal()

    def _choose(self, end: int, data: st.DataObject) -> tuple[int, int]:
        end = end if self.line.air[end] else 1 - end
        return end, data.draw(st.integers(0, len(self.line.air[end]) - 1))


TestHostileChannel = HostileChannel.TestCase
TestHostileChannel.settings = settings(max_examples=max(EXAMPLES // 3, 1), stateful_step_count=40)


@settings(max_examples=max(EXAMPLES // 3, 1))
@given(
    seed=st.integers(0, 2**32),
    window=st.sampled_from([1, 2, 3, 8, 64]),
    loss=st.sampled_from([0.0, 0.05, 0.5, 0.9]),
    copies=st.sampled_from([0.0, 0.3]),
    talkers=TALKERS,
)
def test_long_streams_arrive_once_and_in_order(
    seed: int, window: int, loss: float, copies: float, talkers: tuple[int, ...]
) -> None:
    adversary = Random(seed)
    line = Line(window)
    for _ in range(1_500):
        end = adversary.randrange(2)
        action = adversary.random()
        if action < 0.35:
            line.say(adversary.choice(talkers))
        elif action < 0.4:
            line.tick(end)
        elif line.air[end]:
            index = adversary.randrange(len(line.air[end]))
            if adversary.random() < loss:
                del line.air[end][index]
            else:
                line.arrive(end, index, adversary.random() < copies)
        line.check()
    line.heal(adversary)


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
@pytest.mark.parametrize("window", [1, 2, 3, 4, 5, 64])
def test_where_nothing_is_lost_a_stream_of_many_windows_needs_no_tick(
    window: int, seed: int | None
) -> None:
    line = Line(window)
    for _ in range(10 * window):
        line.say(0)
    line.flow(None if seed is None else Random(seed))
    assert line.heard[1] == line.said[0]


def test_where_nothing_is_lost_nothing_is_resent_and_one_frame_confirms_many() -> None:
    here, there = LinkSession(1, 64), LinkSession(1, 64)
    sent = confirming = 0
    for number in range(640):
        frames = here.send(numbered(number))
        for frame in frames:
            sent += 1
            for answer in there.receive(frame)[1]:
                confirming += 1
                assert here.receive(answer) == ([], [])
        if number % 10 == 9:
            # The sender's tick comes first, before the other end has confirmed.
            assert here.tick() == []
            for answer in there.tick():
                confirming += 1
                here.receive(answer)
    assert sent == 640
    assert confirming == 64
    assert here.is_idle
    assert there.is_idle


def test_half_a_window_is_confirmed_at_once_and_less_at_the_tick() -> None:
    here, there = LinkSession(1, 6), LinkSession(1, 6)
    first, second, third, fourth, fifth = [
        frame for number in range(5) for frame in here.send(numbered(number))
    ]
    # That a frame comes twice on the way does not put it off.
    for frame in (first, second, first):
        assert there.receive(frame)[1] == []
    assert there.receive(third)[1] == [Frame(1, 0, 3, None)]
    for frame in (fourth, fifth):
        assert there.receive(frame)[1] == []
    idle = [there.is_idle]
    assert there.tick() == [Frame(1, 0, 5, None)]
    idle.append(there.is_idle)
    assert idle == [False, True]
    assert there.tick() == []


def test_a_message_that_goes_back_confirms_and_no_bare_frame_follows() -> None:
    here, there = LinkSession(1), LinkSession(1)
    [frame] = here.send(numbered(0))
    assert there.receive(frame) == ([numbered(0)], [])
    [back] = there.send(numbered(1))
    assert back == Frame(1, 1, 1, numbered(1))
    assert there.tick() == []
    assert here.receive(back) == ([numbered(1)], [])
    assert here.unacknowledged == 0


def test_messages_that_waited_leave_as_the_window_opens_and_confirm_on_the_way() -> None:
    here, there = LinkSession(1, 2), LinkSession(1, 2)
    assert [len(here.send(numbered(number))) for number in range(5)] == [1, 1, 0, 0, 0]
    assert here.unacknowledged == 5
    # A message and a confirmation in one frame: what leaves then confirms the message.
    there.receive(Frame(1, 1, 0, numbered(0)))
    [back] = there.send(numbered(9))
    assert here.receive(back) == ([numbered(9)], [Frame(1, 3, 1, numbered(2))])
    assert here.tick() == []
    assert here.unacknowledged == 4


def test_a_tick_resends_what_was_in_flight_at_the_tick_before_with_what_is_known_now() -> None:
    session = LinkSession(1)
    session.send(numbered(0))
    assert session.tick() == []
    session.send(numbered(1))
    assert session.tick() == [Frame(1, 1, 0, numbered(0))]
    session.receive(Frame(1, 1, 1, numbered(7)))
    assert session.tick() == [Frame(1, 2, 1, numbered(1))]
    assert session.tick() == [Frame(1, 2, 1, numbered(1))]
    session.receive(Frame(1, 0, 2, None))
    assert session.tick() == []


def test_a_duplicate_is_confirmed_again_once_for_a_burst() -> None:
    session = LinkSession(1, 8)
    frames = [Frame(1, sequence, 0, numbered(sequence)) for sequence in (1, 2, 3)]
    for frame in frames:
        session.receive(frame)
    assert session.tick() == [Frame(1, 0, 3, None)]
    assert [session.receive(frame) for frame in 3 * frames] == 9 * [([], [])]
    assert session.tick() == [Frame(1, 0, 3, None)]
    assert session.tick() == []


def test_a_bare_acknowledgement_is_not_answered() -> None:
    session = LinkSession(1, 1)
    session.send(numbered(0))
    for _ in range(3):
        assert session.receive(Frame(1, 0, 1, None)) == ([], [])
    assert session.tick() == []
    assert session.is_idle


def test_an_empty_message_is_a_message() -> None:
    here, there = LinkSession(1), LinkSession(1)
    [frame] = here.send(Update())
    assert there.receive(frame) == ([Update()], [])
    assert here.tick() == []
    assert here.tick() == [frame]


def test_what_is_early_is_kept_within_the_window_and_no_further() -> None:
    session = LinkSession(1, 4)
    for sequence in (4, 3, 2):
        assert session.receive(Frame(1, sequence, 0, numbered(sequence))) == ([], [])
    assert not session.is_idle
    for sequence in (5, 6, 10**9):
        assert session.receive(Frame(1, sequence, 0, numbered(sequence))) == ([], [])
    assert session.impossible == 3
    # The first of two frames of a number counts.
    session.receive(Frame(1, 3, 0, numbered(-3)))
    messages, _ = session.receive(Frame(1, 1, 0, numbered(1)))
    assert messages == [numbered(number) for number in (1, 2, 3, 4)]
    assert session.receive(Frame(1, 8, 0, numbered(8))) == ([], [])
    assert session.impossible == 3


@pytest.mark.parametrize(
    "frame",
    [
        Frame(1, 0, 0, numbered(0)),
        Frame(1, -1, 0, numbered(0)),
        Frame(1, 7, 0, numbered(0)),
        Frame(1, 2, -1, numbered(0)),
        Frame(1, 2, 3, numbered(0)),
        Frame(1, 1, 0, None),
        Frame(1, -1, 0, None),
        Frame(1, 0, -1, None),
        Frame(1, 0, 3, None),
    ],
    ids=lambda frame: f"{frame.sequence} {frame.acknowledged} {frame.message is not None}",
)
def test_an_impossible_frame_is_dropped_whole_and_counted(frame: Frame) -> None:
    session = LinkSession(1, 2)
    for number in range(3):
        session.send(numbered(number))
    # Two are in flight; the third waits, so that its confirmation is forged.
    assert session.receive(frame) == ([], [])
    assert session.impossible == 1
    assert session.foreign == 0
    assert session.unacknowledged == 3
    assert session.tick() == []
    assert session.receive(Frame(1, 1, 2, numbered(8))) == (
        [numbered(8)],
        [Frame(1, 3, 1, numbered(2))],
    )


def test_a_new_life_takes_no_frame_of_the_former() -> None:
    former, here, there = LinkSession(1), LinkSession(2), LinkSession(2)
    [old] = former.send(numbered(0))
    [new] = here.send(numbered(1))
    assert there.receive(old) == ([], [])
    assert here.receive(Frame(1, 0, 1, None)) == ([], [])
    assert (there.foreign, here.foreign) == (1, 1)
    assert there.is_idle
    assert here.unacknowledged == 1
    assert there.receive(new) == ([numbered(1)], [])
    # Nor the former one of the new.
    assert former.receive(new) == ([], [])
    assert former.foreign == 1
    assert (there.impossible, here.impossible, former.impossible) == (0, 0, 0)


@given(
    window=st.integers(1, 4),
    frames=st.lists(
        st.builds(
            Frame,
            st.integers(0, 1),
            st.integers(-2, 9) | st.integers(),
            st.integers(-2, 9) | st.integers(),
            st.none() | st.integers(0, 9).map(numbered),
        )
    ),
)
def test_frames_out_of_nowhere_never_raise_and_never_pass_the_window(
    window: int, frames: list[Frame]
) -> None:
    session = LinkSession(1, window)
    for number in range(3):
        session.send(numbered(number))
    heard = 0
    for frame in frames:
        dropped = session.foreign + session.impossible
        messages, answers = session.receive(frame)
        assert len(messages) <= window
        heard += len(messages)
        assert all(answer.acknowledged == heard for answer in answers)
        if session.foreign + session.impossible > dropped:
            assert (messages, answers) == ([], [])
        assert 0 <= session.unacknowledged <= 3
        assert len(session.tick()) <= window


@pytest.mark.parametrize("window", [0, -1])
def test_a_window_without_room_is_refused(window: int) -> None:
    with pytest.raises(ValueError, match=f"the session 3: .* at least 1 message, not {window}"):
        LinkSession(3, window)
