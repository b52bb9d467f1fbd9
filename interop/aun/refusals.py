"""Checks of messages that the server refuses."""

import json
from typing import Any

from exchange import PLAIN, MessageChecks, deliver, fresh, is_refused, new_id, refused_by_server, refused_for
from report import require

# A client refuses to send 1,000,000 bytes.
TOO_LARGE_CHARACTERS = 980_000


class RefusalChecks(MessageChecks):
    async def run(self) -> None:
        unknown = self._people.new_aid("nobody")
        await self._check("message-to-an-unknown-aid-is-refused-plain", lambda: self._to(unknown, **PLAIN))
        await self._check("message-to-an-unknown-aid-is-refused-sealed", lambda: self._sealed_to(unknown))
        await self._check("message-to-a-foreign-aid-is-refused-plain", lambda: self._to("bobby.another.test", **PLAIN))
        await self._check("message-too-large-is-refused", self._too_large)
        await self._check("message-without-a-recipient-is-refused", lambda: self._without("to"))
        await self._check("message-without-a-payload-is-refused", lambda: self._without("payload"))
        await self._check("message-with-a-text-as-payload-is-refused", lambda: self._with(payload="text"))
        await self._check("message-with-a-number-as-recipient-is-refused", lambda: self._with(to=1))
        await self._check("message-with-a-number-as-id-is-refused", lambda: self._with(message_id=1))
        await self._check("message-with-an-endless-id-is-refused", lambda: self._with(message_id="m" * 10_000))
        await self._check("message-is-from-who-sent-it", self._from_who_sent_it)
        if self._alice.SIGNS_MESSAGES:
            await self._check("message-with-a-wrong-client-signature-is-refused", self._wrong_client_signature)
        else:
            self._report.skip("message-with-a-wrong-client-signature-is-refused", "it does not sign messages")

    async def _to(self, aid: str, **options: Any) -> None:
        error = await refused_by_server(self._alice.send_text(aid, fresh("refused"), **options))
        require(not getattr(error, "retryable", False), f"the client sends it again: {error}")
        await self._still_works()

    async def _sealed_to(self, aid: str) -> None:
        await refused_for(aid, self._alice.send_text(aid, fresh("refused")))
        await self._still_works()

    async def _too_large(self) -> None:
        await self._to(self._bobby.aid, payload={"type": "text", "text": "x" * TOO_LARGE_CHARACTERS}, **PLAIN)

    async def _without(self, name: str) -> None:
        params = {key: value for key, value in self._message().items() if key != name}
        await is_refused(self._alice, "message.send", params)

    async def _with(self, **change: Any) -> None:
        await is_refused(self._alice, "message.send", self._message() | change)

    async def _from_who_sent_it(self) -> None:
        carol = await self._people.connected("carol")
        claims = {name: carol.aid for name in ("from", "from_aid", "sender_aid")}
        params = self._message() | claims | {"seq": 1, "timestamp": 1, "t_server": 1}
        answer = await self._alice.raw_call("message.send", params)
        text = params["payload"]["text"]
        message = await self._bobby.inbox.wait_for_text(text)
        require(message["from"] == self._alice.aid, f"from {message['from']}")
        rows = await self._bobby.rows(self._alice.aid, answer["seq"] - 1)
        row = next(row for row in rows if text in json.dumps(row))
        require((row["from"], row["from_aid"]) == (self._alice.aid, self._alice.aid), f"another sender: {row}")
        require(row["seq"] > 1 and row["timestamp"] > 1, f"seq and time of the sender: {row}")

    async def _wrong_client_signature(self) -> None:
        await refused_by_server(self._alice.call_with_signature_of(self._message(), "message.send", self._message()))
        await self._still_works()

    async def _still_works(self) -> None:
        await deliver(self._alice, self._bobby, fresh("after a refusal"))

    def _message(self) -> dict[str, Any]:
        payload = {"type": "text", "text": fresh("raw")}
        return {"to": self._bobby.aid, "payload": payload, "message_id": new_id()}
