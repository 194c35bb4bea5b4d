"""A v3 request under way: discovery, reports, and which messages are believed.

What may be believed is written in ``usm``. Each try is a new message around the same request-id:
its time must be fresh, and RFC 3412, 6.2 asks for a new msgID; an answer to any of them counts.
"""

from typing import Final

from collector.snmp.agent import Agent
from collector.snmp.exchange import Datagram, Exchange, Request, T, Wire
from collector.snmp.message import (
    FLAG_AUTH,
    FLAG_PRIV,
    GET,
    REPORT,
    REPORT_NAMES,
    RESPONSE,
    VERSION_3,
    Frame,
    Pdu,
    Report,
    Stray,
    StrayError,
    pdu,
    read_frame,
    read_scoped,
    tail,
    varbinds,
)
from collector.snmp.usm import Engine, User, discovery

MAX_DISCOVERIES: Final = 3
"""Engine ids tried in one exchange: a forged one must not keep the real one out."""

MAX_RESYNCS: Final = 2
"""Corrections of the clock in one exchange; an honest agent needs one."""

ENGINE_ID_OCTETS: Final = range(5, 33)
"""RFC 3411, 5: an engine id is 5 to 32 octets."""


class UserExchange(Exchange[T]):
    """A v3 request.

    A denial that is not authentic is believed only when the try ends without an answer: whoever
    forges one must also hold the agent's own answer back.
    """

    __slots__ = ("_discoveries", "_engine", "_resyncs", "_sent", "_user")

    def __init__(self, wire: Wire, agent: Agent, request: Request[T], user: User) -> None:
        super().__init__(wire, agent, request)
        self._user = user
        self._sent: dict[int, Engine | None] = {}
        self._discoveries = self._resyncs = 0
        self._engine = None if agent.doubted else agent.engine
        if self._engine is None and user.engine_id is not None:
            self._engine = Engine(user, user.engine_id, wire.keys)

    def send(self, now: float) -> None:
        """Send the request to the engine we know, or ask for the engine."""
        msg_id, engine = self.wire.claim(self), self._engine
        self._sent[msg_id] = engine
        if engine is None:
            message = discovery(msg_id, pdu(GET, self.request_id, tail(0, 0, b"")))
        else:
            encoded = pdu(self.request.tag, self.request_id, self.request.tail)
            message = engine.seal(msg_id, encoded, now)
        self.wire.post(self, message)

    def receive(self, got: Datagram) -> None:
        """Judge a datagram from our agent."""
        if got.version != VERSION_3:
            raise StrayError(Stray.VERSION)
        frame = read_frame(got.data, got.at, got.end)
        if frame.msg_id not in self._sent:
            raise StrayError(Stray.UNKNOWN_ID)
        engine = self._sent[frame.msg_id]
        level = frame.flags & (FLAG_AUTH | FLAG_PRIV)
        data, at, end = got.data, frame.at, frame.end
        if level and (engine is None or level == FLAG_PRIV):
            raise StrayError(Stray.LEVEL)
        if engine and level & FLAG_AUTH:
            engine.verify(data, frame)
        if engine and level & FLAG_PRIV:
            data = engine.unseal(data, frame)
            at, end = 0, len(data)
        inner = read_scoped(data, at, end)
        if inner.tag == REPORT:
            name, _, _ = next(varbinds(data, inner.at, inner.end), (b"", 0, b""))
            self._report(REPORT_NAMES.get(name, Report.OTHER), frame, engine, got.now)
        elif inner.tag == RESPONSE:
            if engine is None or level != self._user.flags:
                raise StrayError(Stray.LEVEL)
            self._response(inner, data, frame, engine, got.now)
        else:
            raise StrayError(Stray.TYPE)

    def _response(self, inner: Pdu, data: bytes, frame: Frame, engine: Engine, now: float) -> None:
        if frame.engine_id != engine.engine_id or frame.user != self._user.name.encode():
            raise StrayError(Stray.USER)
        if inner.request_id != self.request_id:
            raise StrayError(Stray.UNKNOWN_ID)
        if self._user.auth:
            engine.learn(frame.boots, frame.time, now)
        self.agent.engine = engine
        self.agent.doubted = False
        self.finish(inner, data, now)

    def _report(self, report: Report, frame: Frame, engine: Engine | None, now: float) -> None:
        """Heed a report; one that is not authentic reaches no further than this exchange."""
        authentic = bool(frame.flags & FLAG_AUTH)
        if engine is None or report is Report.UNKNOWN_ENGINE:
            self._try_engine(frame, engine, now)
        elif report is Report.NOT_IN_TIME_WINDOW:
            if not authentic or self._resyncs == MAX_RESYNCS:
                raise StrayError(Stray.REPORT)
            self._resyncs += 1
            self._engine = engine
            engine.set(frame.boots, frame.time, now)
            self.send(now)
        else:
            self.denial = _denial(report, self._user)
            if authentic:
                self.settle()

    def _try_engine(self, frame: Frame, engine: Engine | None, now: float) -> None:
        """Go on with the engine id that a report names."""
        user, engine_id, known = self._user, frame.engine_id, self.agent.engine
        is_ours = engine is not None and engine.engine_id == engine_id
        if len(engine_id) not in ENGINE_ID_OCTETS or is_ours:
            raise StrayError(Stray.REPORT)
        if user.engine_id is not None and user.engine_id != engine_id:
            self.denial = f"its engine id is {engine_id.hex()}, not the configured one"
            return
        if self._discoveries == MAX_DISCOVERIES:
            raise StrayError(Stray.REPORT)
        self._discoveries += 1
        if known is None or known.engine_id != engine_id:
            known = Engine(user, engine_id, self.wire.keys)
        known.guess(frame.boots, frame.time, now)
        self._engine = known
        self.send(now)

    def hint(self) -> str:
        """Say what the operator should know when there was no answer."""
        hint = super().hint()
        if self._user.priv and self._engine is not None and not hint:
            heard = "it says who it is, so" if self._discoveries else "if it is up,"
            return f"; {heard} check the privacy password: agents are silent to a wrong one"
        return hint


def _denial(report: Report, user: User) -> str:
    """Say what a report means for the operator."""
    level = ("noAuthNoPriv", "authNoPriv", "", "authPriv")[user.flags]
    meaning = {
        Report.UNKNOWN_USER: f"it knows no user {user.name!r}: create it there or name another",
        Report.WRONG_DIGEST: f"wrong authentication password or protocol for user {user.name!r}",
        Report.UNSUPPORTED_LEVEL: f"user {user.name!r} is not set up for {level} there",
        Report.DECRYPTION_ERROR: f"wrong privacy password or protocol for user {user.name!r}",
    }.get(report, "it refuses our messages")
    return f"{meaning} ({report.value})"
