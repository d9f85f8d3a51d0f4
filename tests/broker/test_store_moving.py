"""Moving a store between databases: what is kept is the same there, and it is nowhere twice."""

from __future__ import annotations

import asyncio
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from broker_store_machine import LongLife
from broker_stores import (
    DATABASES,
    PostgresStores,
    SqliteStores,
    Stores,
    User,
    document,
    durable,
    fill,
    state_of,
    with_store,
)
from live_brokers import QUICK, one_broker, take, until
from postgres_server import PASSWORD, USER, PostgresServer

from twigcast.broker import BrokerConfig, LinkConfig, StoreConfig, start_server
from twigcast.broker.store import Retention
from twigcast.broker.store.moving import Moved, move_store
from twigcast.broker.store.postgres import opening as postgres_opening
from twigcast.broker.store.postgres.moving import PostgresSource, PostgresTarget
from twigcast.broker.store.sqlite.disk import FILE
from twigcast.broker.store.sqlite.moving import ASIDE, SqliteSource, SqliteTarget
from twigcast.client import connect
from twigcast.delivery.writes import (
    Acknowledge,
    NoteAttempts,
    SetAside,
    SetHomeVersion,
    StoreState,
    Version,
)
from twigcast.errors import StoreError

SQLITE_KINDS = (SqliteSource, SqliteTarget)
POSTGRES_KINDS = (PostgresSource, PostgresTarget)
KINDS = [("sqlite", "postgres"), ("postgres", "sqlite"), ("sqlite", "sqlite")]


def place(stores: Stores) -> Path | str:
    if isinstance(stores, SqliteStores):
        return stores.folder
    assert isinstance(stores, PostgresStores)
    return stores.url


def tell(work: str, done: int = 0, total: int = 0) -> None:
    pass


def move(source: Stores, target: Stores) -> Moved:
    moved = move_store(place(source), place(target), tell)
    target.audit()
    return moved


class MovingLife(LongLife):
    """A long life in a store that is moved to another database again and again."""

    def __init__(self, databases: list[str], seed: int) -> None:
        super().__init__(databases[0], seed)
        self.databases = databases
        self.administered = self.moves = 0

    def move(self) -> None:
        machine = self.machine
        machine.wait(machine.store.close())
        self.moves += 1
        kind = self.databases[self.moves % len(self.databases)]
        folder = machine.patches.enter_context(tempfile.TemporaryDirectory())
        target = DATABASES[kind](Path(folder) / "store")
        moved = move(machine.stores, target)
        assert moved.rows("documents") == len(machine.model.documents)
        assert moved.rows("letters") == len(machine.model.letters)
        machine.stores = target
        machine.open()
        machine.figures()
        for name in machine.model.queues:
            machine.read_queue(name, 0, 10_000, 10_000)
        machine.newest_first(60)

    def administer(self) -> None:
        super().administer()
        self.administered += 1
        if not self.administered % 3:
            self.move()


@pytest.mark.parametrize(
    "seed", [0, 1, *(pytest.param(each, marks=pytest.mark.slow) for each in range(2, 8))]
)
def test_a_life_in_files_that_are_moved_is_that_of_the_model(seed: int) -> None:
    life = MovingLife(["sqlite"], seed)
    life.run(400)
    assert life.moves > 2


@pytest.mark.usefixtures("postgres")
@pytest.mark.parametrize(
    ("databases", "seed"),
    [
        (["sqlite", "postgres"], 0),
        (["sqlite", "postgres"], 1),
        (["postgres"], 2),
        *(pytest.param(["sqlite", "postgres"], n, marks=pytest.mark.slow) for n in range(3, 20)),
    ],
)
def test_a_life_that_is_moved_to_postgres_and_back_is_that_of_the_model(
    databases: list[str], seed: int
) -> None:
    life = MovingLife(databases, seed)
    life.run(250)
    assert life.moves > 2


# ---- what is moved -------------------------------------------------------------------------------

