"""The memory that this process has and may have."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

STATUS, MEMBERSHIP, CGROUPS = Path("/proc/self/status"), Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")  # Linux


def resident_bytes() -> int:
    """Return the bytes of all pages of this process that are in memory, with those of mapped files."""
    return _status_bytes("VmRSS")


def private_bytes() -> int:
    """Return the bytes that this process holds in memory without files."""
    if sys.platform == "darwin":
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # the peak so far
    return _status_bytes("RssAnon")


def memory_limit() -> int:
    """Return the bytes of memory that the system allows this process: those of the machine, or of its container."""
    limits = [sys.maxsize]
    with suppress(AttributeError, OSError, ValueError):  # not on Windows
        limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for path in _limit_files():
        with suppress(OSError, ValueError):  # no such group, or one without a limit
            limits.append(int(path.read_text("ascii")))
    return min(limits)


def free_addresses() -> int:
    """Return the bytes of addresses that this process may still reserve: `ulimit -v`, as the queues of clusters set."""
    with suppress(ImportError):  # not on Windows
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            return max(limit - _status_bytes("VmSize"), 0)
    return sys.maxsize


def _status_bytes(name: str) -> int:
    with suppress(OSError):
        for line in STATUS.read_text("ascii", "replace").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    return 0


def _limit_files() -> Iterator[Path]:
    """Yield the files with the limits of the control group of this process (version 2), and of the groups around it."""
    with suppress(OSError):
        for line in MEMBERSHIP.read_text("utf8", "replace").splitlines():
            if line.startswith("0::"):
                folder = CGROUPS / line.removeprefix("0::").strip("/")
                yield from (
                    group / "memory.max" for group in (folder, *folder.parents) if group.is_relative_to(CGROUPS)
                )
