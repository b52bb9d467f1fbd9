"""Failures of calls and streams."""

from __future__ import annotations

from typing import cast

import httpx

from .models import Problem


class ApiError(Exception):
    """The server refused a request or failed. Distinguish failures by ``failure_kind``."""

    status: int
    """HTTP status. Several kinds share one."""
    failure_kind: str
    """Stable kind of the failure; ``unknown`` if the body is not from Guildhall, such as that of a proxy."""
    retry: str
    """Whether a retry can help: ``never``, ``later`` or ``after-change``."""
    retry_after: float | None
    """Minimum seconds before a retry, if the server knows them."""
    trace_id: str | None
    """Trace id of the request, for the logs of the server."""
    problem: Problem | None
    """The whole body."""

    def __init__(self, status: int, problem: Problem | None = None, retry_after: float | None = None) -> None:
        super().__init__(problem["detail"] if problem else f"HTTP status {status}")
        self.status = status
        self.problem = problem
        self.failure_kind = problem["failureKind"] if problem else "unknown"
        self.retry = problem["retry"] if problem else ("later" if status == 429 or status >= 500 else "never")
        milliseconds = problem.get("retryAfterMs") if problem else None
        self.retry_after = milliseconds / 1000 if milliseconds is not None else retry_after
        self.trace_id = problem["traceId"] if problem else None


class StreamGapError(Exception):
    """The server does not know the cursor: its database was restored.

    Events may have been lost, or are sent again. Follow again without ``after``, and forget what you have.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(f"the stream cannot continue after the last event ({reason})")
        self.reason = reason


class ConnectionLostError(Exception):
    """The connection failed, was cut, or was silent for too long. Nothing is lost: a new one continues."""


async def read_error(response: httpx.Response) -> ApiError:
    """Reads the error of a response that is not a success."""
    await response.aread()
    seconds = response.headers.get("retry-after", "")
    retry_after = float(seconds) if seconds.isdecimal() else None
    try:
        body = response.json()
    except ValueError:
        body = None
    problem = cast(Problem, body) if isinstance(body, dict) and "failureKind" in body else None
    return ApiError(response.status_code, problem, retry_after)
