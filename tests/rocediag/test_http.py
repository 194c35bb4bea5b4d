import asyncio
import contextlib
import logging
import socket
import subprocess
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
import pytest_asyncio

from alerts.dispatch import AlertMetrics, Dispatcher
from collector.metrics import CollectorMetrics
from collector.replay import open_capture
from roce.errors import StoreError, Unreachable
from roce.model import DeviceFacts, Facts, Finding, State
from rocediag import http, recording
from rocediag.exposition import Exposition
from rocediag.http import serve, status
from tests.alerts.findings import STORM, finding
from tests.programs import program
from tests.roce.build import batch, block
from tests.rocediag.asked import OLD, Client, Daemon


@pytest.fixture
def daemon() -> Daemon:
    return Daemon()


@pytest_asyncio.fixture
async def client(daemon: Daemon) -> AsyncIterator[Client]:
    async with serve(daemon, "127.0.0.1", 0) as address, aiohttp.ClientSession() as session:
        yield Client(session, address)


async def test_health_is_the_loops_and_readiness_the_daemons(
    daemon: Daemon, client: Client
) -> None:
    daemon.reason = "no sweep is done yet"
    assert await client.get("/healthz") == (200, "text/plain", "ok\n")
    assert await client.get("/readyz") == (503, "text/plain", "not ready: no sweep is done yet\n")
    daemon.reason = None
    assert await client.get("/readyz") == (200, "text/plain", "ready\n")


async def test_findings_are_told_by_state(daemon: Daemon, client: Client) -> None:
    def decoded(answer: tuple[int, Any]) -> list[Finding]:
        assert answer[0] == 200
        return msgspec.convert(answer[1]["findings"], list[Finding])

    assert decoded(await client.json("/api/v1/findings")) == [OLD, STORM]
    assert decoded(await client.json("/api/v1/findings?state=resolved")) == [OLD]
    # What is open is the daemon's own word: it holds while the store is away.
    daemon.store = StoreError("store sqlite:////x: cannot read findings: disk I/O error")
    daemon.standing = [finding(figures={"frames": 2**64 - 1})]
    (told,) = decoded(await client.json("/api/v1/findings?state=open"))
    assert told.figures["frames"] == 2**64 - 1
    assert await client.error("/api/v1/findings") == (503, str(daemon.store))


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/api/v1/findings?state=closed", "state: expected open or resolved; got 'closed'"),
        ("/api/v1/findings?stat=open", "unknown parameter 'stat': expected state"),
        ("/api/v1/findings?state=open&state=open", "state: given twice"),
        ("/api/v1/status?x=1", "unknown parameter 'x': none is expected"),
        ("/api/v1/record?seconds=soon", "seconds: expected a number above 0; got 'soon'"),
        ("/api/v1/record?seconds=nan", "seconds: expected a number above 0; got 'nan'"),
    ],
)
async def test_a_bad_query_is_told_in_a_line(client: Client, path: str, expected: str) -> None:
    assert await client.error(path) == (400, expected)


async def test_what_is_judged_by_is_told(client: Client) -> None:
    code, told = await client.json("/api/v1/rules")
    assert code == 200
    assert told["rules"]["pause_storm"] == {"enabled": True, "storm": 0.7, "idle": 0.01}
    assert told["fabric"]["lossless"] == [3]
    assert (await client.get("/api/v1/rules?rule=x"))[0] == 400


async def test_what_is_not_there_and_what_is_not_allowed(client: Client) -> None:
    assert (await client.error("/nothing"))[0] == 404
    async with client.session.post(f"{client.base}/api/v1/findings", data=b"x") as answer:
        assert (answer.status, answer.headers["Allow"]) == (405, "GET,HEAD")
        assert await answer.json() == {"error": "405: Method Not Allowed"}


