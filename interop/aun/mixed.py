"""Checks between clients of two packages. The one of the other package is in a process of its own."""

from collections.abc import Awaitable
from typing import Any

from client import Client
from exchange import PLAIN, fresh, receive_from
from peer import Peer
from report import CheckFailed, Report, require


class MixedChecks:
    def __init__(self, report: Report, alice: Client, peer: Peer) -> None:
        self._report = report
        self._alice = alice
        self._peer = peer

    async def run(self) -> None:
        check = self._report.check
        await check("message-to-another-package-plain", lambda: self._there(**PLAIN))
        await check("message-of-another-package-plain", lambda: self._back(**PLAIN))
        await check("message-to-another-package-of-the-offline-time", self._while_offline)
        await check("message-to-another-package-sealed", self._sealed_there)
        await check("message-of-another-package-sealed", self._sealed_back)
        await check("message-to-another-package-after-a-refusal", lambda: self._there(**PLAIN))
        await check("message-of-another-package-after-a-refusal", lambda: self._back(**PLAIN))

    async def _there(self, **options: Any) -> None:
        text = fresh("there")
        await self._alice.send_text(self._peer.aid, text, **options)
        await self._receive_there(text)

    async def _back(self, **options: Any) -> None:
        text = fresh("back")
        await self._peer.send(self._alice.aid, text, **options)
        await receive_from(self._peer.aid, self._alice, text)

    async def _while_offline(self) -> None:
        texts = [fresh(f"offline {number}") for number in range(3)]
        await self._peer.disconnect()
        try:
            for text in texts:
                await self._alice.send_text(self._peer.aid, text, **PLAIN)
        finally:
            await self._peer.connect()
        for text in texts:
            await self._receive_there(text)

    async def _sealed_there(self) -> None:
        if self._alice.SEALING in self._peer.opens:
            await self._there()
        else:
            # Before it is stored: the recipient would never open it.
            await refused_for_its_version(self._alice.send_text(self._peer.aid, fresh("refused")))

    async def _sealed_back(self) -> None:
        if self._peer.seals in self._alice.OPENS:
            await self._back()
        else:
            await refused_for_its_version(self._peer.send(self._alice.aid, fresh("refused")))

    async def _receive_there(self, text: str) -> None:
        message = await self._peer.receive(text)
        require(message["from"] == self._alice.aid, f"another sender: {message}")


async def refused_for_its_version(sending: Awaitable[Any]) -> None:
    try:
        value = await sending
    except Exception as error:
        require("cannot open messages of this version" in str(error), f"another reason: {error}")
    else:
        raise CheckFailed(f"not refused: {str(value)[:200]}")
