"""Checks between clients of different replicas."""

from client import Client
from exchange import PLAIN, MessageChecks, deliver, fresh, send
from report import require


class ReplicaChecks(MessageChecks):
    async def run(self) -> None:
        checks = {
            "message-between-replicas-sealed": lambda: self._deliver(),
            "message-between-replicas-plain": lambda: self._deliver(**PLAIN),
            "message-query-online-between-replicas": self._query_online,
            "message-recall-between-replicas": self._recall,
        }
        for name, check in checks.items():
            if len(self._people.replicas) > 1:
                await self._check(name, check)
            else:
                self._report.skip(name, "there is one replica")

    async def _deliver(self, **options: bool) -> None:
        await self._separate()
        await deliver(self._alice, self._bobby, fresh("to the other replica"), **options)
        await deliver(self._bobby, self._alice, fresh("and back"), **options)

    async def _query_online(self) -> None:
        await self._separate()
        for client, other in ((self._alice, self._bobby), (self._bobby, self._alice)):
            online = (await client.call("message.query_online", {"aids": [other.aid]}))["online"]
            require(online == {other.aid: True}, f"another answer: {online}")

    async def _recall(self) -> None:
        await self._separate()
        answer = await send(self._alice, self._bobby, fresh("recalled"), **PLAIN)
        await self._alice.call("message.recall", {"message_ids": [answer["message_id"]]})
        await self._bobby.recalls.wait_for(lambda event: event.get("message_ids") == [answer["message_id"]])

    async def _separate(self) -> None:
        first, second = self._people.replicas
        await self._move(self._alice, first)
        await self._move(self._bobby, second)

    async def _move(self, client: Client, replica: int) -> None:
        if client.replica == replica:
            return
        await client.disconnect()
        with self._people.only_replica(replica):
            await client.connect()
        require(client.replica == replica, f"it is on {client.replica}")
