"""What happens to a stream beside lost connections: tokens, notices, cancellation."""

from __future__ import annotations

import re
import socket
from contextlib import aclosing

import anyio
import httpx
import pytest
from conftest import TENANT, Server
from guildhall_client import ApiError, BackoffOptions, Client, ConnectionLostError, FollowOptions, Notice, StreamGapError

pytestmark = pytest.mark.anyio

FAST_BACKOFF = BackoffOptions(initial_delay=0.005, max_delay=0.02)
FAST = FollowOptions(backoff=FAST_BACKOFF)


async def test_revoked_token_is_replaced_and_the_stream_continues(server: Server) -> None:
    (first_id, first), (_, second) = await server.create_key(), await server.create_key()
    requests: list[str | None] = []

    async def token(rejected: str | None) -> str:
        requests.append(rejected)
        return first if rejected is None else second

    closed: list[Notice] = []
    options = FollowOptions(backoff=FAST_BACKOFF, on_notice=lambda n: closed.append(n) if n["type"] == "closed" else None)
    run = (await server.create_run())["runId"]
    async with Client(server.url, token) as client, aclosing(client.follow_run(run, options=options)) as items:
        followed = [(await anext(items)).event]
        await server.client.revoke_key(TENANT, first_id)
        await server.send_turn(run)
        while followed[-1]["type"] != "terminal_status":
            followed.append((await anext(items)).event)
    assert followed == (await server.list_events(run))[: len(followed)]
    assert requests == [None, first]
    assert closed == [{"v": 1, "type": "closed", "failureKind": "unauthenticated"}]


async def test_token_function_is_asked_again_after_a_401_once(server: Server) -> None:
    requests: list[str | None] = []

    def token(rejected: str | None) -> str:
        requests.append(rejected)
        return f"wrong-{len(requests)}"

    run = (await server.create_run())["runId"]
    async with Client(server.url, token) as client:
        with pytest.raises(ApiError) as raised:
            await anext(client.follow_run(run, options=FAST))
    assert raised.value.status == 401
    assert requests == [None, "wrong-1"]


async def test_revoked_token_that_cannot_be_replaced_is_a_401_error(server: Server) -> None:
    key, secret = await server.create_key()
    run = (await server.create_run())["runId"]
    async with Client(server.url, secret) as client, aclosing(client.follow_run(run, options=FAST)) as items:
        await anext(items)
        await server.client.revoke_key(TENANT, key)
        with pytest.raises(ApiError) as raised:
            async for _ in items:
                pass
    assert raised.value.status == 401


async def test_cursor_that_the_server_does_not_have_is_a_gap_error(server: Server) -> None:
    run = (await server.create_run())["runId"]
    async with aclosing(server.client.follow_run(run)) as items:
        first = await anext(items)
    with pytest.raises(StreamGapError) as raised:
        await anext(server.client.follow_run(run, after=re.sub(r"\d+$", "999999", first.id)))
    assert raised.value.reason == "ahead_of_log"


async def test_stream_continues_after_a_cursor_and_reports_when_it_is_live(server: Server) -> None:
    run = (await server.create_run())["runId"]
    await server.send_turn(run)
    every = []
    async with aclosing(server.client.follow_run(run)) as items:
        async for item in items:
            every.append(item)
            if item.event["type"] == "terminal_status":
                break
    resumed = []
    notices: list[str] = []
    with anyio.CancelScope() as scope:

        def on_notice(notice: Notice) -> None:
            notices.append(notice["type"])
            if notice["type"] == "replay_complete":
                scope.cancel()

        options = FollowOptions(on_notice=on_notice)
        async with aclosing(server.client.follow_run(run, after=every[0].id, options=options)) as items:
            async for item in items:
                resumed.append(item)
    assert resumed[: len(every) - 1] == every[1:]
    assert notices == ["hello", "replay_complete"]


async def test_thread_that_a_replica_ended_early_is_continued() -> None:
    def frame(number: int, kind: str) -> str:
        return f'id: {number}\ndata: {{"type":"{kind}"}}\n\n'

    cut_short = 'data: {"type":"RUN_ERROR"}\n\n'
    second_run = frame(3, "RUN_STARTED") + frame(4, "RUN_FINISHED")
    bodies = [frame(1, "RUN_STARTED"), cut_short, frame(2, "RUN_FINISHED"), second_run]
    cursors: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        cursors.append(request.headers.get("last-event-id"))
        return httpx.Response(200, text=bodies.pop(0) if bodies else "")

    async with Client("http://guildhall", "any", transport=httpx.MockTransport(answer)) as client:
        kinds = [item.event["type"] async for item in client.follow_thread("thread", options=FAST)]
    assert kinds == ["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED", "RUN_FINISHED"]
    assert cursors == [None, "1", "1", "2", "4"]


async def test_unreachable_server_is_an_error_after_the_last_attempt() -> None:
    delays: list[float] = []
    options = FollowOptions(
        backoff=BackoffOptions(initial_delay=0.004, max_delay=0.01, max_failures=4),
        on_disconnect=lambda _, delay: delays.append(delay),
    )
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        async with Client(f"http://127.0.0.1:{unused.getsockname()[1]}", "any") as client:
            with pytest.raises(ConnectionLostError):
                await anext(client.follow_run("run_1", options=options))
    bounds = [0.004, 0.008, 0.01, 0.01]
    assert len(delays) == len(bounds)
    assert all(bound / 2 <= delay <= bound for delay, bound in zip(delays, bounds)), delays
