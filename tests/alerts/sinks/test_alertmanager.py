import asyncio
import base64
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from aiohttp import web
from prometheus_client import CollectorRegistry

from alerts.dispatch import AlertMetrics, Dispatcher
from alerts.sinks.alertmanager import Config, alerts
from roce.errors import ConfigError, Denied, Unreachable
from roce.model import Finding, Place, Severity, Victim
from tests.alerts.findings import STORM, finding, resolved
from tests.alerts.programs import alertmanager
from tests.programs import free_port

NOW = STORM.began_at + 30
CRITICAL = Severity.CRITICAL


def labels(alert: dict[str, Any]) -> dict[str, str]:
    found: dict[str, str] = alert["labels"]
    return found


def test_an_open_finding_is_an_alert_that_ends_by_itself() -> None:
    assert alerts(STORM, None, NOW, Config(generator_url="http://me/")) == [
        {
            "labels": {
                "alertname": "pause_storm",
                "severity": "warning",
                "device": "gpu03",
                "port": "mlx5_0/1",
                "priority": "3",
                "finding": "5f2c8a9b1e07",
            },
            "annotations": {
                "summary": "gpu03 holds leaf1:Ethernet12 for 61 % of the time",
                "remedy": "reset the NIC of gpu03\nthen look at its PCIe link",
                "victims": "gpu01:mlx5_0/1 priority 3 paused; gpu02:mlx5_0/1 slowed",
            },
            "startsAt": "2026-09-21T14:13:20.250+00:00",
            "endsAt": "2026-09-21T14:18:50.250+00:00",
            "generatorURL": "http://me/",
        }
    ]


def test_a_resolved_finding_ends_when_it_did() -> None:
    (ended,) = alerts(resolved(STORM, at=NOW - 10), Severity.WARNING, NOW, Config())
    assert ended["endsAt"] == "2026-09-21T14:13:40.250+00:00"
    # The device's clock may be ahead of ours, or behind: it ends now, and not before it began.
    (ahead,) = alerts(resolved(STORM, at=NOW + 99), None, NOW, Config())
    assert ahead["endsAt"] == "2026-09-21T14:13:50.250+00:00"
    (behind,) = alerts(resolved(STORM, at=0.0), None, NOW, Config())
    assert behind["endsAt"] == behind["startsAt"]


def test_a_rise_ends_the_old_alert_beside_the_new() -> None:
    new, old = alerts(finding(severity=CRITICAL), Severity.WARNING, NOW, Config())
    assert (labels(new)["severity"], labels(old)["severity"]) == ("critical", "warning")
    assert {**labels(new), "severity": ""} == {**labels(old), "severity": ""}
    assert old["endsAt"] == "2026-09-21T14:13:50.250+00:00" < new["endsAt"]
    # Risen and resolved before it could be told: both end.
    both = alerts(resolved(finding(severity=CRITICAL), NOW), Severity.WARNING, NOW, Config())
    assert [a["endsAt"] for a in both] == [old["endsAt"]] * 2


def test_what_there_is_not_has_no_label() -> None:
    (alert,) = alerts(
        finding(root=None, suspects=(Place("leaf1"), Place("leaf2", "Ethernet0", 0)), victims=()),
        None, NOW, Config(),
    )  # fmt: skip
    assert labels(alert) == {
        "alertname": "pause_storm", "severity": "warning", "finding": "5f2c8a9b1e07"
    }  # fmt: skip
    assert alert["annotations"]["suspects"] == "leaf1; leaf2:Ethernet0 priority 0"
    assert "victims" not in alert["annotations"]
    assert "generatorURL" not in alert
    (whole,) = alerts(finding(root=Place("leaf1", None, 0)), None, NOW, Config())
    assert labels(whole)["priority"] == "0"
    assert "port" not in labels(whole)


