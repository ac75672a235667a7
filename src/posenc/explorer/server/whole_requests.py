"""HTTP connections with a deadline for each request; incomplete requests do not delay shutdown."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds from a request's first byte, or from the connection, to its last.
SECONDS = 15.0


class WholeRequests(H11Protocol):
    """HTTP of uvicorn that closes a connection whose request stays incomplete."""

    deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take bytes, and wait no longer once the request is whole."""
        super().data_received(data)
        if self._is_incomplete():
            self._wait()
        else:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadline."""
        self._stop_waiting()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """Finish a request that has arrived whole; close the connection at once if it is idle or incomplete."""
        if self._is_incomplete():
            self.transport.close()
        else:
            super().shutdown()

    def _is_incomplete(self) -> bool:
        return self.conn.their_state in (h11.IDLE, h11.SEND_BODY)

    def _wait(self) -> None:
        if self.deadline is None:
            self.deadline = self.loop.call_later(SECONDS, self.transport.close)

    def _stop_waiting(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None
