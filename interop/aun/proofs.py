"""Checks of rows, pages and cursors as the server sends them."""

from collections.abc import Awaitable, Callable
from typing import Any

from client import Client
from exchange import PLAIN, Batch, MessageChecks, deliver, fresh, send
from peer_proofs import check_peer_ack, check_peer_page, check_peers
from report import require
from rows import check_page, check_row


class ProofChecks(MessageChecks):
    async def run(self) -> None:
        await self._check("message-rows-have-the-fields-of-all-clients", self._rows)
        await self._check("message-page-of-all-senders", self._page_of_all)
        peer_checks: dict[str, Callable[[], Awaitable[Any]]] = {
            "peer-catalog-of-pending-senders": self._pending,
            "peer-catalog-of-all-senders": self._all_senders,
            "peer-catalog-without-acknowledged-senders": self._without_acknowledged,
            "peer-catalog-keeps-its-floor": self._floor,
            "peer-pages-prove-what-they-cover": self._pages,
            "peer-pages-of-an-unknown-sender": self._unknown_sender,
            "peer-pages-acknowledge": self._pages_acknowledge,
            "peer-ack-confirms": self._ack,
            "peer-ack-of-one-sender-leaves-the-others": self._other_senders,
        }
        for name, check in peer_checks.items():
            if self._alice.HAS_PEER_CURSORS:
                await self._check(name, check)
            else:
                self._report.skip(name, "it has one cursor")

    async def _rows(self) -> None:
        batch = await self._batch()
        for row in await self._bobby.rows(self._alice.aid, batch.first_seq - 1):
            check_row(row, self._bobby.aid)

    async def _page_of_all(self) -> None:
        batch = await self._batch()
        after_seq = batch.first_seq - 1
        page = await self._bobby.page_of_all(after_seq, 3)
        check_page(page, after_seq, 3)
        for row in page["messages"]:
            check_row(row, self._bobby.aid)
        require(page["latest_seq"] == page["messages"][-1]["seq"], f"latest_seq {page['latest_seq']}")
        require(page["has_more"] is True, "there is more")
        require(page["count"] == len(page["messages"]), f"count {page['count']}")

    async def _pending(self) -> None:
        carol = await self._people.connected("carol")
        receiver = await self._people.registered("grace")
        for sender in (self._alice, carol):
            await send(sender, receiver, fresh("pending"), **PLAIN)
        await self._people.connected("grace")
        await receiver.inbox.wait_for(lambda message: message["from"] == carol.aid)
        await receiver.inbox.wait_for(lambda message: message["from"] == self._alice.aid)
        check_peers(await self._peers(receiver, "pending"), "pending")

    async def _all_senders(self) -> None:
        await deliver(self._alice, self._bobby, fresh("message"), **PLAIN)
        answer = await self._peers(self._bobby, "all")
        check_peers(answer, "all")
        require(self._alice.aid in {entry["sender_aid"] for entry in answer["peers"]}, "a sender is missing")

    async def _without_acknowledged(self) -> None:
        message = await deliver(self._alice, self._bobby, fresh("message"), **PLAIN)
        await self._bobby.raw_ack(self._alice.aid, message["seq"])
        pending = await self._peers(self._bobby, "pending")
        require(self._alice.aid not in {entry["sender_aid"] for entry in pending["peers"]}, "it is pending")
        entries = (await self._peers(self._bobby, "all"))["peers"]
        entry = next(entry for entry in entries if entry["sender_aid"] == self._alice.aid)
        require(entry["server_ack_seq"] == entry["head_seq"] == message["seq"], f"another cursor: {entry}")

    async def _floor(self) -> None:
        floors = [(await self._peers(self._bobby, "all"))["bootstrap_floor_seq"]]
        async with self._offline(self._bobby):
            await send(self._alice, self._bobby, fresh("message"))
        for kind in ("all", "pending"):
            floors.append((await self._peers(self._bobby, kind))["bootstrap_floor_seq"])
        require(len(set(floors)) == 1, f"it changes: {floors}")

    async def _pages(self) -> None:
        batch = await self._batch()
        for limit in (1, 2, 200):
            for force in (True, False):
                after_seq, found = batch.first_seq - 1, []
                while True:
                    page = await self._page(self._alice.aid, after_seq, limit, force)
                    found += [row["message_id"] for row in page["messages"]]
                    if not page["has_more"]:
                        break
                    require(page["next_after_seq"] > after_seq, f"no progress after {after_seq}")
                    after_seq = page["next_after_seq"]
                # Acknowledged messages are left out without force.
                require(not force or set(batch.message_ids) <= set(found), f"missing with limit {limit}: {found}")

    async def _unknown_sender(self) -> None:
        page = await self._page(self._people.new_aid("nobody"), 0, 200, False)
        require(page["messages"] == [] and page["has_more"] is False, f"rows: {page['messages']}")

    async def _pages_acknowledge(self) -> None:
        message = await deliver(self._alice, self._bobby, fresh("message"), **PLAIN)
        method, params = self._bobby.pull_request(self._alice.aid, message["seq"], 200)
        params = params | {"ack_up_to_seq": message["seq"], "force": False}
        page = await self._bobby.raw_call(method, params)
        check_peer_page(page, params)
        require(page["server_ack_seq"] == message["seq"], f"server_ack_seq {page['server_ack_seq']}")

    async def _ack(self) -> None:
        message = await deliver(self._alice, self._bobby, fresh("message"), **PLAIN)
        for seq in (message["seq"], message["seq"] - 1):
            method, params = self._bobby.ack_request(self._alice.aid, seq)
            check_peer_ack(await self._bobby.raw_call(method, params), params)

    async def _other_senders(self) -> None:
        carol = await self._people.connected("carol")
        of_carol = await deliver(carol, self._bobby, fresh("of carol"), **PLAIN)
        await self._bobby.raw_ack(carol.aid, of_carol["seq"])
        of_alice = await deliver(self._alice, self._bobby, fresh("of alice"), **PLAIN)
        await self._bobby.raw_ack(self._alice.aid, of_alice["seq"])
        page = await self._page(carol.aid, of_carol["seq"], 200, False)
        require(page["server_ack_seq"] == of_carol["seq"], f"server_ack_seq {page['server_ack_seq']}")

    async def _page(self, sender: str, after_seq: int, limit: int, force: bool) -> dict[str, Any]:
        method, params = self._bobby.pull_request(sender, after_seq, limit)
        params = params | {"force": force}
        page = await self._bobby.raw_call(method, params)
        check_peer_page(page, params)
        return page

    async def _peers(self, client: Client, kind: str) -> dict[str, Any]:
        return await client.raw_call("message.peers", {"filter": kind})

    async def _batch(self) -> Batch:
        """Sends what has several pages, with messages of another sender among it."""
        carol = await self._people.connected("carol")
        batch = Batch(self._alice, self._bobby)
        for number in range(5):
            await batch.send(f"row {number}", encrypt=number % 2 == 0)
            await send(carol, self._bobby, fresh("of another sender"), **PLAIN)
        return batch
