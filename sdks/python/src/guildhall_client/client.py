"""The client."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from types import TracebackType
from typing import Any, cast

import httpx
from typing_extensions import Self

from ._url import quote
from .errors import read_error
from .events import SessionItem, StreamItem
from .follow import FollowOptions, StreamSource, follow
from .models import RunEvent
from .operations import Operations
from .token import TokenFunction, read_token


class Client(Operations):
    """A client of one server. Use it with ``async with``, or call :meth:`aclose`."""

    def __init__(
        self,
        base_url: str,
        token: str | TokenFunction,
        *,
        timeout: float = 30.0,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """The token may be a function: it is called for each request and each connection of a stream."""
        self._base_url = base_url.rstrip("/")
        self._token = token
        # Each stream needs a connection, and the server has its own limits.
        limits = httpx.Limits(max_connections=None)
        self._http = httpx.AsyncClient(timeout=timeout, limits=limits, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes all connections."""
        await self._http.aclose()

    async def follow_run(
        self, run: str, *, after: str | None = None, options: FollowOptions | None = None
    ) -> AsyncGenerator[StreamItem[RunEvent], None]:
        """Follows the events of a run after a cursor. Does not end with the run: leave the loop."""
        source = self._source(f"runs/{quote(run)}/events/stream")
        async with aclosing(follow(source, after, options or FollowOptions())) as items:
            async for item in items:
                yield cast("StreamItem[RunEvent]", item)

    async def follow_session(
        self, session: str, *, after: str | None = None, options: FollowOptions | None = None
    ) -> AsyncGenerator[SessionItem, None]:
        """Follows the events of a session after a cursor, from run to run."""
        source = self._source(f"sessions/{quote(session)}/stream")
        async with aclosing(follow(source, after, options or FollowOptions())) as items:
            async for item in items:
                event = cast(RunEvent, item.event)
                yield SessionItem(item.id, event, item.event["runId"], item.event["runOrdinal"])

    async def follow_thread(
        self,
        thread: str,
        *,
        tenant_id: str | None = None,
        agent_id: str | None = None,
        after: str | None = None,
        options: FollowOptions | None = None,
    ) -> AsyncGenerator[StreamItem[dict[str, Any]], None]:
        """Follows a conversation with an agent as AG-UI events. Ends when no run is open."""
        query = {"tenantId": tenant_id, "agentId": agent_id}
        source = self._source(f"agent/runs/{quote(thread)}/events", query, is_finite=True)
        async with aclosing(follow(source, after, options or FollowOptions())) as items:
            async for item in items:
                yield item

    def _source(
        self, path: str, query: Mapping[str, str | None] | None = None, *, is_finite: bool = False
    ) -> StreamSource:
        given = {name: value for name, value in (query or {}).items() if value is not None}
        return StreamSource(self._http, f"{self._base_url}/api/v1/{path}", given, self._token, is_finite)

    async def _call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, object] | None = None,
        headers: Mapping[str, str | None] | None = None,
        body: object = None,
    ) -> Any:
        sent = {name: value for name, value in (headers or {}).items() if value is not None}
        sent["authorization"] = f"Bearer {await read_token(self._token)}"
        params = {name: _query_text(value) for name, value in (query or {}).items() if value is not None}
        sent_body: dict[str, Any] = {"content": body} if isinstance(body, bytes) else {"json": body}
        response = await self._http.request(method, self._base_url + path, params=params, headers=sent, **sent_body)
        if not response.is_success:
            raise await read_error(response)
        return response.json()


def _query_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
