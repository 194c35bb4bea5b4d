import asyncio

from benchmarks.bench_promql import READ, Ours, promql, run
from benchmarks.fabricload import ONSET
from roce.signals import SIGNALS, metric
from tests.programs import program


def test_both_judge_what_is_served() -> None:
    program("prometheus", "prometheus")
    ours = Ours(devices=8, ports=8)
    assert ours.load.culprits == 1
    for _ in range(ONSET):
        ours.sweep()
    taken, mine = asyncio.run(run(ours, promql(1), count=1, every=1, warm=2))
    assert dict(taken.alerts) == dict.fromkeys(promql(1), 0) | {"pause_storm": 1}
    assert taken.evaluation > 0
    assert len(mine) == 1
    assert [f.rule for f in ours.judge.open] == ["pause_storm"]


def test_all_that_the_rules_read_is_served() -> None:
    ours = Ours(devices=8, ports=8)
    ours.sweep()
    told = {line.split(b"{")[0].decode() for line in ours.text().splitlines() if line[:1] != b"#"}
    queues_at_zero = {"queue_dropped_packets", "pfc_tx_pause_seconds"}
    assert told >= {metric(SIGNALS[name])[0] for name in READ - queues_at_zero}
    for name in READ:
        assert any(metric(SIGNALS[name])[0] in expression for expression in promql(1).values())
