"""A proxy that breaks connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

Fault = Literal["reset", "close", "stall", "refuse"]
REFUSAL = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 0\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class PlannedFault(NamedTuple):
    """A fault of a connection, after some bytes of the response. A stalled connection stays open and silent."""

    fault: Fault
    after_bytes: int


FaultPlan = Callable[[int], "PlannedFault | None"]
"""Returns the fault of a new connection, by the number of faults before it. None leaves it alone."""


class FaultyProxy:
    """Forwards connections, and breaks those that the plan names."""

    def __init__(self, target: str, plan: FaultPlan) -> None:
        self._target = urlsplit(target)
        self._plan = plan
        self._tasks: set[asyncio.Task[None]] = set()
        self.faults: list[Fault] = []
        self.url = ""

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[FaultyProxy]:
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._forward(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        planned = self._plan(len(self.faults))
        upstream: asyncio.StreamWriter | None = None
        sending: asyncio.Task[None] | None = None
        try:
            if planned and planned.fault == "refuse":
                self.faults.append("refuse")
                writer.write(REFUSAL)
                await writer.drain()
                return
            answers, upstream = await asyncio.open_connection(self._target.hostname, self._target.port)
            sending = asyncio.ensure_future(copy(reader, upstream))
            left = planned.after_bytes if planned else None
            while chunk := await answers.read(65536):
                writer.write(chunk if left is None else chunk[:left])
                await writer.drain()
                if left is not None and planned:
                    left -= len(chunk)
                    if left <= 0:
                        return await self._break(planned.fault, writer)
        except OSError:
            pass
        finally:
            if sending:
                sending.cancel()
            if upstream:
                upstream.close()
            writer.close()

    async def _break(self, fault: Fault, writer: asyncio.StreamWriter) -> None:
        self.faults.append(fault)
        if fault == "stall":
            await asyncio.Event().wait()
        if fault == "reset":
            # Without lingering, closing sends RST.
            raw = writer.get_extra_info("socket")
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while chunk := await reader.read(65536):
            writer.write(chunk)
            await writer.drain()
