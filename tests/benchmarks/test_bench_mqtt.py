from pathlib import Path

from benchmarks.bench_mqtt import WARM_INTERVALS, run


async def test_a_daemon_is_measured_while_it_takes_all_that_is_sent(tmp_path: Path) -> None:
    taken = await run(tmp_path, hosts=4, cards=2, interval=0.2, seconds=1.0)
    assert taken.sent == 4 * 5
    sent = taken.sent + 4 * (WARM_INTERVALS - 1)
    assert taken.counts["rocediag_mqtt_messages_total batch"] == sent
    assert taken.counts["rocediag_fold_batches_total"] == sent
    assert taken.counts["rocediag_fold_implausible_total"] == 0
    assert taken.mebibytes > 30
