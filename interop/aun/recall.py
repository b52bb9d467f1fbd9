"""Checks of recalled messages and of presence."""

import asyncio
import json
from typing import Any

from client import Client
from exchange import PLAIN, MessageChecks, deliver, fresh, is_refused, new_id, receive, send
from report import require

# Limit of ids and of AIDs in a call.
TOO_MANY = 101


class RecallChecks(MessageChecks):
    async def run(self) -> None:
        await self._check("message-recall-removes-a-sealed-message", lambda: self._removes())
        await self._check("message-recall-removes-a-plain-message", lambda: self._removes(**PLAIN))
        await self._check("message-recall-is-told-to-the-recipient", self._told_to_the_recipient)
        await self._check("message-recall-of-the-offline-time", self._offline_time)
        await self._check("message-recall-twice", self._twice)
        await self._check("message-recall-of-another-sender", self._of_another_sender)
        await self._check("message-recall-of-an-unknown-message", self._unknown)
        await self._check("message-recall-of-too-many-is-refused", self._too_many)
        await self._check("message-query-online-after-a-disconnect", self._online_after_a_disconnect)
        await self._check("message-query-online-of-a-foreign-aid", self._online_of_a_foreign_aid)
        await self._check("message-query-online-of-too-many-is-refused", self._online_of_too_many)

    async def _removes(self, **options: Any) -> None:
        text = fresh("recalled")
        answer = await send(self._alice, self._bobby, text, **options)
        await receive(self._alice, self._bobby, text)
        await self._recall(self._alice, answer["message_id"])
        rows = await self._bobby.rows(self._alice.aid, answer["seq"] - 1)
        found = [row for row in rows if row["seq"] == answer["seq"]]
        require(len(found) == 1, f"{len(found)} rows with its seq")
        row = found[0]
        require(row["type"] == "message.recalled", f"another type: {row['type']}")
        payload = row.get("payload") or {}
        ids = payload.get("message_ids") or row.get("message_ids")
        require(ids == [answer["message_id"]], f"other message_ids: {ids}")
        require(text not in json.dumps(row) and not row.get("envelope_json"), "the text is still there")

    async def _told_to_the_recipient(self) -> None:
        text = fresh("recalled")
        answer = await send(self._alice, self._bobby, text, **PLAIN)
        await receive(self._alice, self._bobby, text)
        await self._recall(self._alice, answer["message_id"])
        ids = [answer["message_id"]]
        event = await self._bobby.recalls.wait_for(lambda event: event.get("message_ids") == ids)
        require((event["from"], event["to"]) == (self._alice.aid, self._bobby.aid), f"of others: {event}")
        require(isinstance(event["timestamp"], int), f"no timestamp: {event}")

    async def _offline_time(self) -> None:
        text = fresh("recalled while offline")
        async with self._offline(self._bobby):
            answer = await send(self._alice, self._bobby, text, **PLAIN)
            await self._recall(self._alice, answer["message_id"])
        await deliver(self._alice, self._bobby, fresh("marker"), **PLAIN)
        require(self._bobby.inbox.texts([text]) == [], "it was received")

    async def _twice(self) -> None:
        answer = await send(self._alice, self._bobby, fresh("recalled twice"), **PLAIN)
        await self._recall(self._alice, answer["message_id"])
        await self._recall(self._alice, answer["message_id"], error="already_recalled")

    async def _of_another_sender(self) -> None:
        text = fresh("not recalled")
        answer = await send(self._alice, self._bobby, text, **PLAIN)
        await self._recall(self._bobby, answer["message_id"], error="not_sender")
        rows = await self._bobby.rows(self._alice.aid, answer["seq"] - 1)
        require(text in json.dumps(rows), "the text is gone")

    async def _unknown(self) -> None:
        await self._recall(self._alice, new_id(), error="not_found")

    async def _too_many(self) -> None:
        await is_refused(self._alice, "message.recall", {"message_ids": [new_id() for _ in range(TOO_MANY)]})

    async def _online_after_a_disconnect(self) -> None:
        carol = await self._people.connected("carol")
        require(await self._is_online(carol), "it is connected, and not online")
        await carol.disconnect()
        while await self._is_online(carol):
            await asyncio.sleep(0.05)
        await carol.connect()
        require(await self._is_online(carol), "it has connected again, and is not online")

    async def _online_of_a_foreign_aid(self) -> None:
        online = await self._query_online(["alice.another.test", self._bobby.aid])
        require(online == {"alice.another.test": False, self._bobby.aid: True}, f"another answer: {online}")

    async def _online_of_too_many(self) -> None:
        aids = [self._people.new_aid("nobody") for _ in range(TOO_MANY)]
        await is_refused(self._alice, "message.query_online", {"aids": aids})

    async def _is_online(self, client: Client) -> bool:
        return (await self._query_online([client.aid]))[client.aid]

    async def _query_online(self, aids: list[str]) -> dict[str, bool]:
        return (await self._alice.call("message.query_online", {"aids": aids}))["online"]

    async def _recall(self, client: Client, message_id: str, error: str | None = None) -> None:
        answer = await client.call("message.recall", {"message_ids": [message_id]})
        require(answer["accepted"] == 1, f"not accepted: {answer}")
        require(answer["recalled"] == (0 if error else 1), f"another number: {answer}")
        errors = [(entry["message_id"], entry["error"]) for entry in answer["errors"] or []]
        require(errors == ([(message_id, error)] if error else []), f"other errors: {answer}")
