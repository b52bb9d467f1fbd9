"""Checks of messages between two connected clients."""

from typing import Any

from clients import Client, text_of
from report import CheckFailed, Report, require

SEALED = "sealed €ü 你好"
PLAIN = "plain"
OFFLINE = "sent while the peer was offline"


class MessageChecks:
    def __init__(self, report: Report, sender: Client, receiver: Client) -> None:
        self._report = report
        self._sender = sender
        self._receiver = receiver
        self._sent: dict[str, dict[str, Any]] = {}

    async def run(self) -> None:
        check = self._report.check
        await check("message-send-sealed", lambda: self._send(SEALED))
        await check("message-send-plain", lambda: self._send(PLAIN, encrypt=False))
        await check("message-push-sealed", lambda: self._receive(SEALED))
        await check("message-push-plain", lambda: self._receive(PLAIN))
        await check("message-send-while-offline", self._send_while_offline)
        await check("message-pull", self._pull)
        await check("message-of-the-offline-time", lambda: self._receive(OFFLINE))
        await check("message-ack", self._ack)
        await check("message-query-online", self._query_online)
        await check("message-recall", self._recall)

    async def _send(self, text: str, **options: Any) -> None:
        params = {"to": self._receiver.aid, "payload": {"type": "text", "text": text}}
        self._sent[text] = await self._sender.call("message.send", params | options)
        require(bool(self._sent[text]["message_id"]), "no message_id")

    async def _receive(self, text: str) -> dict[str, Any]:
        self._require_sent(text)
        message = await self._receiver.inbox.wait_for_text(text)
        require(message["from"] == self._sender.aid, f"another sender: {message['from']}")
        return message

    async def _send_while_offline(self) -> None:
        await self._receiver.disconnect()
        try:
            await self._send(OFFLINE)
        finally:
            await self._receiver.connect()

    async def _pull(self) -> None:
        self._require_sent(OFFLINE)
        pulled = await self._receiver.call("message.pull", self._receiver.pull_params())
        for message in pulled["messages"]:
            # A client that pulled by itself has given it out before.
            if text_of(message) == OFFLINE:
                self._receiver.inbox.add(message)

    async def _ack(self) -> None:
        message = await self._receive(OFFLINE)
        answer = await self._receiver.call("message.ack", self._receiver.ack_params(message))
        require(answer["success"] is True, f"no success: {answer}")

    async def _query_online(self) -> None:
        unknown = f"nobody-{self._sender.aid}"
        aids = [self._sender.aid, self._receiver.aid, unknown]
        online = (await self._sender.call("message.query_online", {"aids": aids}))["online"]
        expected = {self._sender.aid: True, self._receiver.aid: True, unknown: False}
        require(online == expected, f"another answer: {online}")

    async def _recall(self) -> None:
        self._require_sent(PLAIN)
        ids = [self._sent[PLAIN]["message_id"]]
        answer = await self._sender.call("message.recall", {"message_ids": ids})
        require((answer["success"], answer["recalled"]) == (True, 1), f"not recalled: {answer}")

    def _require_sent(self, text: str) -> None:
        if text not in self._sent:
            raise CheckFailed("the message was not sent")
