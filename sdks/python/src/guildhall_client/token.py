"""Tokens of requests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

TokenFunction = Callable[["str | None"], "str | Awaitable[str]"]
"""Returns the current token. The argument is the token that the server refused just now, or None."""


async def read_token(source: str | TokenFunction, rejected: str | None = None) -> str:
    if isinstance(source, str):
        return source
    token = source(rejected)
    return token if isinstance(token, str) else await token
