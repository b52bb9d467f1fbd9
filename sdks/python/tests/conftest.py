"""The server under test: `cargo xtask sdks` starts `guildhall dev` and sets the variables."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest
from guildhall_client import Client, RunEvent, models

TENANT = "dev"


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@dataclass
class Server:
    """A client of the first user, and what tests need of the server."""

    url: str
    token: str
    client: Client
    created: list[str] = field(default_factory=list)

    async def create_key(self) -> tuple[str, str]:
        """Returns the id of a new key, and its secret."""
        key = await self.client.create_key(TENANT, {"name": "sdk", "role": "developer"})
        return key["id"], key.get("secret") or ""

    async def create_run(self, session: str | None = None) -> models.RunView:
        body: models.CreateRun = {
            "tenantId": TENANT,
            "projectId": "default",
            "workspaceRef": {"kind": "empty"},
            "providerId": "local",
            "backendProfile": "demo",
            "traceSink": None,
        }
        if session:
            body["sessionRef"] = {"sessionId": session}
        run = await self.client.create_run(body)
        self.created.append(run["runId"])
        return run

    async def send_turn(self, run: str) -> str:
        """Sends a turn and returns its command id."""
        command = await self.client.create_command(run, {"type": "turn", "payload": {"prompt": "hello"}})
        return command["commandId"]

    async def start_agent_run(self, thread: str, run: str) -> None:
        """Starts a turn of the default agent."""
        message: models.AgentMessage = {"id": f"message-of-{run}", "role": "user", "content": "hello"}
        body: models.RunAgentInput = {
            "threadId": thread,
            "runId": run,
            "messages": [message],
            "forwardedProps": {"runtime_mode": "chat"},
        }
        await self.client.create_agent_run(body, tenant_id=TENANT)

    async def list_events(self, run: str) -> list[RunEvent]:
        """Returns the events of a run as the list has them."""
        events: list[RunEvent] = []
        after = 0
        while True:
            page = await self.client.list_events(run, after_seq=after, limit=50)
            events += page["events"]
            if not page["hasMore"]:
                return events
            after = page["nextAfterSeq"]


@pytest.fixture(scope="session")
def address() -> tuple[str, str]:
    try:
        return os.environ["GUILDHALL_TEST_URL"], os.environ["GUILDHALL_TEST_PASSWORD"]
    except KeyError as name:
        pytest.exit(f"{name} is not set: run the tests with `cargo xtask sdks`")


@pytest.fixture
async def server(address: tuple[str, str]) -> AsyncIterator[Server]:
    url, password = address
    async with Client(url, "none") as anonymous:
        token = (await anonymous.sign_in({"name": "admin", "password": password}))["accessToken"]
    async with Client(url, token) as client:
        server = Server(url, token, client)
        yield server
        # An open run keeps a runner, and the server has few.
        for run in server.created:
            await client.cancel_run(run)