SQLITE = """
facts: name value
documents: number id published stored publication headers expires publisher scope size
contents: document content
again: position document stored
destinations: document broker durable
released: document at publisher
queue: position durable sequence keys
runs: segment durable sequence position
durables: number name owner is_shared key most_attempts scope missed_reported
places: durable last acknowledged missed
beyond: durable sequence
revived: durable sequence
attempts: durable sequence count
gaps: durable after upto
expressions: durable key xpath
debtors: number home waiting
owed: document debtor
letters: number document durable name home sequence keys reason at
publications: number key digest document stored
publishers: name bytes
homes: name epoch version
home_patterns: home pattern
bits: unit member bit
lines: number origin incarnation settled
received: line number
"""
POSTGRES = """
facts: name value
writers: token generation batch
accounts: publisher documents bytes
documents: number id published stored headers expires publication publisher size entries needed \
 scope
contents: document content
destinations: document broker durable
freed: document at publisher
publications: publication id digest stored
durables: number name owner is_shared key most_attempts scope last acknowledged waiting missed \
missed_reported gap_after gap_last
expressions: durable key xpath
queue: durable sequence document stored keys
beyond: durable sequence
revived: durable sequence
attempts: durable sequence count
debts: number home waiting
owed: debt document
letters: number document durable durable_name home sequence keys reason at
homes: name epoch version
home_patterns: home pattern
bits: unit member bit
received: origin incarnation settled
received_numbers: origin incarnation number
"""
FACTS = {
    "sqlite": "bytes broker documents home_epoch home_version incarnation is_copy position",
    "postgres": "broker door home_epoch home_version incarnation layout place risk",
}
FORGOTTEN = "see that move_store moves it (store/kept.py, */moving.py), then name it here"


def columns_of(text: str) -> set[tuple[str, str]]:
    lines = (line.split(": ") for line in text.strip().splitlines())
    return {(table, column) for table, columns in lines for column in columns.split()}


async def set_home_version(user: User) -> None:
    await user.do(SetHomeVersion(Version(1, 2)))


def test_no_table_column_or_fact_of_a_file_is_forgotten(tmp_path: Path) -> None:
    with_store(SqliteStores(tmp_path), set_home_version)
    with closing(sqlite3.connect(tmp_path / FILE)) as connection:
        found = connection.execute(
            "SELECT m.name, c.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c"
            " WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'"
        ).fetchall()
        facts = connection.execute("SELECT name FROM facts").fetchall()
        assert set(found) == columns_of(SQLITE), FORGOTTEN
        assert {name for (name,) in facts} == {*FACTS["sqlite"].split()}, FORGOTTEN


def test_no_table_column_or_fact_of_postgres_is_forgotten(postgres: PostgresServer) -> None:
    stores = PostgresStores(Path())
    with_store(stores, set_home_version)
    found = postgres.execute(
        "SELECT table_name, column_name FROM information_schema.columns"
        " WHERE table_schema = 'twigcast'",
        stores.database,
    )
    facts = postgres.execute("SELECT name FROM twigcast.facts", stores.database)
    assert set(found) == columns_of(POSTGRES.replace("\\\n", "")), FORGOTTEN
    assert {name for (name,) in facts} == {*FACTS["postgres"].split()}, FORGOTTEN


@pytest.fixture(params=KINDS, ids=lambda kinds: "-to-".join(kinds))
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Stores, Stores]:
    """A place for a store, and one to move it to."""
    source, target = request.param
    return DATABASES[source](tmp_path / "source"), DATABASES[target](tmp_path / "target")


async def fill_somewhat(user: User) -> None:
    await fill(user, 12)
    await user.do(durable("sport"))
    await user.do(document(3, "sport", stored=20, homes=("far",)))  # which is kept already
    await user.do(document(13, "news", "sport", stored=30, publication="p", publisher="ann"))
    await user.do(Acknowledge("news", 4, (6, 9), 40))
    await user.do(SetAside("news", (7,), "too often", 50))
    await user.do(NoteAttempts("news", {8: 2}))


def without_incarnation(stores: Stores) -> StoreState:
    return state_of(stores)._replace(incarnation=0)


