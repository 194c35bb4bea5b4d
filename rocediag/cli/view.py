"""What the command line reads of the daemon's answers, and nothing more.

It reads the wire as any other client would: what a newer daemon adds is passed over, and
nothing heavy is imported, since somebody waits.
"""

from typing import Any

import msgspec


class PlaceView(msgspec.Struct, frozen=True):
    """Where something is."""

    device: str
    port: str | None = None
    priority: int | None = None

    def __str__(self) -> str:
        where = self.device if self.port is None else f"{self.device}:{self.port}"
        return where if self.priority is None else f"{where} priority {self.priority}"


class VictimView(PlaceView, frozen=True):
    """Who suffers."""

    why: str = ""


class SymptomView(msgspec.Struct, frozen=True):
    """What else was seen of the same trouble."""

    rule: str
    device: str
    port: str | None = None

    def __str__(self) -> str:
        return f"{self.rule} at {PlaceView(self.device, self.port)}"


class FindingView(msgspec.Struct, frozen=True, kw_only=True):
    """A finding."""

    id: str
    rule: str
    severity: str
    state: str
    began_at: float
    found_at: float
    resolved_at: float | None = None
    root: PlaceView | None = None
    suspects: tuple[PlaceView, ...] = ()
    victims: tuple[VictimView, ...] = ()
    symptoms: tuple[SymptomView, ...] = ()
    path: tuple[str, ...] = ()
    confidence: float = 1.0
    coverage: float = 1.0
    evidence: str = "measured"
    superseded_by: str | None = None
    unmeasured_since: float | None = None
    summary: str = ""
    figures: dict[str, Any] = {}
    remedy: tuple[str, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it still goes on."""
        return self.state == "open"

    @property
    def is_loud(self) -> bool:
        """Whether it is at warning or above."""
        return self.severity != "info"


class VerdictView(msgspec.Struct, frozen=True, rename={"from_at": "from", "to_at": "to"}):
    """Whether the fabric is to blame."""

    verdict: str
    coverage: float
    unmeasured: tuple[str, ...] = ()
    from_at: float | None = None
    to_at: float | None = None


class DeviceView(msgspec.Struct, frozen=True, kw_only=True):
    """A device, and why some of its signals are not known."""

    device: str
    kind: str = ""
    role: str = ""
    platform: str = ""
    last_at: float | None = None
    age_seconds: float | None = None
    ports: int = 0
    unknown: dict[str, str] = {}


class StatusView(msgspec.Struct, frozen=True, kw_only=True):
    """How the daemon is."""

    version: str
    started_at: float
    now: float
    verdict: VerdictView | None = None
    devices: tuple[DeviceView, ...] = ()
    open_findings: int = 0
    dropped: dict[str, int] = {}

    @property
    def sample_at(self) -> float | None:
        """When the newest sample was taken."""
        return max((d.last_at for d in self.devices if d.last_at is not None), default=None)


class RulesView(msgspec.Struct, frozen=True):
    """What the daemon judges by, as plain values: a newer daemon may have more of them."""

    fabric: dict[str, Any] = {}
    patience: dict[str, Any] = {}
    rules: dict[str, dict[str, Any]] = {}
