"""What the collectors count about themselves; every source takes one of these."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class CollectorMetrics:
    """Counters of the collecting side, in one registry."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.polls = Counter(
            "rocediag_polls",
            "polls of a device by their outcome",
            ["device", "source", "outcome"],
            registry=registry,
        )
        self.poll_seconds = Gauge(
            "rocediag_poll_duration_seconds",
            "how long the last poll of a device took",
            ["device", "source"],
            registry=registry,
        )
        self.changes = Counter(
            "rocediag_setting_changes",
            "settings of a device's ports that changed while they were watched",
            ["device", "setting"],
            registry=registry,
        )
        self.dropped = Counter(
            "rocediag_collector_dropped",
            "what was read and could not be used, by where and why",
            ["source", "reason"],
            registry=registry,
        )

    def forget(self, device: str) -> None:
        """Take a device's series out once it has left the configuration."""
        for family in (self.polls, self.poll_seconds, self.changes):
            family.remove_by_labels({"device": device})
