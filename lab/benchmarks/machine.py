"""What the figures of a benchmark depend on besides the program: the machine and its libraries."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from xml.parsers import expat

from lxml import etree

import twigcast


def machine_facts() -> dict[str, str | int | float]:
    """The processor, how busy it is, and the versions of what is compared."""
    return {
        "processor": _processor_name(),
        "cores": os.cpu_count() or 1,
        "load": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "expat": expat.EXPAT_VERSION.removeprefix("expat_"),
        "lxml": ".".join(map(str, etree.LXML_VERSION[:3])),
        "libxml2": ".".join(map(str, etree.LIBXML_VERSION)),
        "twigcast": twigcast.__version__,
    }


def _processor_name() -> str:
    information = Path("/proc/cpuinfo")
    if information.is_file():
        for line in information.read_text(encoding="utf-8", errors="replace").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def resident_bytes() -> int | None:
    """The memory that this process uses now; None where the system does not report it."""
    statistics = Path("/proc/self/statm")
    if not statistics.is_file():
        return None
    return int(statistics.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
