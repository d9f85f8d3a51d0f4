"""The demonstration of `make demo`: a news feed through seven brokers, on Spark.

Makes a folder with everything that the job reads, so that it can be looked at and changed: a feed
of generated documents (three of them broken on purpose), a table of subscriptions, and a network::

             agency
                │
               hub
            ┌───┴────┐
          north    south
          ┌─┴──┐   ┌─┴───┐
        oslo riga rome lisbon      two desks at each of these four

Then it runs `twigcast route` on it and says where to look next.
"""

from __future__ import annotations

import csv
import subprocess
import sys
from itertools import islice
from pathlib import Path

from twigcast.schema import Schema
from twigcast.workload import (
    DocumentParameters,
    PathParameters,
    ValueParameters,
    generate_documents,
    generate_subscriptions,
)

ROOT = Path(__file__).resolve().parent.parent
DTD = ROOT / "examples" / "news.dtd"
DOCUMENTS = 2_000
LINKS = (
    ("hub", "north"),
    ("hub", "south"),
    ("north", "oslo"),
    ("north", "riga"),
    ("south", "rome"),
    ("south", "lisbon"),
)
CITIES = {"oslo": 1_600, "riga": 800, "rome": 400, "lisbon": 200}
"""And how many subscriptions each has."""
DESKS = ("politics", "sports")
BROKEN = ("<news><story>cut off", "not XML at all", "<news>&nobody-knows-this;</news>")


def main() -> None:
    """Make the folder that is named, route, and say where to look next."""
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    schema = Schema.from_dtd(DTD)
    _write_feed(schema, folder / "feed")
    _write_subscriptions(schema, folder / "subscriptions.csv")
    _write_network(folder / "network.toml")
    command = [
        str(Path(sys.executable).with_name("twigcast")),
        *("route", f"{folder}/feed"),
        *("--network", f"{folder}/network.toml"),
        *("--subscriptions", f"{folder}/subscriptions.csv"),
        *("--output", f"{folder}/routed", "--overwrite"),
    ]
    print("$ twigcast", *command[1:])
    subprocess.run(command, check=True)
    print(
        f"""
Where to look next
  {folder}/routed          the tables: deliveries, documents, rejected, links; summary.json
  {folder}/network.toml    the network: give it another strategy, then route again
  {folder}/subscriptions.csv
  docs/pipeline.md         everything that `twigcast route` does
  .venv/bin/twigcast --help"""
    )


def _write_feed(schema: Schema, folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    made = generate_documents(schema, DocumentParameters(size=3_000), seed=7)
    for number, document in enumerate(islice(made, DOCUMENTS), start=1):
        (folder / f"story-{number:04}.xml").write_bytes(document)
    for number, text in enumerate(BROKEN, start=1):
        (folder / f"broken-{number}.xml").write_text(text)


def _write_subscriptions(schema: Schema, path: Path) -> None:
    """Subscriptions of desks, each to one value somewhere in a document."""
    made = generate_subscriptions(
        schema,
        PathParameters(),
        seed=7,
        values=ValueParameters(fraction=1.0, operators=("=",)),
    )
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(("key", "xpath", "subscriber"))
        for city, count in CITIES.items():
            for number, pattern in enumerate(islice(made, count)):
                desk = DESKS[number % len(DESKS)]
                writer.writerow((f"{city}-{number}", str(pattern), f"{city}-{desk}"))


def _write_network(path: Path) -> None:
    brokers = dict.fromkeys(end for link in LINKS for end in link)
    lines = ['strategy = "advertisements-covering"', f"brokers = {list(brokers)}"]
    for link in LINKS:
        lines += ["", "[[links]]", f"between = {list(link)}"]
    lines += ["", "[[clients]]", 'name = "agency"', 'broker = "hub"']
    lines.append(f'advertises = [{{ id = "feed", dtd = "{DTD.as_posix()}" }}]')
    for city in CITIES:
        for desk in DESKS:
            lines += ["", "[[clients]]", f'name = "{city}-{desk}"', f'broker = "{city}"']
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
