"""``python -m twigcast``: the command line."""

from __future__ import annotations

from twigcast.cli import main

if __name__ == "__main__":
    main()
