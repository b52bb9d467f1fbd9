"""Checks of what arrives, how often and in which order."""

import time
from typing import Any

from client import Client
from exchange import PLAIN, Batch, MessageChecks, deliver, fresh, new_id, receive, send
from report import require

# Many small messages, and a large one: base64 of a sealed one, twice in a row of a pull, is below the 1 MiB of a frame.
MANY = 100
LARGE_CHARACTERS = 100_000

# A client refuses a pushed message of another time.
CLOCK_DIFFERENCE_MS = 300_000

STATUSES = {"sent", "delivered", "accepted", "duplicate"}


class DeliveryChecks(MessageChecks):
    async def run(self) -> None:
        await self._check("message-in-the-other-direction-sealed", lambda: self._in_the_other_direction())
        await self._check("message-in-the-other-direction-plain", lambda: self._in_the_other_direction(**PLAIN))
        await self._check("message-has-the-fields-of-the-protocol", self._fields)
        await self._check("message-large-sealed", lambda: self._large())
        await self._check("message-large-plain", lambda: self._large(**PLAIN))
        await self._check("message-hundred-in-order", self._hundred_in_order)
        await self._check("message-several-of-the-offline-time", self._several_of_the_offline_time)
        await self._check("message-of-two-senders", self._two_senders)
        await self._check("message-of-two-senders-of-the-offline-time", self._two_senders_of_the_offline_time)
        await self._check("message-with-a-used-id-arrives-once", self._used_id)
        await self._check("message-with-the-id-of-another-sender-arrives", self._id_of_another_sender)
        await self._check("message-to-an-aid-that-never-connected-plain", self._never_connected_plain)
        await self._check("message-to-an-aid-that-never-connected-sealed", self._never_connected_sealed)

    async def _in_the_other_direction(self, **options: Any) -> None:
        await deliver(self._bobby, self._alice, fresh("reply"), **options)

    async def _fields(self) -> None:
        message_id, before = new_id(), now_ms()
        text = fresh("fields")
        answer = await send(self._alice, self._bobby, text, message_id=message_id, **PLAIN)
        message = await receive(self._alice, self._bobby, text)
        require(answer["message_id"] == message_id, f"another message_id: {answer}")
        require(answer["status"] in STATUSES, f"another status: {answer}")
        require("delivery_mode" in answer, f"no delivery_mode: {answer}")
        require(isinstance(answer["seq"], int) and answer["seq"] > 0, f"no seq: {answer}")
        for name in ("message_id", "seq", "timestamp"):
            require(message[name] == answer[name], f"another {name}: {message[name]}, sent {answer[name]}")
        require(message["to"] == self._bobby.aid, f"another recipient: {message['to']}")
        require(abs(message["timestamp"] - before) < CLOCK_DIFFERENCE_MS, f"not milliseconds: {message['timestamp']}")

    async def _large(self, **options: Any) -> None:
        await deliver(self._alice, self._bobby, fresh("x" * LARGE_CHARACTERS), **options)

    async def _hundred_in_order(self) -> None:
        batch = Batch(self._alice, self._bobby)
        for number in range(MANY):
            await batch.send(f"number {number}", **PLAIN)
        await batch.require_received()

    async def _several_of_the_offline_time(self) -> None:
        batch = Batch(self._alice, self._bobby)
        async with self._offline(self._bobby):
            await send_alternately([batch])
        await batch.require_received()

    async def _two_senders(self) -> None:
        carol = await self._people.connected("carol")
        # fastaun 0.2 can lose messages that arrive while it gets the certificate of their sender.
        await deliver(carol, self._bobby, fresh("first of carol"))
        batches = [Batch(sender, self._bobby) for sender in (self._alice, carol)]
        await send_alternately(batches)
        for batch in batches:
            await batch.require_received()

    async def _two_senders_of_the_offline_time(self) -> None:
        carol = await self._people.connected("carol")
        batches = [Batch(sender, self._bobby) for sender in (self._alice, carol)]
        async with self._offline(self._bobby):
            await send_alternately(batches)
        for batch in batches:
            await batch.require_received()

    async def _used_id(self) -> None:
        message_id, text = new_id(), fresh("used id")
        first = await send(self._alice, self._bobby, text, message_id=message_id, **PLAIN)
        second = await send(self._alice, self._bobby, text, message_id=message_id, **PLAIN)
        for name in ("message_id", "seq", "timestamp"):
            require(second[name] == first[name], f"another {name}: {second[name]} after {first[name]}")
        await receive(self._alice, self._bobby, text)
        await deliver(self._alice, self._bobby, fresh("marker"), **PLAIN)
        require(self._bobby.inbox.texts([text]) == [text], "it was received twice")

    async def _id_of_another_sender(self) -> None:
        carol = await self._people.connected("carol")
        message_id, texts = new_id(), [fresh("id of alice"), fresh("id of carol")]
        await deliver(self._alice, self._bobby, texts[0], message_id=message_id, **PLAIN)
        await deliver(carol, self._bobby, texts[1], message_id=message_id, **PLAIN)

    async def _never_connected_plain(self) -> None:
        await self._to_an_aid_that_never_connected("doris", **PLAIN)

    async def _never_connected_sealed(self) -> None:
        if self._alice.SEALS_WITHOUT_PREKEY:
            await self._to_an_aid_that_never_connected("edgar")
            return
        # This client refuses by itself, after the server has answered that there is no prekey.
        edgar = await self._people.registered("edgar")
        try:
            await send(self._alice, edgar, fresh("sealed"))
        except RuntimeError as error:
            require("no registered device prekeys" in str(error), f"another error: {error}")

    async def _to_an_aid_that_never_connected(self, name: str, **options: Any) -> None:
        receiver = await self._people.registered(name)
        texts = [fresh("before the first connection"), fresh("after the first connection")]
        await send(self._alice, receiver, texts[0], **options)
        await self._people.connected(name)
        await receiver.catch_up()
        await receive(self._alice, receiver, texts[0])
        await deliver(self._alice, receiver, texts[1], **options)


async def send_alternately(batches: list[Batch]) -> None:
    """Sends sealed and plain messages of each."""
    for number in range(6):
        for batch in batches:
            await batch.send(f"alternately {number}", encrypt=number % 2 == 0)


def now_ms() -> int:
    return int(time.time() * 1000)
