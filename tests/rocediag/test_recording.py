import asyncio
from pathlib import Path

import msgspec

from collector.replay import open_capture
from collector.wire import decode_batch
from roce.fabric import Fabric
from roce.model import Device, DeviceFacts, End, Facts, Link, Mode, Site
from rocediag.recording import ITEMS, Recorder, Recorders, fabric_document, line
from tests.roce.build import batch, block, pair

BATCH = batch("leaf1", 1000.0, ["Ethernet0"], block({"tx_bytes": [2**64 - 1]}))
FACTS = Facts(1000.0, "leaf1", DeviceFacts(version="1"))


async def test_what_is_published_reaches_each_recorder_in_order() -> None:
    recorders = Recorders()
    recorders.publish(BATCH)
    with recorders.join() as one, recorders.join() as other:
        assert one is not None
        assert other is not None
        with recorders.join() as third:
            assert third is None
        recorders.publish(BATCH)
        recorders.publish(FACTS)
        for recorder in (one, other):
            assert await recorder.next(1) is BATCH
            assert await recorder.next(1) is FACTS
            assert await recorder.next(0.01) is None
    with recorders.join() as again:
        assert again is not None


async def test_a_slow_recorder_loses_what_is_too_much_and_knows_how_much() -> None:
    recorder = Recorder()
    for _ in range(ITEMS + 3):
        recorder.put(BATCH)
    assert recorder.dropped == 3
    for _ in range(ITEMS):
        assert await recorder.next(0) is BATCH
    assert await recorder.next(0) is None


async def test_the_end_wakes_who_waits_and_leaves_what_came_before() -> None:
    recorders = Recorders()
    with recorders.join() as recorder:
        assert recorder is not None
        waiting = asyncio.create_task(recorder.next(60))
        await asyncio.sleep(0)
        recorders.close()
        assert await waiting is None
        recorder.put(BATCH)
        assert await recorder.next(60) is BATCH
        assert await recorder.next(60) is None
        assert recorder.closed


def test_a_line_is_a_batch_or_facts() -> None:
    told = msgspec.json.decode(line(BATCH))
    assert decode_batch(told["batch"]).blocks[0].counts.tolist() == [[2**64 - 1]]
    assert msgspec.json.decode(line(FACTS)) == {
        "facts": {"at": 1000.0, "device": "leaf1", "facts": {"version": "1"}}
    }
    assert line(BATCH).endswith(b"\n")


def test_a_recorded_fabric_reads_as_a_capture(tmp_path: Path) -> None:
    site = Site(name="lab", mode=Mode.PFC_ONLY, lossless=(3, 4), dscp=24)
    fabric = Fabric(site, *pair(interval_seconds=2.0))
    fabric.fold(batch("leaf1", 1000.0, ["Ethernet8"], block({"tx_bytes": [1]})))
    (tmp_path / "fabric.json").write_bytes(msgspec.json.encode(fabric_document(fabric)))
    capture = open_capture(tmp_path)
    assert capture.site == site
    assert [(d.name, d.kind, d.role, d.platform) for d in capture.devices] == [
        ("leaf1", "switch", "leaf", "sonic"),
        ("gpu1", "host", "host", "mlx5"),
    ]
    assert {d.interval_seconds for d in capture.devices} == {2.0}
    assert {(p.device, p.name): p.speed_bps for p in capture.ports} == {
        ("leaf1", "Ethernet0"): 1e11,
        ("gpu1", "mlx5_0/1"): 1e11,
        ("leaf1", "Ethernet8"): 0.0,
    }
    assert capture.links == [Link(End("leaf1", "Ethernet0"), End("gpu1", "mlx5_0/1"))]


def test_how_often_devices_are_asked_and_renew_is_recorded(tmp_path: Path) -> None:
    told = Device(
        "leaf1",
        "switch",
        "leaf",
        interval_seconds=2.0,
        slow_interval_seconds=60.0,
        refresh_seconds=5.0,
    )
    document = fabric_document(Fabric(Site(), [told]))
    (tmp_path / "fabric.json").write_bytes(msgspec.json.encode(document))
    assert open_capture(tmp_path).devices == [told]


def test_an_empty_fabric_is_a_capture_too(tmp_path: Path) -> None:
    document = fabric_document(Fabric(Site(), []))
    (tmp_path / "fabric.json").write_bytes(msgspec.json.encode(document))
    assert open_capture(tmp_path).devices == []
