"""Looks for a set of subscriptions whose coverings the compiled search gets wrong.

    python tools/fuzz_covering.py --seconds 60 --seed 1

Work is done in rounds.  Each is a random life of one set: patterns come and go, and in between the
set is asked which of its patterns one covers and which cover it.  Every answer is compared with
that of ``covers``, pair by pair, and with the compiled comparison of all pairs; the published
algorithm may find less, but nothing else.  A covering table lives beside the set: what it told its
neighbour must add up to what it forwards, and what it does not forward must have a witness.  At the
end all patterns go, and nothing may be left behind.

Rounds run in a process of their own, so that a crash or a hang is a finding too.  A round depends
on nothing but the seed and its number: ``--round`` repeats one.  A finding is printed as a short
script that shows it, found by leaving out whatever is not needed; the exit code is then 1.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple, TypeAlias

import fuzz_matcher
import fuzz_matcher_lives
import fuzz_rounds

from lab.published import LinearSearch, PublishedSearch
from twigcast.covering import CoveringTable, PatternSearch, Prepared, Search
from twigcast.errors import SubscriptionError
from twigcast.language import LanguageLimits, Pattern, parse
from twigcast.language.operators import FUNCTIONS

NAMESPACES = {"p": "urn:p"}
LIMITS = LanguageLimits(depth=200)
_NAMES = ("a", "a", "b", "b", "c", "*", "*", "p:a", "*:b", "p:*")
_LEAVES = ("@x", "@x", "@y", "@*", "@*:x", "text()")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=")
_CONSTANTS = ("1", "2", "2.5", "15", "-3", "'1'", "' 1'", "'ab'", "'b'", "''", "'é'", "'1e1'")
_CONDITIONS = (
    *("not(c)", "not(c/b)", "not(.//b)", "not(. = 1)", "not(. < 2)", "not(@x = 'ab')", "a or c"),
    *("contains(b, 'a')", "not(contains(b, 'a'))", "string(b) = 'ab'", "number(b) > 1"),
    *("count(b) > 1", "not(count(b) > 1)", "count(c/b) = 2", "b = c", "b/following-sibling::a"),
)
_TOKENS = re.compile(r"[\w*:@.]+(?:\(\))?|//|\[[^\[\]]*\]|.", re.DOTALL)


class Add(NamedTuple):
    """A pattern comes, unless it is there."""

    expression: str


class Remove(NamedTuple):
    """A pattern goes, if it is there."""

    expression: str


class Ask(NamedTuple):
    """The set is searched, both ways."""

    expression: str


Operation: TypeAlias = Add | Remove | Ask


# --- random lives -------------------------------------------------------------------------------


def draw_expression(random: Random) -> str:
    """A subscription with the prefixes of NAMESPACES."""
    kind = random.randrange(14)
    if kind >= 12:
        parts = [_whole(random) for _ in range(random.choice((1, 2, 2, 3)))]
        return random.choice((" and ", " and ", " or ")).join(parts)
    if kind <= 2:
        return _linear(random, random.choice((2, 4, 7, 12)), random.choice((2, 4, len(_NAMES))))
    if kind <= 5:
        return random.choice(("/", "//")) + _branch(random, random.choice((2, 4, 6, 9)))
    if kind == 6:
        return f"/a/b[{_comparison(random)}]" + f"[{_comparison(random)}]" * random.randrange(2)
    if kind == 7 and random.random() < 0.1:
        return _deep(random)
    if kind == 8 and random.random() < 0.1:
        return "/a" + "".join(f"[{_branch(random, 4)}]" for _ in range(random.choice((8, 30))))
    return fuzz_matcher_lives.draw_expression(random)


def _whole(random: Random) -> str:
    """A condition of the whole document."""
    path = random.choice(("/", "//")) + _branch(random, random.choice((1, 2, 4)))
    form = random.choice(("{}", "{}", "not({})", "{}[{}]", "{}[{}]", "{}[not({})]", "count({})>1"))
    return form.format(path, random.choice(_CONDITIONS))


def _linear(random: Random, longest: int, variety: int) -> str:
    names = ("a", "*", "b", "*", *_NAMES)[: max(variety, 2)]
    steps = random.randint(1, longest)
    return "".join(random.choice(("/", "//")) + random.choice(names) for _ in range(steps))


def _deep(random: Random) -> str:
    """A path about as long as the walks can number, and beyond."""
    length = random.choice((60, 63, 65, 120, 124, 125, 126, 127, 130, 160))
    steps = ["/a"] * length
    for _ in range(random.randrange(4)):
        steps[random.randrange(length)] = random.choice(("//a", "/*", "//b", "/b", "//*"))
    return "".join(steps) + random.choice(("", "/@x", "/b[. > 1]", "[b][c]"))


def _branch(random: Random, size: int) -> str:
    """A tree of so many steps."""
    if size == 1 and random.random() < 0.3:
        leaf = random.choice(_LEAVES)
        return leaf if random.random() < 0.5 else f"{leaf}[{_comparison(random)}]"
    text = random.choice(_NAMES)
    if random.random() < 0.05:
        text += random.choice(("[1]", "[2]", "[position()>1]", "[position()<3]"))
    if random.random() < 0.15:
        text += f"[{_comparison(random)}]"
    if random.random() < 0.06:
        text += f"[{random.choice(_CONDITIONS)}]"
    size -= 1
    while size > 0:
        part = random.randint(1, size)
        size -= part
        text += f"[{random.choice(('', '', './/'))}{_branch(random, part)}]"
    return text


def _comparison(random: Random) -> str:
    if random.random() < 0.2:
        text = random.choice(("a", "ab", "b", "1", "", "é", "1e", "-"))
        return f"{random.choice(sorted(FUNCTIONS))}(., '{text}')"
    return f". {random.choice(_OPERATORS)} {random.choice(_CONSTANTS)}"


def varied(random: Random, expression: str) -> str:
    """An expression much like another, which often covers it or is covered."""
    tokens = _TOKENS.findall(expression)
    for _ in range(random.choice((1, 1, 2, 3))):
        place = random.randrange(len(tokens))
        token = tokens[place]
        if token in ("/", "//"):
            tokens[place] = random.choice(("/", "//", "//", "//*/", "/*/"))
        elif token.startswith("["):
            tokens[place] = random.choice(("", f"[{_comparison(random)}]", token + "[b]"))
        elif token in _NAMES:
            tokens[place] = random.choice(("*", "*", *_NAMES))
        else:
            tokens[place] = random.choice((token, *_CONSTANTS, *_OPERATORS))
    return "".join(tokens)


def understood(expression: str) -> Pattern | None:
    """The pattern of an expression; None for what is outside the language."""
    try:
        return parse(expression, NAMESPACES, limits=LIMITS)
    except SubscriptionError:
        return None


def draw_life(seed: int, number: int) -> list[Operation]:
    """What happens to the set."""
    random = Random(f"{seed} {number}")
    pool = [draw_expression(random) for _ in range(random.choice((2, 8, 25)))]
    pool += [varied(random, random.choice(pool)) for _ in pool for _ in range(2)]
    pool = [expression for expression in pool if understood(expression) is not None]
    operations: list[Operation] = [Add(expression) for expression in pool[::2]]
    for _ in range(40):
        expression = random.choice(pool)
        kind = random.randrange(4)
        if kind == 0:
            operations.append(Add(expression))
        elif kind == 1:
            operations.append(Remove(expression))
        else:
            operations.append(Ask(expression))
    return operations


# --- living them --------------------------------------------------------------------------------


class Life:
    """A set in a factorization tree, and beside it whatever should agree with it."""

    def __init__(self, make: Callable[[], Search]) -> None:
        self.search = make()
        self.compared = PatternSearch(linear=True)
        self.one_by_one = LinearSearch()
        self.published = PublishedSearch()
        self.table = CoveringTable(make())
        self.present: dict[Pattern, bool] = {}
        self.told: set[Pattern] = set()

    def live(self, operation: Operation) -> str | None:
        """Do it, and tell what is wrong with the outcome."""
        pattern = understood(operation.expression)
        if pattern is None:
            return None
        if isinstance(operation, Ask):
            return self._ask(pattern)
        if isinstance(operation, Add) and pattern not in self.present:
            return self._add(pattern)
        if isinstance(operation, Remove) and pattern in self.present:
            return self._remove(pattern)
        return None

    def end(self) -> str | None:
        """Take all patterns out, and tell what is left."""
        for pattern in list(self.present):
            wrong = self._remove(pattern)
            if wrong is not None:
                return wrong
        nodes = [getattr(self.search, "trie_nodes", 0), self.published.trie_nodes]
        if any(nodes) or len(self.table) or self.table.patterns or self.table.forwarded:
            return f"{nodes} trie nodes are left, and {self.table}"
        return None

    def _add(self, pattern: Pattern) -> str | None:
        for search in (self.search, self.compared, self.one_by_one):
            search.add(pattern)
        self.present[pattern] = _is_plain(pattern)
        if self.present[pattern]:
            self.published.add(pattern)
        return self._tell(pattern, is_new=True)

    def _remove(self, pattern: Pattern) -> str | None:
        for search in (self.search, self.compared, self.one_by_one):
            search.remove(pattern)
        if self.present.pop(pattern):
            self.published.remove(pattern)
        return self._tell(pattern, is_new=False)

    def _tell(self, pattern: Pattern, *, is_new: bool) -> str | None:
        """Change the table, and add up what it tells."""
        key = str(pattern)
        change = self.table.add(key, pattern) if is_new else self.table.remove(key)
        if self.told & set(change.forward):
            return f"{pattern}: forwards {change.forward} again"
        self.told |= set(change.forward)
        if not self.told >= set(change.withdraw):
            return f"{pattern}: withdraws {change.withdraw}, which was not forwarded"
        self.told -= set(change.withdraw)
        if self.told != set(self.table.forwarded):
            return f"{pattern}: told {_shown(self.told)}, forwards {_shown(self.table.forwarded)}"
        for one in self.present:
            witness = self.table.witness(one)
            if (witness is None) != (one in self.told):
                return f"{pattern}: the witness of {one} is {witness}"
        return None

    def _expected(self, mode: str, pattern: Pattern) -> set[Pattern]:
        """What ``covers`` says; and whatever never matches is covered by all."""
        expected = set(getattr(self.one_by_one, mode)(pattern))
        if mode == "covering":
            return expected | (set(self.present) if never_matches(pattern) else set())
        return expected | set(filter(never_matches, self.present))

    def _ask(self, pattern: Pattern) -> str | None:
        for mode in ("covered_by", "covering"):
            expected = sorted(self._expected(mode, pattern), key=str)
            for name, search in (("", self.search), (" linear", self.compared)):
                found = sorted(getattr(search, mode)(pattern), key=str)
                if found != expected:
                    shown = f"{_shown(found)} instead of {_shown(expected)}"
                    return f"{mode}{name} {pattern}: {shown}"
            if _is_plain(pattern):
                published = getattr(self.published, mode)(pattern)
                if not set(published) <= set(expected):
                    return f"{mode} as published {pattern}: {_shown(published)} is too much"
        return None


@lru_cache(maxsize=1024)
def never_matches(pattern: Pattern) -> bool:
    """Whether its own comparisons contradict each other."""
    return not Prepared(pattern).possible


@lru_cache(maxsize=1024)
def _is_plain(pattern: Pattern) -> bool:
    """Whether the published algorithm takes it; it tries all ways, so small ones only."""
    if str(pattern).count("//") > 2:
        return False
    try:
        PublishedSearch().covering(pattern)
    except ValueError:
        return False
    return True


def _shown(patterns: Sequence[Pattern] | set[Pattern]) -> str:
    return "[" + ", ".join(sorted(map(str, patterns))) + "]"


def judge(make: Callable[[], Search], operations: Sequence[Operation]) -> str | None:
    """What is wrong with the first outcome that is wrong."""
    life = Life(make)
    try:
        for operation in operations:
            wrong = life.live(operation)
            if wrong is not None:
                return wrong
        return life.end()
    except Exception as error:
        return f"raises {type(error).__name__}: {error}"


# --- findings -----------------------------------------------------------------------------------


def reduce_life(make: Callable[[], Search], operations: Sequence[Operation]) -> list[Operation]:
    """Fewer operations with shorter expressions that still go wrong."""

    def is_wrong(some: Sequence[Operation]) -> bool:
        return judge(make, some) is not None

    kept = fuzz_matcher.shrink(list(operations), is_wrong)
    for expression in dict.fromkeys(operation.expression for operation in kept):
        kept = _with_shorter(kept, expression, is_wrong)
    return kept


def _with_shorter(
    operations: list[Operation], expression: str, is_wrong: Callable[[Sequence[Operation]], bool]
) -> list[Operation]:
    """The operations with one expression cut down, wherever it stands."""

    def replaced(characters: Sequence[str]) -> list[Operation]:
        return [
            operation._replace(expression="".join(characters))
            if operation.expression == expression
            else operation
            for operation in operations
        ]

    def is_wrong_with(characters: Sequence[str]) -> bool:
        return understood("".join(characters)) is not None and is_wrong(replaced(characters))

    shortest = list(expression)
    for _ in range(2):  # a predicate as a whole, then what is in it and around it
        tokens = fuzz_matcher.shrink(_TOKENS.findall("".join(shortest)), is_wrong_with)
        shortest = fuzz_matcher.shrink(list("".join(tokens)), is_wrong_with)
    # Brackets go two at a time, which shrinking does not try and the normal form does.
    normal = list(str(understood("".join(shortest))))
    if len(normal) < len(shortest) and is_wrong_with(normal):
        shortest = fuzz_matcher.shrink(normal, is_wrong_with)
    return replaced(shortest)


def reproduction(operations: Sequence[Operation], wrong: str) -> str:
    """A script that shows the finding."""
    lines = [f"# {line}" for line in wrong.splitlines()]
    lines += [
        "# run in the folder of fuzz_covering.py",
        "from fuzz_covering import Add, Ask, Remove, judge",
        "from twigcast.covering import PatternSearch",
        "operations = [",
        *(f"    {operation!r}," for operation in operations),
        "]",
        "print(judge(PatternSearch, operations))",
    ]
    return "\n".join(lines)


def run_round(seed: int, number: int, make: Callable[[], Search] = PatternSearch) -> str | None:
    """Live one life; the script of the finding, if there is one."""
    operations = draw_life(seed, number)
    if judge(make, operations) is None:
        return None
    reduced = reduce_life(make, operations)
    return reproduction(reduced, judge(make, reduced) or "")


if __name__ == "__main__":
    about = "look for what the search of coverings gets wrong"
    sys.exit(fuzz_rounds.main(__file__, about, run_round))