def test_long_lists_and_odd_texts_stay_fit_to_send() -> None:
    crowd = tuple(Victim(f"gpu{i}", None, None, "paused") for i in range(50))
    (alert,) = alerts(finding(victims=crowd, summary="\ud800!", began_at=1e20), None, NOW, Config())
    assert alert["annotations"]["victims"].endswith("gpu19 paused; and 30 more")
    assert alert["annotations"]["summary"] == "?!"
    assert alert["startsAt"].startswith("9999-12-31")
    assert msgspec.json.encode(alert)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"urls": []}, "expected base URLs"),
        ({"urls": ["ftp://a"]}, "expected base URLs"),
        ({"urls": ["http://me:secret@a"]}, "no user, password or query"),
        ({"urls": ["http://a?token=secret"]}, "no user, password or query"),
        ({"basic_user": "me"}, "go together"),
        (
            {"basic_user": "me", "basic_password_file": "a", "bearer_token_file": "b"},
            "not both",
        ),
        ({"refresh_seconds": 200}, "at least twice refresh_seconds"),
    ],
)
def test_a_configuration_that_cannot_work_is_refused_without_its_secrets(
    table: dict[str, object], expected: str
) -> None:
    with pytest.raises(msgspec.ValidationError, match=expected) as caught:
        msgspec.convert(table, Config)
    assert "secret" not in str(caught.value)


async def test_a_real_alertmanager_gets_an_alert_its_rise_and_its_end(tmp_path: Path) -> None:
    began = time.time() - 5
    storm = finding(began_at=began, found_at=began + 4)
    async with alertmanager(tmp_path) as pager:
        config = Config(urls=(pager.url,), refresh_seconds=1.0, expire_seconds=3.0)
        async with (
            config.open("pager") as sink,
            Dispatcher([sink], AlertMetrics(CollectorRegistry())) as dispatcher,
        ):
            dispatcher.offer([storm, finding(id="quiet0000000", severity=Severity.INFO)])
            (alert,) = await pager.until(["warning"])
            assert labels(alert)["device"] == "gpu03"
            # Victims are listed in the alert; none is an alert of its own.
            assert "gpu01" in alert["annotations"]["victims"]
            dispatcher.offer([finding(**_fields(storm, severity=CRITICAL))])
            await pager.until_paged([("critical", "firing"), ("warning", "resolved")])
            # It lives on beyond its own end, since it is sent again.
            await asyncio.sleep(3.2)
            await pager.until(["critical"])
            dispatcher.offer([resolved(finding(**_fields(storm, severity=CRITICAL)), time.time())])
            await pager.until([])
            await pager.until_paged([("critical", "resolved")])
    assert pager.pages[0] == [("warning", "firing")]


async def test_alerts_end_by_themselves_when_nobody_sends_them_again(tmp_path: Path) -> None:
    async with alertmanager(tmp_path) as pager:
        config = Config(urls=(pager.url,), refresh_seconds=0.5, expire_seconds=1.0)
        async with config.open("pager") as sink:
            await sink.send([finding(began_at=time.time())])
            await pager.until(["warning"])
        await pager.until([])


def _fields(base: Finding, **changes: object) -> dict[str, object]:
    return {"began_at": base.began_at, "found_at": base.found_at, **changes}


Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


class Member:
    """Something that answers as it is told, and keeps what it was asked."""

    def __init__(self) -> None:
        self.url = f"http://127.0.0.1:{free_port()}"
        self.status = 200
        self.text = ""
        self.headers: list[str | None] = []
        self.bodies: list[Any] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.headers.append(request.headers.get("Authorization"))
        self.bodies.append(await request.json())
        if self.status == 302:
            return web.Response(status=302, headers={"Location": "/elsewhere"})
        if self.status == 0:
            await asyncio.sleep(5)
        return web.Response(status=self.status, text=self.text)


