"""What a process takes: its CPU and its memory, as the kernel counts them."""

import os
from pathlib import Path


def cpu_seconds(pid: int) -> float:
    """Give the CPU that a process has used, user and system."""
    text = Path(f"/proc/{pid}/stat").read_text("utf-8")
    fields = text.rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mebibytes(pid: int) -> float:
    """Give the most memory that was resident."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    line = next(line for line in lines if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024
