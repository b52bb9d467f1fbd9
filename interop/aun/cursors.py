"""Checks of pulls and acknowledgements."""

import uuid
from typing import Any

from exchange import PLAIN, Batch, MessageChecks, deliver, fresh, is_refused, send
from inbox import Event
from report import require

# Rows of a page that is smaller than what there is.
PAGE = 2
TOO_MANY = 201


class CursorChecks(MessageChecks):
    async def run(self) -> None:
        await self._check("message-pull-by-pages", self._pages)
        await self._check("message-pull-twice-gives-the-same", self._pull_twice)
        await self._check("message-seq-has-no-gap", self._no_gap)
        await self._check("message-pull-has-a-limit", self._limit)
        await self._check("message-ack-moves-the-cursor", self._ack)
        await self._check("message-ack-never-goes-back", self._never_back)
        await self._check("message-ack-of-the-future-does-not-skip-messages", self._ack_of_the_future)
        await self._check("message-ack-is-told-to-the-sender", self._told_to_the_sender)
        await self._check("message-acked-is-not-delivered-again", self._not_delivered_again)
        await self._check("message-pull-of-another-device-is-refused", lambda: self._other_pull("device_id"))
        await self._check("message-pull-of-another-slot-is-refused", lambda: self._other_pull("slot_id"))
        await self._check("message-ack-of-another-device-is-refused", lambda: self._other_ack("device_id"))
        await self._check("message-ack-of-another-slot-is-refused", lambda: self._other_ack("slot_id"))

    async def _pages(self) -> None:
        batch = await self._batch()
        sent = batch.message_ids
        after_seq, found = batch.first_seq - 1, []
        while True:
            page = await self._bobby.page(self._alice.aid, after_seq, PAGE)
            seqs = [row["seq"] for row in page["messages"]]
            require(len(seqs) <= PAGE, f"more than {PAGE} rows: {seqs}")
            require(all(seq > after_seq for seq in seqs), f"rows up to {after_seq} again: {seqs}")
            require(seqs == sorted(set(seqs)), f"not ascending: {seqs}")
            found += [row["message_id"] for row in page["messages"] if row["message_id"] in sent]
            if not page["has_more"]:
                break
            require(bool(seqs), "an empty page, and there is more")
            after_seq = seqs[-1]
        require(found == sent, f"other messages: {found}")

    async def _pull_twice(self) -> None:
        batch = await self._batch()
        first, second = [await self._bobby.rows(self._alice.aid, batch.first_seq - 1) for _ in range(2)]
        require(first == second, "other rows")

    async def _no_gap(self) -> None:
        # A client of version 1 waits for each number.
        batch = await self._batch()
        after_seq = max(0, batch.first_seq - 50)
        rows = (await self._bobby.page_of_all(after_seq))["messages"]
        seqs = [row["seq"] for row in rows]
        expected = list(range(after_seq + 1, after_seq + 1 + len(seqs)))
        require(seqs == expected, f"seqs {seqs} after {after_seq}")
        require(seqs[-1] >= batch.first_seq, f"the newest rows are missing: {seqs}")

    async def _limit(self) -> None:
        # Refused, or fewer rows.
        method, params = self._bobby.pull_request(self._alice.aid, 0, TOO_MANY)
        try:
            page = await self._bobby.raw_call(method, params)
        except Exception:
            await is_refused(self._bobby, method, params)
        else:
            require(len(page["messages"]) < TOO_MANY, f"{len(page['messages'])} rows")

    async def _ack(self) -> None:
        message = await self._message()
        answer = await self._bobby.raw_ack(self._alice.aid, message["seq"])
        require(answer["success"] is True, f"no success: {answer}")
        require(answer["ack_seq"] == message["seq"], f"another ack_seq: {answer}")
        await self._require_acked(message["seq"])

    async def _never_back(self) -> None:
        message = await self._message()
        await self._bobby.raw_ack(self._alice.aid, message["seq"])
        answer = await self._bobby.raw_ack(self._alice.aid, message["seq"] - 1)
        require(answer["ack_seq"] == message["seq"], f"it went back: {answer}")
        await self._require_acked(message["seq"])

    async def _ack_of_the_future(self) -> None:
        message = await self._message()
        method, params = self._bobby.ack_request(self._alice.aid, message["seq"] + 1000)
        try:
            answer = await self._bobby.raw_call(method, params)
        except Exception:
            await is_refused(self._bobby, method, params)
        else:
            require(answer["ack_seq"] <= message["seq"], f"beyond the newest message: {answer}")
        batch = Batch(self._alice, self._bobby)
        async with self._offline(self._bobby):
            await batch.send("after an ack of the future", **PLAIN)
        await batch.require_received()

    async def _told_to_the_sender(self) -> None:
        message = await self._message()
        await self._bobby.ack(message)

        def is_told(event: Event) -> bool:
            return event.get("to") == self._bobby.aid and event.get("ack_seq", 0) >= message["seq"]

        notice = await self._alice.acks.wait_for(is_told)
        instance = {name: notice[name] for name in ("device_id", "slot_id")}
        require(instance == self._bobby.instance, f"of another device: {notice}")
        require(isinstance(notice["timestamp"], int), f"no timestamp: {notice}")

    async def _not_delivered_again(self) -> None:
        texts = [fresh(f"acknowledged {number}") for number in range(3)]
        for text in texts:
            await self._bobby.ack(await deliver(self._alice, self._bobby, text, **PLAIN))
        async with self._offline(self._bobby):
            pass
        await deliver(self._alice, self._bobby, fresh("marker"), **PLAIN)
        received = self._bobby.inbox.texts(texts)
        require(received == texts, f"again: {received}")

    async def _other_pull(self, name: str) -> None:
        method, params = self._bobby.pull_request(self._alice.aid, 0, PAGE)
        await is_refused(self._bobby, method, params | {name: str(uuid.uuid4())})

    async def _other_ack(self, name: str) -> None:
        message = await self._message()
        method, params = self._bobby.ack_request(self._alice.aid, message["seq"])
        await is_refused(self._bobby, method, params | {name: str(uuid.uuid4())})

    async def _message(self) -> Event:
        return await deliver(self._alice, self._bobby, fresh("message"), **PLAIN)

    async def _batch(self) -> Batch:
        """Sends what needs more than one page, with messages of another sender among it."""
        carol = await self._people.connected("carol")
        batch = Batch(self._alice, self._bobby)
        for number in range(2 * PAGE + 1):
            await batch.send(f"page {number}", **PLAIN)
            await send(carol, self._bobby, fresh("of another sender"), **PLAIN)
        return batch

    async def _require_acked(self, seq: int) -> None:
        page: dict[str, Any] = await self._bobby.page(self._alice.aid, seq)
        require(page["server_ack_seq"] == seq, f"another server_ack_seq: {page['server_ack_seq']}")
