"""The least that two clients need: send, push, pull, ack, query and recall."""

from typing import Any

from exchange import PLAIN, MessageChecks, receive, send
from report import CheckFailed, require

SEALED_TEXT = "sealed €ü 你好"
PLAIN_TEXT = "plain"
OFFLINE_TEXT = "sent while the peer was offline"


class BasicChecks(MessageChecks):
    async def run(self) -> None:
        self._sent: dict[str, dict[str, Any]] = {}
        await self._check("message-send-sealed", lambda: self._send(SEALED_TEXT))
        await self._check("message-send-plain", lambda: self._send(PLAIN_TEXT, **PLAIN))
        await self._check("message-push-sealed", lambda: self._receive(SEALED_TEXT))
        await self._check("message-push-plain", lambda: self._receive(PLAIN_TEXT))
        await self._check("message-send-while-offline", self._send_while_offline)
        await self._check("message-pull", self._pull)
        await self._check("message-of-the-offline-time", lambda: self._receive(OFFLINE_TEXT))
        await self._check("message-ack", self._ack)
        await self._check("message-query-online", self._query_online)
        await self._check("message-recall", self._recall)

    async def _send(self, text: str, **options: Any) -> None:
        self._sent[text] = await send(self._alice, self._bobby, text, **options)

    async def _receive(self, text: str) -> dict[str, Any]:
        self._require_sent(text)
        return await receive(self._alice, self._bobby, text)

    async def _send_while_offline(self) -> None:
        await self._bobby.disconnect()
        try:
            await self._send(OFFLINE_TEXT)
        finally:
            await self._bobby.connect()

    async def _pull(self) -> None:
        self._require_sent(OFFLINE_TEXT)
        await self._bobby.catch_up()

    async def _ack(self) -> None:
        answer = await self._bobby.ack(await self._receive(OFFLINE_TEXT))
        require(answer["success"] is True, f"no success: {answer}")

    async def _query_online(self) -> None:
        unknown = f"nobody-{self._alice.aid}"
        aids = [self._alice.aid, self._bobby.aid, unknown]
        online = (await self._alice.call("message.query_online", {"aids": aids}))["online"]
        expected = {self._alice.aid: True, self._bobby.aid: True, unknown: False}
        require(online == expected, f"another answer: {online}")

    async def _recall(self) -> None:
        self._require_sent(PLAIN_TEXT)
        ids = [self._sent[PLAIN_TEXT]["message_id"]]
        answer = await self._alice.call("message.recall", {"message_ids": ids})
        require((answer["success"], answer["recalled"]) == (True, 1), f"not recalled: {answer}")

    def _require_sent(self, text: str) -> None:
        if text not in self._sent:
            raise CheckFailed("the message was not sent")
