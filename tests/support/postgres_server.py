"""A PostgreSQL for tests: in a temporary folder, on a free port of the loopback interface.

Tests ask for ``postgres_url``, a new database for each of them, or for ``postgres``, the server, to
kill it; where there are no fixtures, for ``shared_postgres``.  All of them run in one process (see
``conftest.py``), which starts one server when the first of them needs it.  Without PostgreSQL they
skip; `make servers` installs it.
"""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any, Final

import pytest

USER: Final = "twigcast"
PASSWORD: Final = "a secret of the tests"
_QUOTED: Final = PASSWORD.replace(" ", "%20")
_SETTINGS: Final = {
    "listen_addresses": "127.0.0.1",
    "fsync": "off",  # a kill of the server loses nothing that the system has
    "full_page_writes": "off",
    "shared_buffers": "32MB",
    "max_connections": "60",
    "log_min_messages": "fatal",
    "autovacuum": "off",
}


def find_program(name: str) -> Path | None:
    """A program of PostgreSQL's, on PATH or where Debian puts it; the newest one of those."""
    on_path = shutil.which(name)
    installed = Path("/usr/lib/postgresql").glob(f"*/bin/{name}")
    others = sorted(installed, key=lambda path: float(path.parts[-3]))
    return Path(on_path) if on_path else others[-1] if others else None


def free_port() -> int:
    """A port that nobody listens on right now."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


class PostgresServer:
    """A server with a data folder; it can be killed and started again."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self._folder = folder
        self._settings = settings
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = count(1)
        self.port = 0
        self._as_user: dict[str, Any] = {}
        if os.getuid() == 0:  # which PostgreSQL refuses to run as
            owner = pwd.getpwnam("nobody")
            os.chown(folder, owner.pw_uid, owner.pw_gid)
            self._as_user = {"user": owner.pw_uid, "group": owner.pw_gid, "extra_groups": []}

    @property
    def data(self) -> Path:
        """The folder with the data."""
        return self._folder / "data"

    def make(self) -> None:
        """Make the data folder, with one user who owns everything."""
        secret = self._folder / "password"
        secret.write_text(PASSWORD)
        secret.chmod(0o644)
        command: list[str | Path] = [
            _program("initdb"),
            "--pgdata",
            self.data,
            "--username",
            USER,
            "--no-sync",
        ]
        command += ["--auth", "password", "--pwfile", secret, "--encoding", "UTF8"]
        subprocess.run(
            [*command, "--no-locale"], check=True, capture_output=True, cwd="/", **self._as_user
        )

    def start(self) -> None:
        """Start the server, on the same port as before, and wait until it answers."""
        for _ in range(20):
            port = self.port or free_port()
            if self._try_start(port):
                self.port = port
                return
            time.sleep(0.1)  # processes of a killed server still end, or the port was taken
        raise RuntimeError(f"PostgreSQL does not start: {self._log().read_text()}")

    def _log(self) -> Path:
        return self._folder / "log"

    def _try_start(self, port: int) -> bool:
        settings = self._settings | {
            "port": str(port),
            "unix_socket_directories": str(self._folder),
        }
        options = [part for each in settings.items() for part in ("-c", "=".join(each))]
        with self._log().open("wb") as log:
            self._process = subprocess.Popen(
                [_program("postgres"), "-D", self.data, *options],
                **{"stdout": log, "stderr": log, "cwd": "/", **self._as_user},
            )
        while self._process.poll() is None:
            if _answers(self._folder / f".s.PGSQL.{port}"):
                return True
            time.sleep(0.02)
        return False

    def kill(self) -> None:
        """End the server at once, as a fault would; what it was doing stays undone."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def stop(self) -> None:
        """End the server; clients are cut off."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            self._process.wait(30)

    def url(self, database: str = "postgres", user: str = USER, password: str = _QUOTED) -> str:
        """The address of a database."""
        return f"postgresql://{user}:{password}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """The rows that a statement gives."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def new_database(self) -> str:
        """Make an empty database, and give its name."""
        name = f"test{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name}")
        return name


def _program(name: str) -> Path:
    program = find_program(name)
    assert program is not None
    return program


def _answers(path: Path) -> bool:
    """Whether a server at a socket says how to log in, and not that it is still starting."""
    user = f"user\0{USER}\0\0".encode()
    packet = (8 + len(user)).to_bytes(4, "big") + (3 << 16).to_bytes(4, "big") + user
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(2.0)
            client.connect(str(path))
            client.sendall(packet)
            return client.recv(1) == b"R"
    except OSError:
        return False


@contextmanager
def running_postgres(settings: dict[str, str] | None = None) -> Iterator[PostgresServer]:
    """A server while it is needed; skips the test where there is no PostgreSQL."""
    pytest.importorskip("psycopg", reason="psycopg is not installed: install twigcast[postgres]")
    if None in map(find_program, ("postgres", "initdb")):
        pytest.skip("there is no PostgreSQL here: `make servers` installs it")
    folder = Path(tempfile.mkdtemp(prefix="twigcast-postgres-"))
    server = PostgresServer(folder, {**_SETTINGS, **(settings or {})})
    try:
        server.make()
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


_shared = ExitStack()


@cache
def shared_postgres() -> PostgresServer:
    """The server that all tests of a process share."""
    return _shared.enter_context(running_postgres())


def stop_shared_postgres() -> None:
    """Stop that server, if it was started."""
    _shared.close()
    shared_postgres.cache_clear()
