import os

from benchmarks.procfigures import cpu_seconds, peak_mebibytes


def test_a_process_has_used_cpu_and_memory() -> None:
    before = cpu_seconds(os.getpid())
    while cpu_seconds(os.getpid()) <= before:
        pass
    assert 5 < peak_mebibytes(os.getpid()) < 10_000
