"""Rounds of looking for something wrong, in a process of their own that may crash or hang.

A tool gives a function ``run_round(seed, number)`` that returns a script for what it has found, or
None.  The same seed and number repeat a round.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

PATIENCE = 120.0
RunRound = Callable[[int, int], str | None]


def work(run_round: RunRound, seed: int, rounds: Iterator[int], seconds: float) -> int:
    """The rounds, told on standard output as they start; ends at the first finding."""
    end = time.monotonic() + seconds
    for number in rounds:
        print("round", number, flush=True)
        found = run_round(seed, number)
        if found is not None:
            print(found, flush=True)
            return 1
        if time.monotonic() > end:
            break
    return 0


def supervise(
    tool: str, command: Sequence[str], seed: int, patience: float = PATIENCE
) -> tuple[int, str]:
    """Run the rounds in another process: its exit code and what it tells, a crash included."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stdout is not None
    number, told = "0", []
    hangs = threading.Event()

    def give_up() -> None:
        hangs.set()
        process.kill()

    timer = threading.Timer(patience, give_up)
    timer.start()
    with process.stdout:
        for line in process.stdout:
            if line.startswith("round "):
                timer.cancel()
                number = line.split()[1]
                timer = threading.Timer(patience, give_up)
                timer.start()
            else:
                told.append(line)
    timer.cancel()
    code = process.wait()
    again = f"python tools/{Path(tool).name} --seed {seed} --round {number}"
    if hangs.is_set():
        return 1, f"round {number} takes more than {patience} seconds; again: {again}\n"
    if code < 0:
        return 1, f"round {number} ended by signal {-code}; again: {again}\n"
    if code:
        return 1, "".join(told) + f"found in round {number}; again: {again}\n"
    return 0, f"nothing found, up to round {number}\n"


def main(
    tool: str, description: str, run_round: RunRound, arguments: Sequence[str] | None = None
) -> int:
    """Read the arguments of a tool, which is that file; 1 if anything was found."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long to look")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--round", type=int, help="repeat this round only")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.worker:
        rounds = range(10**12) if chosen.round is None else range(chosen.round, chosen.round + 1)
        return work(run_round, chosen.seed, iter(rounds), chosen.seconds)
    command = [sys.executable, "-X", "faulthandler", tool, "--worker"]
    command += ["--seed", str(chosen.seed), "--seconds", str(chosen.seconds)]
    command += [] if chosen.round is None else ["--round", str(chosen.round)]
    code, told = supervise(tool, command, chosen.seed)
    print(told, end="")
    return code
