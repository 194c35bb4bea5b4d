"""What waits to be sent: bounded, the oldest is dropped first, and every drop is counted."""

from collections import deque


class Outbox:
    """Payloads in the order in which they were made, of so many pieces and bytes at most."""

    def __init__(self, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._waiting: deque[bytes] = deque()
        self.bytes = 0
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def put(self, payload: bytes) -> None:
        """Take a payload; one that is too large for the box by itself is dropped itself."""
        self._waiting.append(payload)
        self.bytes += len(payload)
        while self._waiting and (len(self._waiting) > self._most or self.bytes > self._most_bytes):
            self.bytes -= len(self._waiting.popleft())
            self.dropped += 1

    def first(self) -> bytes | None:
        """Give the oldest, and keep it until it is done with."""
        return self._waiting[0] if self._waiting else None

    def done(self, payload: bytes) -> None:
        """Forget the oldest, unless it was dropped meanwhile."""
        if self._waiting and self._waiting[0] is payload:
            self._waiting.popleft()
            self.bytes -= len(payload)
