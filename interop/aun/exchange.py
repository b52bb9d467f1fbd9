"""What checks of messages have in common."""

import secrets
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from client import Client
from inbox import Event
from participants import Participants
from report import CheckFailed, Report, require

PLAIN = {"encrypt": False}

# Codes without a meaning of their own: an unknown method, and an error of the server. Errors of a client have none.
NO_OWN_ERROR = {None, -1, -32601, -32603}


class MessageChecks(ABC):
    """Checks between two connected clients. Each check has messages of its own."""

    def __init__(self, report: Report, people: Participants, alice: Client, bobby: Client) -> None:
        self._report = report
        self._people = people
        self._alice = alice
        self._bobby = bobby

    @abstractmethod
    async def run(self) -> None: ...

    @asynccontextmanager
    async def _offline(self, client: Client) -> AsyncIterator[None]:
        """Disconnects a client for some time. After that it has all messages of this time."""
        await client.disconnect()
        try:
            yield
        finally:
            await client.connect()
        await client.catch_up()

    async def _check(self, name: str, action: Callable[[], Awaitable[Any]]) -> None:
        async def run() -> None:
            # An earlier check may have failed while a client was away.
            await self._alice.ensure_connected()
            await self._bobby.ensure_connected()
            await action()

        await self._report.check(name, run)


def fresh(text: str) -> str:
    """Returns a text that no other check sends."""
    return f"{text} {secrets.token_hex(4)}"


def new_id() -> str:
    return f"m-{secrets.token_hex(16)}"


async def send(sender: Client, receiver: Client, text: str, **options: Any) -> dict[str, Any]:
    answer = await sender.send_text(receiver.aid, text, **options)
    require(bool(answer["message_id"]), "no message_id")
    return answer


async def deliver(sender: Client, receiver: Client, text: str, **options: Any) -> Event:
    """Sends a text and waits until it is pushed to the receiver."""
    await send(sender, receiver, text, **options)
    return await receive(sender, receiver, text)


async def receive(sender: Client, receiver: Client, text: str) -> Event:
    return await receive_from(sender.aid, receiver, text)


async def receive_from(sender: str, receiver: Client, text: str) -> Event:
    message = await receiver.inbox.wait_for_text(text)
    require(message["from"] == sender, f"another sender: {message['from']}")
    return message


class Batch:
    """Messages of one sender to one receiver."""

    def __init__(self, sender: Client, receiver: Client) -> None:
        self._sender = sender
        self._receiver = receiver
        self._texts: list[str] = []
        self._answers: list[dict[str, Any]] = []

    async def send(self, text: str, **options: Any) -> None:
        text = fresh(text)
        self._answers.append(await send(self._sender, self._receiver, text, **options))
        self._texts.append(text)

    def on(self, device: Client) -> "Batch":
        """Returns the same messages on another device of the receiver."""
        batch = Batch(self._sender, device)
        batch._texts, batch._answers = self._texts, self._answers
        return batch

    @property
    def first_seq(self) -> int:
        return self._answers[0]["seq"]

    @property
    def message_ids(self) -> list[str]:
        return [answer["message_id"] for answer in self._answers]

    async def require_received(self) -> None:
        """Requires that each message arrives once, in this order."""
        for text in self._texts:
            await receive(self._sender, self._receiver, text)
        # What comes after a later message is too late.
        await deliver(self._sender, self._receiver, fresh("marker"), **PLAIN)
        received = self._receiver.inbox.texts(self._texts)
        if not self._receiver.KEEPS_ORDER:
            received = sorted(set(received), key=self._texts.index)
        require(received == self._texts, f"other messages: {received}")
        await self._require_stored()

    async def _require_stored(self) -> None:
        rows = await self._receiver.rows(self._sender.aid, after_seq=self.first_seq - 1)
        stored = [row["message_id"] for row in rows if row["message_id"] in self.message_ids]
        require(stored == self.message_ids, f"stored in another order: {stored}")


async def refused_by_server(action: Awaitable[Any]) -> Exception:
    """Waits for an error that the server has for this case."""
    try:
        value = await action
    except Exception as error:
        code = getattr(error, "code", None)
        require(code not in NO_OWN_ERROR, f"not an error of its own: {type(error).__name__} {code} {error}")
        return error
    raise CheckFailed(f"not refused: {str(value)[:200]}")


async def refused_for(aid: str, action: Awaitable[Any]) -> None:
    """Waits for an error that names an AID. Clients hide the code of some errors of the server."""
    try:
        value = await action
    except Exception as error:
        require(aid in str(error) and "Method not found" not in str(error), f"it does not name {aid}: {error}")
    else:
        raise CheckFailed(f"not refused: {str(value)[:200]}")


async def is_refused(client: Client, method: str, params: dict[str, Any]) -> Exception:
    """Requires that the server refuses a call, and that the connection stays open."""
    error = await refused_by_server(client.raw_call(method, params))
    await client.call("meta.ping")
    require(client.state == client.READY, f"state {client.state}")
    return error
