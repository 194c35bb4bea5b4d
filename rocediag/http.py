"""The daemon's HTTP side: metrics, health, the API, a stream for recording, and one plain page.

It only reads. Everything it tells comes through a `View`, which the service is.
"""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Protocol

import msgspec
from aiohttp import web
from prometheus_client import CollectorRegistry, generate_latest

from roce.errors import ConfigError, StoreError, Unreachable
from roce.fabric import Fabric
from roce.model import Facts, Finding, State, Verdict
from roce.ring import Ring
from rocediag import ports, verdicts
from rocediag.exposition import CONTENT_TYPE, Exposition
from rocediag.ownmetrics import is_up
from rocediag.page import page
from rocediag.queries import bad, parameters, seconds_of
from rocediag.recording import LIMIT, Recorder, Recorders, fabric_document, line, saved

log = logging.getLogger(__name__)

WRITE_SECONDS = 30.0
"""How long a client may leave what it asked for unread."""

SHUTDOWN_SECONDS = 2.0
"""How long answers may take once the daemon ends."""

STATES = ("open", "resolved")


class View(Protocol):
    """What the HTTP side may ask of the service."""

    @property
    def version(self) -> str: ...  # noqa: D102 - it is what its name says
    @property
    def started_at(self) -> float:
        """Unix seconds."""
        ...

    @property
    def fabric(self) -> Fabric: ...  # noqa: D102 - it is what its name says
    @property
    def registry(self) -> CollectorRegistry:
        """The daemon's own metrics."""
        ...

    @property
    def raw_metrics(self) -> bool:
        """Whether /metrics tells every queue that is known."""
        ...

    @property
    def recorders(self) -> Recorders:
        """Where the service publishes what it takes in."""
        ...

    @property
    def ring(self) -> Ring:
        """The last samples of the headline figures."""
        ...

    def judging(self) -> Mapping[str, object]:
        """What is judged by: what the site means, patience, and every threshold."""
        ...

    def not_ready(self) -> str | None:
        """Why the daemon cannot judge yet or any more, in a line; None while it can."""
        ...

    def verdict(self) -> Verdict | None:
        """The verdict over what was seen so far."""
        ...

    @property
    def coverage(self) -> verdicts.Counted:
        """How much was seen, and since when."""
        ...

    def open_findings(self) -> Sequence[Finding]:
        """The open findings, live."""
        ...

    async def findings(self, state: str | None) -> Sequence[Finding]:
        """The stored findings of a state, or all; raises StoreError."""
        ...

    def dropped(self) -> Mapping[str, int]:
        """Counts of what was thrown away, by what it was."""
        ...


class DeviceStatus(msgspec.Struct, frozen=True):
    """One device in the status; ``unknown`` says why signals are not known."""

    device: str
    kind: str
    role: str
    platform: str
    last_at: float | None
    age_seconds: float | None
    ports: int
    unknown: dict[str, str]


class Status(msgspec.Struct, frozen=True):
    """The answer of /api/v1/status; times in unix seconds."""

    version: str
    started_at: float
    now: float
    verdict: Verdict | None
    devices: list[DeviceStatus]
    open_findings: int
    dropped: dict[str, int]


def status(view: View, now: float) -> Status:
    """Give the daemon's state at a time."""
    open_findings = view.open_findings()
    return Status(
        version=view.version,
        started_at=view.started_at,
        now=now,
        verdict=view.verdict(),
        devices=[_device_status(view.fabric, name, now) for name in view.fabric.devices],
        open_findings=len(open_findings),
        dropped=dict(view.dropped()),
    )


def _device_status(fabric: Fabric, name: str, now: float) -> DeviceStatus:
    device, last_at = fabric.devices[name], fabric.last_at(name)
    unknown = dict(fabric.states(name))
    if not is_up(device, last_at, now):
        # Nothing is told anew of a device that is silent: what was measured is stale.
        measured = {s for s, why in unknown.items() if why is State.MEASURED}
        unknown.update(dict.fromkeys(measured, State.STALE))
    known = {State.MEASURED, State.ESTIMATED}
    return DeviceStatus(
        device=name,
        kind=device.kind,
        role=device.role,
        platform=device.platform,
        last_at=last_at,
        age_seconds=None if last_at is None else max(0.0, now - last_at),
        ports=len(fabric.rows_of(name)),
        unknown={s: why.value for s, why in unknown.items() if why not in known},
    )


