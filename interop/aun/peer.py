"""A client in a process of its own, because all packages have the same name: `driver.py peer`.

It reads one request as JSON from each line, and writes one answer to a line that begins with `peer`.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

from client import Client, Sealing
from participants import Participants

DRIVER = Path(__file__).with_name("driver.py")
PREFIX = "peer "

# Less than the time of a check: the next request waits for this answer.
RECEIVE_TIMEOUT_SECONDS = 25

Answer = dict[str, Any]


async def serve(people: Participants) -> None:
    """Runs requests until the input ends."""
    client = await people.connected("peer")
    write({"aid": client.aid, "seals": client.SEALING.value, "opens": [version.value for version in client.OPENS]})
    while line := await asyncio.get_running_loop().run_in_executor(None, sys.stdin.readline):
        request = json.loads(line)
        try:
            write(await run(client, **request))
        except Exception as error:
            write({"error": f"{type(error).__name__} {error}", "code": getattr(error, "code", None)})


async def run(client: Client, do: str, **parameters: Any) -> Answer:
    if do == "send":
        return {"answer": await client.send_text(**parameters)}
    if do == "receive":
        message = await asyncio.wait_for(client.inbox.wait_for_text(**parameters), RECEIVE_TIMEOUT_SECONDS)
        return {"from": message["from"]}
    if do == "disconnect":
        await client.disconnect()
    else:
        await client.connect()
        await client.catch_up()
    return {}


def write(answer: Answer) -> None:
    print(PREFIX + json.dumps(answer), flush=True)


class PeerError(Exception):
    """An error of the client in the other process."""

    def __init__(self, text: str, code: int | None) -> None:
        super().__init__(text)
        self.code = code


class Peer:
    """The other process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self.aid = ""
        #: What it sends, and what it can read.
        self.seals = Sealing.V1
        self.opens: set[Sealing] = set()

    @classmethod
    async def start(cls, python: Path, arguments: list[str]) -> "Peer":
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            python, "-B", DRIVER, "peer", *arguments, stdin=pipe, stdout=pipe
        )
        peer = cls(process)
        hello = await peer._answer()
        peer.aid, peer.seals = hello["aid"], Sealing(hello["seals"])
        peer.opens = {Sealing(version) for version in hello["opens"]}
        return peer

    async def send(self, to: str, text: str, **options: Any) -> Answer:
        return await self._ask({"do": "send", "to": to, "text": text, **options})

    async def receive(self, text: str) -> Answer:
        return await self._ask({"do": "receive", "text": text})

    async def disconnect(self) -> None:
        await self._ask({"do": "disconnect"})

    async def connect(self) -> None:
        await self._ask({"do": "connect"})

    async def close(self) -> None:
        if self._process.stdin is not None:
            self._process.stdin.close()
        await self._process.wait()

    async def _ask(self, request: dict[str, Any]) -> Answer:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        answer = await self._answer()
        if "error" in answer:
            raise PeerError(answer["error"], answer["code"])
        return answer

    async def _answer(self) -> Answer:
        assert self._process.stdout is not None
        # A package may print too.
        while line := (await self._process.stdout.readline()).decode():
            if line.startswith(PREFIX):
                answer: Answer = json.loads(line.removeprefix(PREFIX))
                return answer
        raise PeerError("the process has ended", None)
