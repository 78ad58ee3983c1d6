"""Runs a command and says what it took.

Wall time, CPU time (user and system, all threads and children) and peak resident memory of the process, the last two
as the kernel reports them to a parent that waits for it.
"""

import os
import subprocess
import sys
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    wall_seconds: float
    cpu_seconds: float
    peak_mib: float


def run(command, quiet=True):
    """Runs the command to its end; gives the figures and what it said. A command that fails ends this program."""
    began = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
    said = process.stdout.read() if quiet else b""
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.monotonic() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        sys.stderr.write(said.decode(errors="replace"))
        sys.exit(f"{' '.join(map(str, command))}: exit code {process.returncode}")
    return Figures(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024), said.decode(errors="replace")