VIEW: web.AppKey[View] = web.AppKey("view")
EXPOSITION: web.AppKey[Exposition] = web.AppKey("exposition")


async def _metrics(request: web.Request) -> web.StreamResponse:
    view = request.app[VIEW]
    own = generate_latest(view.registry)
    async with _streaming(request, CONTENT_TYPE) as response:
        await _write(response, own)
        for chunk in request.app[EXPOSITION].chunks(time.time(), raw=view.raw_metrics):
            await _write(response, chunk)
            # Writing may take no time at all; pollers run between two signals all the same.
            await asyncio.sleep(0)
    return response


async def _healthz(_request: web.Request) -> web.Response:
    return web.Response(text="ok\n")


async def _readyz(request: web.Request) -> web.Response:
    reason = request.app[VIEW].not_ready()
    if reason is None:
        return web.Response(text="ready\n")
    return web.Response(status=503, text=f"not ready: {reason}\n")


async def _findings(request: web.Request) -> web.Response:
    state = parameters(request, "state").get("state")
    if state is not None and state not in STATES:
        raise bad(f"state: expected {' or '.join(STATES)}; got {state!r}")
    view = request.app[VIEW]
    found = view.open_findings() if state == "open" else await view.findings(state)
    return _json({"findings": sorted(found, key=lambda f: (f.began_at, f.id))})


async def _rules(request: web.Request) -> web.Response:
    parameters(request)
    return _json(request.app[VIEW].judging())


async def _status(request: web.Request) -> web.Response:
    parameters(request)
    return _json(status(request.app[VIEW], time.time()))


async def _verdict(request: web.Request) -> web.Response:
    """Answer whether it is the network, for a span and some hosts."""
    query, now = parameters(request, "since", "from", "to", "hosts"), time.time()
    if "since" in query and "from" in query:
        raise bad("since: from is given already; one of them says where the span begins")
    start = now - seconds_of(query["since"], "since") if "since" in query else None
    view = request.app[VIEW]
    hosts = [name.strip() for name in query["hosts"].split(",")] if "hosts" in query else []
    if not all(hosts):
        raise bad("hosts: expected names with commas between them; one of them is empty")
    question = verdicts.Question(
        from_at=seconds_of(query["from"], "from") if "from" in query else start,
        to_at=seconds_of(query["to"], "to") if "to" in query else None,
        hosts=tuple(dict.fromkeys(hosts)),
    )
    found = await view.findings(None)
    told = verdicts.answer(view.fabric, view.coverage, view.verdict(), found, question, now)
    return _json(told)


async def _ports(request: web.Request) -> web.Response:
    """Give both ends of a device's cables, or those of the cables that stand out most."""
    query, fabric = parameters(request, "device", "by", "top"), request.app[VIEW].fabric
    by, top = query.get("by", ports.RANKINGS[0]), query.get("top", "20")
    if by not in ports.RANKINGS:
        raise bad(f"by: expected one of {', '.join(ports.RANKINGS)}; got {by!r}")
    if not (top.isascii() and top.isdigit() and 0 < int(top) <= ports.MOST):
        raise bad(f"top: expected a number from 1 to {ports.MOST}; got {top[:20]!r}")
    if "device" in query:
        return _json(ports.of_device(fabric, query["device"], time.time()))
    return _json(ports.most(fabric, by, int(top), time.time()))


async def _record(request: web.Request) -> web.StreamResponse:
    """Stream what comes in, a JSON object a line, until told or until the daemon ends."""
    seconds = seconds_of(parameters(request, "seconds").get("seconds"), "seconds")
    recorders = request.app[VIEW].recorders
    with recorders.join() as recorder:
        if recorder is None:
            raise web.HTTPTooManyRequests(text=f"{LIMIT} recordings run already: end one first")
        async with _streaming(request, "application/x-ndjson") as response:
            await _record_to(response, request, recorder, seconds)
        return response


