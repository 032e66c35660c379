"""One TCP connection: uvicorn's, but it does not wait for ever for a request's head, or for a reader that stands still."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_BYTES = 65_536
"""Of a request's head, or of what stands between two chunks of its body."""
CHUNKS = 4_000
"""Of one body. Each costs as much as a kilobyte to read, so that a body cut into single bytes would stop everybody else."""


class Conversation(h11.Connection):
    """What h11 knows of a connection, and how many chunks the present body came in."""

    chunks = 0

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.chunks = 0
        elif isinstance(event, h11.Data) and event.chunk_start:
            self.chunks += 1
            if self.chunks > CHUNKS:
                raise h11.RemoteProtocolError("too many chunks")
        return event


def patient_for(seconds: float) -> type[asyncio.Protocol]:
    """The protocol of connections that end when nothing moves for so long."""

    class Connection(H11Protocol):
        head: asyncio.TimerHandle | None = None
        reader: asyncio.TimerHandle | None = None

        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named)
            self.conn = Conversation(h11.SERVER, HEAD_BYTES)

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            # An answer's head and body are written apart, and without this the body waits until the head is acknowledged, which
            # readers put off for 40 ms. asyncio itself asks for it only of sockets that name their protocol; ours does not.
            transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
