"""Checks while a replica is killed. The caller kills the first one after the line `connected`."""

import asyncio

from exchange import PLAIN, Batch, deliver, fresh, new_id, send
from participants import Participants
from report import Report, require

# Time for the server to die and for the client to notice it; the client waits up to 2 s between attempts.
RECONNECT_TIMEOUT_SECONDS = 120


class KillChecks:
    """Bobby is connected to the replica that is killed, alice to the other one."""

    def __init__(self, report: Report, people: Participants) -> None:
        self._report = report
        self._people = people
        self._alice = people.new_client(people.new_aid("alice"))
        self._bobby = people.new_client(people.new_aid("bobby"))
        self._while_away = Batch(self._alice, self._bobby)
        self._message_id, self._text = new_id(), fresh("sent before and after the kill")

    async def run(self) -> None:
        check = self._report.check
        await check("connection", self._connect)
        await check("connection-to-the-other-replica", self._connect_to_the_other)
        await check("message-before-a-kill-sealed", lambda: self._both_directions())
        await check("message-before-a-kill-plain", lambda: self._both_directions(**PLAIN))
        await check("message-sent-before-a-kill", self._send_with_id)
        reconnection = check("reconnection-after-a-kill", self._reconnect, RECONNECT_TIMEOUT_SECONDS)
        sending = check("message-send-during-a-kill", self._send_while_away, RECONNECT_TIMEOUT_SECONDS)
        await asyncio.gather(reconnection, sending)
        await check("message-of-the-time-of-a-kill", self._receive_after_it)
        await check("message-after-a-kill-sealed", lambda: self._both_directions())
        await check("message-after-a-kill-plain", lambda: self._both_directions(**PLAIN))
        await check("message-sent-again-after-a-kill-arrives-once", self._send_again)
        await check("message-query-online-after-a-kill", self._query_online)
        await check("token-refresh-on-the-other-replica", self._bobby.refresh)

    async def _connect(self) -> None:
        await self._bobby.register()
        await self._bobby.log_in()
        await self._bobby.connect()
        require(self._bobby.replica == self._people.replicas[0], f"it is on {self._bobby.replica}")
        await self._bobby.call("meta.ping")

    async def _connect_to_the_other(self) -> None:
        await self._alice.register()
        await self._alice.log_in()
        with self._people.only_replica(self._people.replicas[-1]):
            await self._alice.connect()
        await self._alice.call("meta.ping")

    async def _both_directions(self, **options: bool) -> None:
        await deliver(self._alice, self._bobby, fresh("message"), **options)
        await deliver(self._bobby, self._alice, fresh("reply"), **options)

    async def _send_with_id(self) -> None:
        await send(self._bobby, self._alice, self._text, message_id=self._message_id, **PLAIN)

    async def _reconnect(self) -> None:
        print(f"connected {self._bobby.aid}", flush=True)
        await self._bobby.wait_for_state(other_than=self._bobby.READY)
        print(f"disconnected {self._bobby.aid}", flush=True)
        await self._bobby.wait_for_state(self._bobby.READY)
        await self._bobby.call("meta.ping")
        print(f"reconnected {self._bobby.aid}", flush=True)

    async def _send_while_away(self) -> None:
        await self._bobby.wait_for_state(other_than=self._bobby.READY)
        for number in range(4):
            await self._while_away.send(f"during the kill {number}", encrypt=number % 2 == 0)

    async def _receive_after_it(self) -> None:
        require(bool(self._while_away.message_ids), "nothing was sent")
        await self._bobby.catch_up()
        await self._while_away.require_received()

    async def _send_again(self) -> None:
        await send(self._bobby, self._alice, self._text, message_id=self._message_id, **PLAIN)
        await deliver(self._bobby, self._alice, fresh("marker"), **PLAIN)
        received = self._alice.inbox.texts([self._text])
        require(received == [self._text], f"received {len(received)} times")

    async def _query_online(self) -> None:
        aids = [self._alice.aid, self._bobby.aid]
        online = (await self._alice.call("message.query_online", {"aids": aids}))["online"]
        require(online == dict.fromkeys(aids, True), f"another answer: {online}")
