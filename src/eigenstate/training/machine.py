"""What a run was computed on."""

import os
import platform
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """Return the processor's name and how many cores this process may use."""
    usable = getattr(os, "sched_getaffinity", None)  # not on every system
    cores = len(usable(0)) if usable else os.cpu_count()
    return {"cpu": cpu_model(), "cores": cores, "system": platform.system()}


def cpu_model() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


class PeakMemory:
    """The most memory that this process held at once from here on, where the system tells."""

    def __init__(self) -> None:
        try:
            Path("/proc/self/clear_refs").write_text("5")  # the peak is forgotten
            self.known = True
        except OSError:
            self.known = False

    def read(self) -> int | None:
        """Return bytes, or None where that cannot be known."""
        if not self.known:
            return None
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
