"""The loop around the app: uvicorn's, with our settings, but it says when it stops and what it waits for."""

from __future__ import annotations

import logging
import socket
from collections.abc import Sequence

import uvicorn
from starlette.types import ASGIApp

from regard.serve.connection import patient_for
from regard.serve.limits import Limits

log = logging.getLogger(__name__)


class Server(uvicorn.Server):
    """Answers on sockets that are already open, until a signal comes."""

    def __init__(self, app: ASGIApp, limits: Limits, proxies: Sequence[str] = ()) -> None:
        """Who a client is, is believed only from `proxies`, by their addresses."""
        settings = uvicorn.Config(
            app, http=patient_for(limits.body_seconds), ws="none", log_config=None, access_log=False,
            server_header=False, proxy_headers=bool(proxies), forwarded_allow_ips=list(proxies),
            timeout_graceful_shutdown=round(limits.shutdown_seconds),
        )  # fmt: skip
        super().__init__(settings)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        begun = len(self.server_state.tasks)
        log.info("stopping: finishing %d request%s", begun, "" if begun == 1 else "s")
        await super().shutdown(sockets)
        log.info("ended")
