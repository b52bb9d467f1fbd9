"""Streams through connections that break."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from conftest import TENANT, Server
from guildhall_client import BackoffOptions, Client, FollowOptions, RunEvent, StreamItem
from proxy import Fault, FaultPlan, FaultyProxy, PlannedFault

pytestmark = pytest.mark.anyio

FAULTS = 20
SEED = 7117

# Fast enough that the tests spend their time with the server.
FAST = FollowOptions(idle_timeout=1.0, backoff=BackoffOptions(initial_delay=0.005, max_delay=0.02))

Item = TypeVar("Item", bound="StreamItem[RunEvent]")


async def read_until_end(items: AsyncIterator[Item], command: str) -> list[Item]:
    """Reads events until the end of a command, and leaves the stream open."""
    read = []
    async for item in items:
        read.append(item)
        if item.event["type"] == "terminal_status" and item.event.get("commandId") == command:
            return read
    raise AssertionError("the stream ended")


def random_faults(seed: int) -> FaultPlan:
    """Breaks connections at random places: after the head of the response, in a frame, or between frames."""
    numbers = random.Random(seed)
    kinds: list[Fault] = ["reset", "close", "reset", "close", "refuse"]

    def plan(faults: int) -> PlannedFault | None:
        if faults == FAULTS:
            return None
        # One stall: it costs the idle timeout.
        fault: Fault = "stall" if faults == FAULTS // 2 else numbers.choice(kinds)
        return PlannedFault(fault, numbers.randrange(500, 2300))

    return plan


@asynccontextmanager
async def faulty_client(server: Server) -> AsyncIterator[tuple[Client, Callable[[], bool]]]:
    """Returns a client whose connections break, and whether enough of them did."""
    async with FaultyProxy(server.url, random_faults(SEED)).running() as proxy:
        async with Client(proxy.url, server.token) as client:
            yield client, lambda: len(proxy.faults) >= FAULTS


async def test_run_is_followed_without_a_lost_or_repeated_event(server: Server) -> None:
    async with faulty_client(server) as (client, is_done):
        run = (await server.create_run())["runId"]
        followed: list[StreamItem[RunEvent]] = []
        async with aclosing(client.follow_run(run, options=FAST)) as items:
            while not is_done():
                followed += await read_until_end(items, await server.send_turn(run))
        listed = await server.list_events(run)
        assert [item.event for item in followed] == listed[: len(followed)]
        assert len({item.id for item in followed}) == len(followed)


async def test_session_is_followed_from_run_to_run(server: Server) -> None:
    async with faulty_client(server) as (client, is_done):
        first = await server.create_run()
        session, runs = first["sessionId"], [first["runId"]]
        followed = []
        async with aclosing(client.follow_session(session, options=FAST)) as items:
            while True:
                followed += await read_until_end(items, await server.send_turn(runs[-1]))
                if is_done() and len(runs) > 1:
                    break
                await server.client.close_run(runs[-1])
                runs.append((await server.create_run(session))["runId"])
        listed = [
            {**event, "runId": run, "runOrdinal": ordinal}
            for ordinal, run in enumerate(runs, 1)
            for event in await server.list_events(run)
        ]
        assert [item.event for item in followed] == listed[: len(followed)]
        assert [(item.run_id, item.run_ordinal) for item in (followed[0], followed[-1])] == [
            (runs[0], 1),
            (runs[-1], len(runs)),
        ]


async def test_thread_is_followed_to_its_end(server: Server) -> None:
    async with faulty_client(server) as (client, is_done):
        thread = str(uuid4())
        runs: list[str] = []
        followed: list[StreamItem[dict[str, Any]]] = []
        while not is_done():
            runs.append(f"run-{len(runs) + 1}")
            await server.start_agent_run(thread, runs[-1])
            after = followed[-1].id if followed else None
            followed += [
                item async for item in client.follow_thread(thread, tenant_id=TENANT, after=after, options=FAST)
            ]
        assert followed == [item async for item in server.client.follow_thread(thread, tenant_id=TENANT)]
        finished = [item.event["runId"] for item in followed if item.event["type"] == "RUN_FINISHED"]
        assert finished == runs