def test_the_first_since_a_time_is_the_same_after_moves(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    """Entries that were stored after their documents lie elsewhere in a file that was moved."""

    async def prepare(user: User) -> None:
        await user.do(durable("news"))
        for number in range(1, 20):
            again = () if number % 3 else (document(number - 2, "news", stored=number),)
            for each in (document(number, *["news"] * (number % 3 != 1), stored=number), *again):
                await user.do(each)

    async def firsts(user: User) -> list[int]:
        return [await user.store.first_since("news", time) for time in range(22)]

    lives: list[Stores] = [
        SqliteStores(tmp_path / "1"),
        PostgresStores(Path()),
        SqliteStores(tmp_path / "2"),
    ]
    with_store(lives[0], prepare)
    expected = with_store(lives[0], firsts)
    assert len(set(expected)) > 10
    for source, target in pairwise(lives):
        move(source, target)
        assert with_store(target, firsts) == expected


def test_gaps_are_moved(tmp_path: Path, postgres: PostgresServer) -> None:
    """Queues of a folder that is copied again and again have several; the last may be pending."""

    async def add(user: User) -> None:
        last = max(each.last for each in user.state.durables) if user.state.durables else 0
        await user.do(durable("news"))
        await user.do(durable("sport"))
        await user.do(document(last + 1, "news", "sport", stored=last))
        await user.do(Acknowledge("sport", last + 9, (), 0))

    folder = tmp_path / "0"
    for number in range(1, 4):
        with_store(SqliteStores(folder), add)
        copy = tmp_path / str(number)
        shutil.copytree(folder, copy)
        folder = copy
    shutil.copytree(folder, tmp_path / "beside")
    expected = without_incarnation(SqliteStores(tmp_path / "beside"))
    assert [each.last for each in expected.durables] == [3_000_003] * 2
    lives: list[Stores] = [
        SqliteStores(folder),
        PostgresStores(Path()),
        SqliteStores(tmp_path / "end"),
    ]
    for source, target in pairwise(lives):
        move(source, target)
    assert without_incarnation(lives[-1]) == expected

    async def waiting(user: User) -> Any:
        return (await user.store.figures()).queued

    assert with_store(lives[-1], waiting) == {"news": 3, "sport": 0}


# ---- what is refused, and what is left when a move fails -----------------------------------------


def test_afterwards_only_the_target_can_be_opened(
    pair: tuple[Stores, Stores], tmp_path: Path
) -> None:
    source, target = pair
    with_store(source, fill_somewhat)
    expected = without_incarnation(source)
    moved = move(source, target)
    assert (moved.rows("documents"), moved.bytes, moved.rows("letters")) == (13, 121, 1)
    with pytest.raises(StoreError, match=f"was moved to {re.escape(moved.target)}: name that one"):
        source.open(Retention())
    with pytest.raises(StoreError, match="there is a store already"):
        move(source, target)
    assert without_incarnation(target) == expected
    with pytest.raises(StoreError, match="was moved to"):
        move(source, SqliteStores(tmp_path / "elsewhere"))


def test_an_unfinished_move_is_finished_from_where_it_began(
    pair: tuple[Stores, Stores], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    other = SqliteStores(tmp_path / "another")
    for each in (source, other):
        with_store(each, fill_somewhat)
    expected = without_incarnation(source)
    with monkeypatch.context() as patch:
        for kind in (SqliteTarget, PostgresTarget):
            patch.setattr(kind, "release", _stop)
        with pytest.raises(KeyboardInterrupt):
            move(source, target)
    with pytest.raises(StoreError, match="was not finished: run that one again"):
        move(other, target)
    move(source, target)
    assert without_incarnation(target) == expected


def _stop(target: object) -> None:
    raise KeyboardInterrupt


def test_a_running_broker_is_left_alone(
    pair: tuple[Stores, Stores], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_opening, "PATIENCE", 0.1)
    source, target = pair
    with_store(source, fill_somewhat)

    async def try_to_move(user: User) -> None:
        with pytest.raises(StoreError, match="a running broker has this store open: stop that one"):
            move(source, target)

    for each in pair:
        with_store(each, try_to_move)


def test_a_store_is_not_moved_over_another(pair: tuple[Stores, Stores]) -> None:
    source, target = pair
    for each in pair:
        with_store(each, fill_somewhat)
    expected = without_incarnation(target)
    with pytest.raises(StoreError, match="nothing is moved over it: name an empty folder or data"):
        move(source, target)
    assert without_incarnation(source) == without_incarnation(target) == expected


def test_there_is_nothing_to_move(pair: tuple[Stores, Stores]) -> None:
    with pytest.raises(StoreError, match="there is no store: name the folder or database"):
        move(*pair)


def test_a_store_is_not_moved_to_itself(stores: Stores) -> None:
    with_store(stores, fill_somewhat)
    with pytest.raises(StoreError, match="from one place to another: name two"):
        move(stores, stores)


STEPS = ["begin", "write", "finish", "install", "mark_moved", "release"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("is_done", [False, True], ids=["before", "after"])
def test_a_move_that_is_interrupted_is_run_again(
    pair: tuple[Stores, Stores], step: str, is_done: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the moment: brokers never open both stores, and nothing is lost."""
    source, target = pair
    with_store(source, fill_somewhat)
    expected = without_incarnation(source)
    side = source if step == "mark_moved" else target
    interrupt(side, step, is_done, monkeypatch)
    with pytest.raises(KeyboardInterrupt):
        move(source, target)
    monkeypatch.undo()
    is_complete = (step, is_done) == ("release", True)
    is_marked = STEPS.index(step) + is_done > STEPS.index("mark_moved")
    if is_marked:
        with pytest.raises(StoreError, match="was moved to"):
            source.open(Retention())
    else:
        assert without_incarnation(source) == expected
    is_placed = STEPS.index(step) + is_done > STEPS.index("install")
    if is_placed and not is_complete:
        with pytest.raises(StoreError, match="was not finished: run twigcast admin move-store ag"):
            target.open(Retention())
    if not is_complete:
        move(source, target)
    assert without_incarnation(target) == expected


def interrupt(stores: Stores, step: str, is_done: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have Ctrl-C come before or after a step on one side of a move."""
    kinds: Any = SQLITE_KINDS if isinstance(stores, SqliteStores) else POSTGRES_KINDS
    kind = kinds[step != "mark_moved"]
    run = getattr(kind, step)

    def broken(self: Any, *arguments: Any) -> None:
        if step == "write" and arguments[0] != "contents":
            run(self, *arguments)
            return
        if is_done:
            run(self, *arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(kind, step, broken)


def test_a_move_to_a_folder_that_is_killed_leaves_nothing_that_hinders(tmp_path: Path) -> None:
    source, target = SqliteStores(tmp_path / "source"), SqliteStores(tmp_path / "target")
    with_store(source, fill_somewhat)
    expected = without_incarnation(source)
    program = (
        "import os, sys; from pathlib import Path;"
        "from twigcast.broker.store.sqlite.moving import SqliteTarget;"
        "from twigcast.broker import move_store;"
        "SqliteTarget.finish = lambda *_: os._exit(9);"
        "move_store(*map(Path, sys.argv[1:]), print)"
    )
    killed = subprocess.run([sys.executable, "-c", program, source.folder, target.folder])
    assert killed.returncode == 9
    assert (target.folder / ASIDE).exists()
    move(source, target)
    assert not (target.folder / ASIDE).exists()
    assert without_incarnation(target) == expected


def test_what_is_read_back_is_compared(
    pair: tuple[Stores, Stores], monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = pair
    with_store(source, fill_somewhat)
    kind: Any = SqliteTarget if isinstance(target, SqliteStores) else PostgresTarget
    write = kind.write

    def write_wrongly(self: Any, table: str, rows: Any) -> None:
        if table == "contents":
            rows = ((number, content[:-1] + b"?") for number, content in rows)
        write(self, table, rows)

    monkeypatch.setattr(kind, "write", write_wrongly)
    with pytest.raises(StoreError, match="what is read back of contents is not what was written"):
        move(source, target)
    monkeypatch.undo()
    move(source, target)


# ---- brokers -------------------------------------------------------------------------------------


def test_brokers_go_on_from_stores_that_were_moved(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was owed to a home, and what waited there, comes once; publications are known."""
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    urls = [
        f"postgresql://{USER}@127.0.0.1:{postgres.port}/{postgres.new_database()}" for _ in range(2)
    ]
    before = [StoreConfig(tmp_path / name) for name in ("origin", "home")]
    after = [StoreConfig(url=url) for url in urls]

    async def begin() -> list[bytes]:
        async with one_broker(None, BrokerConfig(name="origin", store=before[0])) as origin:
            home = await start_server(home_of(origin.address, before[1]))
            async with connect(origin.address) as publisher:
                async with connect(home.address) as client:
                    subscription = client.subscribe("/a", durable="d")
                    await subscription.ready()
                    for number in range(10):
                        await publisher.publish(f"<a>{number}</a>", id=f"p{number}")
                    taken = []
                    for event in await take(subscription, 4):
                        taken.append(event.content)
                        await event.ack()
                    await subscription.close()
                await home.close()
                await until(lambda: not origin.broker.links.up)
                for number in range(10, 20):
                    await publisher.publish(f"<a>{number}</a>", id=f"p{number}")
            return taken

    async def go_on() -> list[bytes]:
        async with one_broker(None, BrokerConfig(name="origin", store=after[0])) as origin:
            home = await start_server(home_of(origin.address, after[1]))
            async with connect(origin.address) as publisher, connect(home.address) as client:
                subscription = client.subscribe("/a", durable="d")
                for number in (3, 15):
                    await publisher.publish(f"<a>{number}</a>", id=f"p{number}")
                taken = [event.content for event in await take(subscription, 16)]
                await publisher.publish("<a>end</a>")
                taken += [event.content for event in await take(subscription, 1)]
            await home.close()
            return taken

    taken = asyncio.run(begin())
    for old, new in zip(before, after, strict=True):
        assert old.folder is not None
        move_store(old.folder, new.url, tell)
    taken += asyncio.run(go_on())
    texts = Counter(bytes(each) for each in taken)
    assert texts == Counter([*(b"<a>%d</a>" % number for number in range(20)), b"<a>end</a>"])


def home_of(address: str, store: StoreConfig) -> BrokerConfig:
    links = (LinkConfig(address),)
    return BrokerConfig(
        name="home", listen="127.0.0.1:0", heartbeat=QUICK, links=links, store=store
    )