async def _record_to(
    response: web.StreamResponse, request: web.Request, recorder: Recorder, seconds: float
) -> None:
    fabric, clock = request.app[VIEW].fabric, asyncio.get_running_loop().time
    end, lines = clock() + seconds, 0
    await _write(response, msgspec.json.encode({"fabric": fabric_document(fabric)}) + b"\n")
    now = time.time()
    for name, facts in list(fabric.facts.items()):
        # They come seldom, so those that are known already open the recording.
        await _write(response, line(Facts(now, name, facts)))
    while (left := end - clock()) > 0:
        item = await recorder.next(min(left, 1.0))
        if item is not None:
            await _write(response, line(item))
            lines += 1
        elif recorder.closed or request.transport is None or request.transport.is_closing():
            break
    last = {"end": {"lines": lines, "dropped": recorder.dropped}}
    await _write(response, msgspec.json.encode(last) + b"\n")


async def _ring(request: web.Request) -> web.Response:
    """Give the last samples of the headline figures, as NumPy's .npz."""
    parameters(request)
    view = request.app[VIEW]
    packed = await asyncio.to_thread(saved, *view.ring.samples(), view.fabric)
    return web.Response(body=packed, content_type="application/octet-stream")


async def _page(request: web.Request) -> web.Response:
    view = request.app[VIEW]
    text = page(view.verdict(), view.open_findings(), view.not_ready(), time.time())
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return web.Response(
        text=text, content_type="text/html", headers={"Content-Security-Policy": policy}
    )


def _json(value: object, status: int = 200) -> web.Response:
    return web.Response(
        body=msgspec.json.encode(value), status=status, content_type="application/json"
    )


@asynccontextmanager
async def _streaming(request: web.Request, content_type: str) -> AsyncIterator[web.StreamResponse]:
    """Begin an answer that is written piece by piece."""
    response = web.StreamResponse(headers={"Content-Type": content_type})
    await response.prepare(request)
    try:
        yield response
    except ConnectionError:
        # A client that leaves in the middle is nothing to tell of.
        log.debug("the client of %s left", request.path)
    except Exception as error:
        if not isinstance(error, TimeoutError):
            log.exception("the answer to %s failed", request.path)
        # Half an answer must not look whole: the client sees its connection break.
        if request.transport is not None:
            request.transport.abort()


async def _write(response: web.StreamResponse, data: bytes) -> None:
    """Write, and give up on a client that does not read."""
    async with asyncio.timeout(WRITE_SECONDS):
        await response.write(data)


Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@web.middleware
async def _errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Turn what goes wrong into one line of JSON, and keep what is ours out of it."""
    try:
        return await handler(request)
    except ConnectionError:
        raise
    except web.HTTPException as error:
        answer = _json({"error": error.text or error.reason}, status=error.status)
        if "Allow" in error.headers:
            answer.headers["Allow"] = error.headers["Allow"]
        return answer
    except ConfigError as error:
        return _json({"error": str(error)}, status=400)
    except StoreError as error:
        return _json({"error": str(error)}, status=503)
    except Exception:
        log.exception("the answer to %s failed", request.path)
        return _json({"error": "an error of the daemon; its log says more"}, status=500)


async def _close(app: web.Application) -> None:
    app[VIEW].recorders.close()


def application(view: View) -> web.Application:
    """Put the application together."""
    app = web.Application(middlewares=[_errors], client_max_size=1024)
    app[VIEW] = view
    app[EXPOSITION] = Exposition(view.fabric)
    app.router.add_get("/", _page)
    app.router.add_get("/metrics", _metrics)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", _readyz)
    app.router.add_get("/api/v1/findings", _findings)
    app.router.add_get("/api/v1/rules", _rules)
    app.router.add_get("/api/v1/status", _status)
    app.router.add_get("/api/v1/verdict", _verdict)
    app.router.add_get("/api/v1/ports", _ports)
    app.router.add_get("/api/v1/ring", _ring)
    app.router.add_get("/api/v1/record", _record, allow_head=False)
    app.on_shutdown.append(_close)
    return app


@asynccontextmanager
async def serve(view: View, host: str, port: int) -> AsyncIterator[tuple[str, int]]:
    """Serve for as long as the block lasts; give the address that it listens on.

    Raises:
        Unreachable: It cannot listen there, at least not now.
    """
    runner = web.AppRunner(
        application(view), access_log=None, shutdown_timeout=SHUTDOWN_SECONDS, handle_signals=False
    )
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, host, port).start()
        except OSError as error:
            reason = error.strerror or str(error)
            raise Unreachable(f"http.listen: cannot listen on {host}:{port}: {reason}") from error
        yield runner.addresses[0][:2]
    finally:
        await runner.cleanup()
