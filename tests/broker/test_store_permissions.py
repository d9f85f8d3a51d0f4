"""The files of a store are its owner's alone, whatever the umask and whatever was there before."""

from __future__ import annotations

import asyncio
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from twigcast.broker import BrokerConfig, StoreConfig, cautions
from twigcast.broker.store import open_store
from twigcast.delivery.writes import SetHomeVersion, Version

FILES = {
    "store.sqlite",
    "store.sqlite-wal",
    "store.sqlite-shm",
    "store.lock",
    "store.reserve",
    "copy.sqlite",
}


def modes(folder: Path) -> dict[str, int]:
    """The permissions of all files in a folder."""
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}


async def use(folder: Path) -> dict[str, int]:
    """Open a store and copy it; the permissions of the files while it is open."""
    store = open_store(folder=folder, broker="here")
    try:
        written = asyncio.Event()
        store.start(asyncio.get_running_loop(), lambda _: written.set())
        store.submit(1, SetHomeVersion(Version(1, 1)))
        await written.wait()
        await store.backup(folder / "copy.sqlite")
        return modes(folder)
    finally:
        await store.close()


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_files_are_private_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    tmp_path.chmod(0o755)
    before = os.umask(mask)
    try:
        assert asyncio.run(use(tmp_path)) == dict.fromkeys(FILES, 0o600)
    finally:
        os.umask(before)


def test_files_that_others_could_read_become_private(tmp_path: Path) -> None:
    asyncio.run(use(tmp_path))
    (tmp_path / "copy.sqlite").unlink()
    (tmp_path / "store.sqlite-wal").touch()
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    assert asyncio.run(use(tmp_path)) == dict.fromkeys(FILES, 0o600)


@pytest.mark.parametrize(
    ("mode", "is_said"), [(0o700, False), (0o500, False), (0o750, True), (0o755, True)]
)
def test_a_folder_that_others_can_enter_is_warned_of(
    tmp_path: Path, mode: int, is_said: bool
) -> None:
    folder = tmp_path / "store"
    config = BrokerConfig(store=StoreConfig(folder))
    assert cautions(config) == ()
    folder.mkdir()
    folder.chmod(mode)
    said = cautions(config)
    assert len(said) == int(is_said)
    if is_said:
        assert f"chmod 700 {folder}" in said[0]
    assert cautions(replace(config, store=StoreConfig())) == ()
