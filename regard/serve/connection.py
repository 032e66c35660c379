"""One TCP connection: uvicorn's, but it does not wait for ever for a request's head, or for a reader that stands still."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol


def patient_for(seconds: float) -> type[asyncio.Protocol]:
    """The protocol of connections that end when nothing moves for so long."""

    class Connection(H11Protocol):
        head: asyncio.TimerHandle | None = None
        reader: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self.expect_head()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self.expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            for timer in (self.head, self.reader):
                if timer is not None:
                    timer.cancel()
            super().connection_lost(exc)

        def expect_head(self) -> None:
            """Between requests uvicorn's own timer runs, until the first byte of the next."""
            if self.conn.their_state is not h11.IDLE:
                if self.head is not None:
                    self.head.cancel()
                self.head = None
            elif self.head is None:
                self.head = self.loop.call_later(seconds, self.transport.abort)

        def pause_writing(self) -> None:
            super().pause_writing()
            self.reader = self.loop.call_later(seconds, self.check_reader, self.transport.get_write_buffer_size())

        def resume_writing(self) -> None:
            super().resume_writing()
            if self.reader is not None:
                self.reader.cancel()

        def check_reader(self, before: int) -> None:
            now = self.transport.get_write_buffer_size()
            if now >= before:
                self.transport.abort()
            else:
                self.reader = self.loop.call_later(seconds, self.check_reader, now)

    return Connection