async def test_a_mistake_of_ours_is_logged_and_not_shown(
    daemon: Daemon, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    daemon.store = ZeroDivisionError("secret detail")
    assert await client.error("/api/v1/findings") == (
        500, "an error of the daemon; its log says more"
    )  # fmt: skip
    assert [record.message for record in caplog.records] == [
        "the answer to /api/v1/findings failed"
    ]


async def test_the_status_tells_what_is_known_of_each_device(
    daemon: Daemon, client: Client
) -> None:
    daemon.take(time.time())
    code, answer = await client.json("/api/v1/status")
    assert code == 200
    leaf, host = answer.pop("devices")
    now = answer.pop("now")
    assert answer == {
        "version": "0.1.0",
        "started_at": 100.0,
        "verdict": {
            "verdict": "faulty", "coverage": 0.97, "unmeasured": ["spine2: not polled"],
            "from": 100.0, "to": 200.0,
        },
        "open_findings": 1,
        "dropped": {"store.refused": 1},
    }  # fmt: skip
    assert 0 <= leaf.pop("age_seconds") < 5
    assert now - 5 < leaf.pop("last_at") < now + 1
    assert leaf == {
        "device": "leaf1", "kind": "switch", "role": "leaf", "platform": "sonic", "ports": 1,
        "unknown": {},
    }  # fmt: skip
    assert (host["last_at"], host["age_seconds"], host["ports"]) == (None, None, 1)


def test_what_a_silent_device_gave_is_stale(daemon: Daemon) -> None:
    states = {"queue_depth_bytes": State.UNSUPPORTED, "rx_errors": State.ESTIMATED}
    given = batch("leaf1", 1000.0, ["Ethernet0"], block({"tx_bytes": [1]}), states=states)
    daemon.fabric.fold(given)
    alive, silent = (status(daemon, now).devices[0].unknown for now in (1010.0, 1031.0))
    assert alive == {"queue_depth_bytes": "unsupported"}
    assert silent == {"tx_bytes": "stale", "queue_depth_bytes": "unsupported"}


async def test_a_scrape_passes_promtool(daemon: Daemon, client: Client) -> None:
    promtool = program("promtool", "prometheus")
    collected = CollectorMetrics(daemon.registry)
    collected.polls.labels("leaf1", "snmp", "ok").inc()
    async with Dispatcher([], AlertMetrics(daemon.registry)):
        daemon.take(time.time() - 1, count=2**64 - 1)
        code, kind, text = await client.get("/metrics")
    assert (code, kind) == (200, "text/plain")
    assert 'rocediag_tx_bytes_total{device="leaf1",port="Ethernet0"} 18446744073709551615' in text
    assert 'rocediag_device_up{device="leaf1"} 1.0' in text
    assert "rocediag_finding_open{" in text
    check = [promtool, "check", "metrics"]
    done = subprocess.run(check, input=text, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


async def test_raw_metrics_hold_every_queue(daemon: Daemon, client: Client) -> None:
    daemon.take(time.time() - 1)
    name = 'rocediag_pfc_rx_frames_total{device="leaf1",port="Ethernet0",priority="0"} 0'
    assert name not in (await client.get("/metrics"))[2]
    daemon.raw_metrics = True
    assert name in (await client.get("/metrics"))[2]


async def test_a_scrape_that_fails_half_way_does_not_look_whole(
    daemon: Daemon,
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def chunks(*_: object, **__: object) -> Iterator[bytes]:
        yield b"half\n"
        raise ZeroDivisionError

    monkeypatch.setattr(Exposition, "chunks", chunks)
    with pytest.raises(aiohttp.ClientError):
        await client.get("/metrics")
    assert "the answer to /metrics failed" in caplog.text
    assert (await client.get("/healthz"))[0] == 200


async def test_a_client_that_does_not_read_is_given_up(
    daemon: Daemon, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = asyncio.Event()

    def chunks(*_: object, **__: object) -> Iterator[bytes]:
        try:
            while True:
                yield b"x" * 1_000_000
        finally:
            ended.set()

    monkeypatch.setattr(http, "WRITE_SECONDS", 0.1)
    monkeypatch.setattr(Exposition, "chunks", chunks)
    reader, writer = await asyncio.open_connection(*client.address, limit=1024)
    writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
    async with asyncio.timeout(5):
        await ended.wait()
    writer.transport.abort()
    del reader


async def test_the_page_is_html_that_runs_nothing(client: Client) -> None:
    async with client.session.get(client.base) as answer:
        assert answer.content_type == "text/html"
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
        text = await answer.text()
    assert "<h1>faulty</h1>" in text
    assert "gpu03:mlx5_0/1" in text


async def test_a_recording_is_a_capture(daemon: Daemon, client: Client, tmp_path: Path) -> None:
    now = time.time()
    daemon.fabric.tell(Facts(now, "leaf1", DeviceFacts(version="SONiC")))
    async with client.session.get(f"{client.base}/api/v1/record?seconds=0.5") as answer:
        assert answer.content_type == "application/x-ndjson"
        first = msgspec.json.decode(await answer.content.readline())
        daemon.take(now)
        daemon.recorders.publish(Facts(now, "gpu1", DeviceFacts(version="24.10")))
        lines = [msgspec.json.decode(line) async for line in answer.content]
    assert [next(iter(line)) for line in lines] == ["facts", "batch", "batch", "facts", "end"]
    assert lines[-1] == {"end": {"lines": 3, "dropped": 0}}
    (tmp_path / "fabric.json").write_bytes(msgspec.json.encode(first["fabric"]))
    for kind, name in (("batch", "samples"), ("facts", "facts")):
        told = b"".join(msgspec.json.encode(x[kind]) + b"\n" for x in lines if kind in x)
        (tmp_path / f"{name}.jsonl").write_bytes(told)
    capture = open_capture(tmp_path)
    assert [b.at for b in capture.batches()] == [now, now + 0.001]
    assert [f.facts.version for f in capture.facts()] == ["SONiC", "24.10"]


async def test_a_slow_recorder_is_told_what_it_missed(
    daemon: Daemon, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "ITEMS", 3)
    async with client.session.get(f"{client.base}/api/v1/record?seconds=0.3") as answer:
        await answer.content.readline()
        for at in range(5):
            daemon.recorders.publish(batch("leaf1", float(at), ["p"], block({"tx_bytes": [1]})))
        lines = [msgspec.json.decode(line) async for line in answer.content]
    assert [line["batch"]["at"] for line in lines[:-1]] == [0, 1, 2]
    assert lines[-1] == {"end": {"lines": 3, "dropped": 2}}


async def test_two_record_at_once_and_no_more(daemon: Daemon, client: Client) -> None:
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(2):
            url = f"{client.base}/api/v1/record"
            answer = await stack.enter_async_context(client.session.get(url))
            await answer.content.readline()
        code, text = await client.error("/api/v1/record")
        assert (code, text) == (429, "2 recordings run already: end one first")
        answer.close()
        # A client that went away is noticed though nothing comes in.
        async with asyncio.timeout(5):
            while (await client.get("/api/v1/record?seconds=0.01"))[0] == 429:
                await asyncio.sleep(0.1)


async def test_the_end_of_the_daemon_ends_recordings_whole(daemon: Daemon) -> None:
    async with aiohttp.ClientSession() as session:
        async with serve(daemon, "127.0.0.1", 0) as (host, port):
            answer = await session.get(f"http://{host}:{port}/api/v1/record")
            await answer.content.readline()
            daemon.take(time.time())
        lines = [msgspec.json.decode(line) async for line in answer.content]
    assert lines[-1] == {"end": {"lines": 2, "dropped": 0}}


async def test_an_address_in_use_is_told_and_may_be_free_later(daemon: Daemon) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        expected = rf"http.listen: cannot listen on 127.0.0.1:{port}: "
        with pytest.raises(Unreachable, match=expected):
            async with serve(daemon, "127.0.0.1", port):
                pass


async def test_nothing_is_logged_of_what_goes_well(
    client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="aiohttp")
    await client.get("/api/v1/status")
    assert caplog.records == []


async def test_a_verdict_is_given_for_a_span_and_hosts(client: Client) -> None:
    code, told = await client.json("/api/v1/verdict?since=60&hosts=gpu1")
    assert (code, told["hosts"]) == (200, ["gpu1"])
    assert told["verdict"]["verdict"] in {"faulty", "unknown"}
    assert told["cables"][0]["end"]["device"] == "gpu1"


@pytest.mark.parametrize(
    "query",
    ["since=x", "since=-1", "since=inf", "since=1&from=1", "from=nan", "hosts=nope", "to=5", "x=1"],
)
async def test_a_verdict_that_was_asked_wrongly_is_the_clients_mistake(
    client: Client, query: str
) -> None:
    code, _ = await client.error(f"/api/v1/verdict?{query}")
    assert code == 400


async def test_ports_are_given_by_device_and_by_what_stands_out(client: Client) -> None:
    for query in ("device=leaf1", "device=leaf1:Ethernet0", "by=line&top=1"):
        code, told = await client.json(f"/api/v1/ports?{query}")
        assert (code, len(told["cables"])) == (200, 1)
    for query in ("device=x", "device=leaf1:x", "by=x", "top=0", "top=1e3", "top=2000"):
        code, _ = await client.error(f"/api/v1/ports?{query}")
        assert code == 400
