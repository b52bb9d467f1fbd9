"""Checks of sealed messages and keys that were changed or are of somebody else: each would block a recipient."""

import base64
import copy
from collections.abc import Callable
from functools import partial
from typing import Any

from client import Client, Sealing
from exchange import MessageChecks, deliver, fresh, is_refused, new_id, receive
from report import require

Envelope = dict[str, Any]


class SealChecks(MessageChecks):
    async def run(self) -> None:
        await self._check("sealed-message-is-stored-without-its-text", self._without_its_text)
        await self._check("sealed-message-as-the-client-makes-it-is-accepted", self._unchanged)
        await self._check("sealed-message-of-another-sender-is-refused", self._of_another_sender)
        await self._check("sealed-message-for-another-recipient-is-refused", self._for_another_recipient)
        await self._check("sealed-message-with-another-id-is-refused", self._with_another_id)
        for what, change in CHANGES[self._alice.SEALING].items():
            await self._check(f"sealed-message-with-{what}-is-refused", partial(self._changed, change))
        for what in NOT_IN[self._alice.SEALING]:
            self._report.skip(f"sealed-message-with-{what}-is-refused", "it is not in its version")
        await self._check("prekey-as-the-client-makes-it-is-accepted", self._prekey)
        await self._check("prekey-of-another-aid-is-refused", self._prekey_of_another_aid)
        await self._check("prekey-with-a-changed-signature-is-refused", self._prekey_with_a_changed_signature)

    async def _without_its_text(self) -> None:
        text = fresh("canary")
        message = await deliver(self._alice, self._bobby, text)
        page = await self._bobby.page(self._alice.aid, message["seq"] - 1)
        require(len(page["messages"]) > 0, "no row")
        require("canary" not in str(page), "the text is in the row")

    async def _unchanged(self) -> None:
        text = fresh("sealed")
        await self._alice.raw_call("message.send", await self._alice.seal(self._bobby.aid, text, new_id()))
        await receive(self._alice, self._bobby, text)

    async def _of_another_sender(self) -> None:
        carol = await self._people.connected("carol")
        await self._refuses(carol, await self._sealed())

    async def _for_another_recipient(self) -> None:
        carol = await self._people.connected("carol")
        await self._refuses(self._alice, await self._sealed() | {"to": carol.aid})

    async def _with_another_id(self) -> None:
        # The same message again: clients remember what they have opened for minutes only.
        await self._refuses(self._alice, await self._sealed() | {"message_id": new_id()})

    async def _changed(self, change: Callable[[Envelope], None]) -> None:
        params = copy.deepcopy(await self._sealed())
        for envelope in envelopes_of(params):
            change(envelope)
        await self._refuses(self._alice, params)

    async def _refuses(self, sender: Client, params: dict[str, Any]) -> None:
        await is_refused(sender, "message.send", params)
        await deliver(sender, self._bobby, fresh("after a refusal"))

    async def _sealed(self) -> dict[str, Any]:
        return await self._alice.seal(self._bobby.aid, fresh("refused"), new_id())

    async def _prekey(self) -> None:
        await self._bobby.raw_call(*await self._bobby.new_prekey())
        await deliver(self._alice, self._bobby, fresh("after a new prekey"))

    async def _prekey_of_another_aid(self) -> None:
        carol = await self._people.connected("carol")
        method, params = await carol.new_prekey()
        if self._alice.SEALING is Sealing.V2:
            await is_refused(self._alice, method, params)
            await is_refused(self._alice, method, params | {"peer_aid": self._alice.aid})
        else:
            await is_refused(self._alice, method, params | {"device_id": self._alice.instance["device_id"]})

    async def _prekey_with_a_changed_signature(self) -> None:
        method, params = await self._alice.new_prekey()
        name = next(name for name in params if name.endswith("signature"))
        await is_refused(self._alice, method, params | {name: change_base64(params[name])})


def envelopes_of(params: dict[str, Any]) -> list[Envelope]:
    payload = params["payload"]
    if payload["type"] == "e2ee.multi_device":
        return [copy["envelope"] for copy in payload["recipient_copies"]]
    return [payload]


def change_base64(text: str) -> str:
    """Changes the last byte."""
    data = bytearray(base64.b64decode(text))
    data[-1] ^= 1
    return base64.b64encode(data).decode()


def change_ciphertext(envelope: Envelope) -> None:
    envelope["ciphertext"] = change_base64(envelope["ciphertext"])


def change_time(envelope: Envelope) -> None:
    envelope["aad"]["timestamp"] += 1


def change_signature(envelope: Envelope) -> None:
    envelope["sender_signature"] = change_base64(envelope["sender_signature"])


def change_wrapped_key(envelope: Envelope) -> None:
    envelope["recipients"][0][7] = change_base64(envelope["recipients"][0][7])


def remove_recipient(envelope: Envelope) -> None:
    envelope["recipients"].pop()


OF_BOTH = {
    "a-changed-ciphertext": change_ciphertext,
    "a-changed-time": change_time,
    "a-changed-signature": change_signature,
}
OF_V2 = {"a-changed-key": change_wrapped_key, "a-removed-device": remove_recipient}
CHANGES = {Sealing.V1: OF_BOTH, Sealing.V2: OF_BOTH | OF_V2}
NOT_IN: dict[Sealing, list[str]] = {Sealing.V1: list(OF_V2), Sealing.V2: []}
