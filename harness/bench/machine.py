"""The facts of the machine on which rates depend."""

import os
import platform
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from harness.capacity import machine

_CPU_INFO: Final = Path("/proc/cpuinfo")
_MEMORY_INFO: Final = Path("/proc/meminfo")
_KIB_PER_GIB: Final = 1024 * 1024


def machine_facts() -> Mapping[str, str]:
    """Return the facts of this machine, as far as it provides them."""
    load = ", ".join(f"{each:.2f}" for each in os.getloadavg())
    return {
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processor": _after(_CPU_INFO, "model name") or platform.processor() or "unknown",
        "cores": str(machine().cores),
        "memory": _memory(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "load before": load,
    }


def _memory() -> str:
    total = _after(_MEMORY_INFO, "MemTotal")
    return f"{int(total.split()[0]) / _KIB_PER_GIB:.1f} GiB" if total else "unknown"


def _after(path: Path, key: str) -> str | None:
    """Return the value of a key in a file of `key: value` lines; None if there is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(key)), None)