@pytest_asyncio.fixture
async def members() -> AsyncIterator[list[Member]]:
    found, runners = [Member(), Member()], []
    for member in found:
        app = web.Application()
        app.router.add_post("/api/v2/alerts", member.answer)
        runner = web.AppRunner(app, shutdown_timeout=0.1, access_log=None)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", int(member.url.rsplit(":", 1)[1])).start()
        runners.append(runner)
    yield found
    for runner in runners:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "text", "kind", "expected"),
    [
        (503, "starting\nup", Unreachable, "it answered 503: starting up$"),
        (429, "", Unreachable, "it answered 429$"),
        (400, "bad label", Denied, "it answered 400: bad label$"),
        (401, "secret?", Denied, r"it answered 401: check its \*_file keys$"),
        (302, "", Denied, "it answered 302"),
        (0, "", Unreachable, r"no answer within 0.2 s$"),
    ],
)
async def test_an_answer_says_whether_it_is_worth_a_repetition(
    members: list[Member], status: int, text: str, kind: type[Exception], expected: str
) -> None:
    members[0].status, members[0].text = status, text
    async with Config(urls=(members[0].url,), timeout_seconds=0.2).open("pager") as sink:
        with pytest.raises(Unreachable, match=expected) as caught:
            await sink.send([STORM])
    assert type(caught.value) is kind
    assert "\n" not in str(caught.value)


async def test_nobody_there_is_unreachable() -> None:
    async with Config(urls=(f"http://127.0.0.1:{free_port()}",)).open("pager") as sink:
        with pytest.raises(Unreachable, match="Cannot connect to host"):
            await sink.send([STORM])


async def test_each_member_is_told_and_one_is_enough(
    members: list[Member], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    config = Config(urls=tuple(f"{m.url}/" for m in members))
    async with config.open("pager") as sink:
        members[0].status = 503
        await sink.send([STORM])
        await sink.send([STORM])
        members[0].status = 200
        await sink.send([finding(severity=CRITICAL)])
        members[0].status, members[1].status = 401, 503
        with pytest.raises(Unreachable, match="503"):
            await sink.send([STORM])
    assert [len(body) for body in members[1].bodies[:3]] == [1, 1, 2]
    said = [record.message for record in caplog.records]
    assert len(said) == 4
    assert "takes no alerts" in said[0]
    assert "takes alerts again" in said[1]


async def test_a_rise_that_did_not_arrive_is_told_whole_next_time(members: list[Member]) -> None:
    async with Config(urls=(members[0].url,)).open("pager") as sink:
        await sink.send([STORM])
        members[0].status = 503
        with pytest.raises(Unreachable):
            await sink.send([finding(severity=CRITICAL)])
        members[0].status = 200
        await sink.send([finding(severity=CRITICAL)])
        await sink.send([resolved(finding(severity=CRITICAL))])
        await sink.send([STORM])
    assert [len(body) for body in members[0].bodies] == [1, 2, 2, 1, 1]


async def test_a_token_is_read_before_every_send(members: list[Member], tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("first\n")
    config = Config(urls=(members[0].url,), bearer_token_file="token")
    async with config.open("pager", lambda name: tmp_path / name) as sink:
        await sink.send([STORM])
        token.write_text("second")
        await sink.send([STORM])
        for content, expected in (
            (b"two\nlines", "not one line"),
            (b"", "not one line"),
            (b"\xff", "not UTF-8"),
        ):
            token.write_bytes(content)
            with pytest.raises(Unreachable, match=expected):
                await sink.send([STORM])
        token.unlink()
        with pytest.raises(Unreachable, match=r"cannot read the secret in .*token: No such file"):
            await sink.send([STORM])
    assert members[0].headers == ["Bearer first", "Bearer second"]


async def test_a_password_goes_as_basic_authentication(
    members: list[Member], tmp_path: Path
) -> None:
    (tmp_path / "password").write_text("päss\n")
    config = Config(
        urls=(members[0].url,), basic_user="me", basic_password_file=str(tmp_path / "password")
    )
    async with config.open("pager") as sink:
        await sink.send([STORM])
    (sent,) = members[0].headers
    assert sent is not None
    assert base64.b64decode(sent.removeprefix("Basic ")).decode() == "me:päss"


@pytest.mark.parametrize("content", [None, "no certificate"])
async def test_certificates_that_cannot_be_used_are_a_mistake_of_the_configuration(
    tmp_path: Path, content: str | None
) -> None:
    file = tmp_path / "ca.pem"
    if content is not None:
        file.write_text(content)
    with pytest.raises(ConfigError, match=r"^alerts.pager.ca_file: cannot use .*ca.pem: \S"):
        async with Config(ca_file=str(file)).open("pager"):
            pass
