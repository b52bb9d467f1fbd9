"""Streams over any number of connections."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any, cast

import anyio
import httpx

from .backoff import Backoff, BackoffOptions
from .errors import ApiError, ConnectionLostError, StreamGapError, read_error
from .events import StreamItem
from .models import Notice
from .sse import Frame, SseDecoder
from .token import TokenFunction, read_token

Item = StreamItem[dict[str, Any]]


@dataclass(frozen=True)
class FollowOptions:
    """How a stream is followed."""

    on_notice: Callable[[Notice], object] | None = None
    """Called with each notice about the stream, such as ``replay_complete``."""
    on_disconnect: Callable[[Exception, float], object] | None = None
    """Called with the error and the delay when the connection was lost, before the delay."""
    idle_timeout: float = 45.0
    """Seconds of silence after which the connection is replaced. The server sends a comment every 15 seconds."""
    backoff: BackoffOptions = field(default_factory=BackoffOptions)


@dataclass(frozen=True)
class StreamSource:
    """What is followed, and with which authority."""

    http: httpx.AsyncClient
    url: str
    query: dict[str, str]
    token: str | TokenFunction
    is_finite: bool
    """Whether the server ends the stream when there is nothing left to follow."""


async def follow(source: StreamSource, after: str | None, options: FollowOptions) -> AsyncGenerator[Item, None]:
    """Yields each event once, in order."""
    reader = _StreamReader(source, after, options)
    is_confirming = False
    while True:
        failure: Exception = ConnectionLostError("the server closed the stream")
        has_events = False
        try:
            async with aclosing(reader.connect()) as items:
                async for item in items:
                    has_events = True
                    yield item
            if reader.is_finished:
                # A replica that shuts down may end a stream early. Only a second connection without events is the end.
                if is_confirming and not has_events:
                    return
                is_confirming = True
                continue
        except ConnectionLostError as error:
            failure = error
        except ApiError as error:
            if error.retry != "later":
                raise
            failure = error
        is_confirming = False
        delay = reader.backoff.fail(failure.retry_after if isinstance(failure, ApiError) else None)
        if delay is None:
            raise failure
        if options.on_disconnect:
            options.on_disconnect(failure, delay)
        await anyio.sleep(delay)


class _StreamReader:
    """The position in a stream."""

    def __init__(self, source: StreamSource, after: str | None, options: FollowOptions) -> None:
        self._source = source
        self._options = options
        self._last_id = after
        self._token = ""
        self._is_rejected = False
        self.backoff = Backoff(options.backoff)
        self.is_finished = False
        """Whether the last connection ended because there was nothing left to follow."""

    async def connect(self) -> AsyncGenerator[Item, None]:
        """Yields the events of one connection. With a token function, a refused token is replaced once."""
        is_replacement = self._is_rejected
        try:
            async with aclosing(self._read()) as items:
                async for item in items:
                    yield item
            return
        except ApiError as error:
            if error.status == 409 and self._source.is_finite and self._last_id is not None:
                raise StreamGapError(str(error)) from error
            if error.status != 401 or isinstance(self._source.token, str) or is_replacement:
                raise
        self._is_rejected = True
        async with aclosing(self._read()) as items:
            async for item in items:
                yield item

    async def _read(self) -> AsyncGenerator[Item, None]:
        source = self._source
        self._token = await read_token(source.token, self._token if self._is_rejected else None)
        headers = {"accept": "text/event-stream", "authorization": f"Bearer {self._token}"}
        if self._last_id is not None:
            headers["last-event-id"] = self._last_id
        self.is_finished = False
        is_cut_short = False
        async with aclosing(_open(source, headers, self._options.idle_timeout)) as frames:
            async for frame in frames:
                self._is_rejected = False
                data = json.loads(frame.data)
                if frame.id is not None:
                    self.backoff.reset()
                    self._last_id = frame.id
                    yield StreamItem(frame.id, data)
                elif source.is_finite:
                    is_cut_short = True
                else:
                    self._handle_notice(cast(Notice, data))
        self.is_finished = source.is_finite and not is_cut_short

    def _handle_notice(self, notice: Notice) -> None:
        if self._options.on_notice:
            self._options.on_notice(notice)
        if notice["type"] == "gap":
            raise StreamGapError(notice["reason"])
        if notice["type"] == "replay_complete":
            self.backoff.reset()
        # After this notice the server ends the stream.
        if notice["type"] == "closed" and notice["failureKind"] == "unauthenticated":
            self._is_rejected = True


async def _open(source: StreamSource, headers: dict[str, str], idle_timeout: float) -> AsyncGenerator[Frame, None]:
    """Yields the frames of one connection until the server ends it."""
    decoder = SseDecoder()
    try:
        async with source.http.stream(
            "GET", source.url, params=source.query, headers=headers, timeout=idle_timeout
        ) as response:
            if not response.is_success:
                raise await read_error(response)
            async for chunk in response.aiter_bytes():
                for frame in decoder.feed(chunk):
                    yield frame
    except httpx.TransportError as error:
        raise ConnectionLostError("the connection was lost") from error
