"""Sends texts that somebody looks for outside of the clients: sealed ones must be nowhere."""

from client import Client
from exchange import PLAIN, MessageChecks, deliver, receive, send
from participants import Participants
from report import Report


class CanaryChecks(MessageChecks):
    def __init__(
        self, report: Report, people: Participants, alice: Client, bobby: Client, sealed: str, plain: str
    ) -> None:
        super().__init__(report, people, alice, bobby)
        self._sealed = sealed
        self._plain = plain

    async def run(self) -> None:
        await self._check("canary-sealed", lambda: deliver(self._alice, self._bobby, f"{self._sealed} live"))
        await self._check("canary-sealed-of-the-offline-time", self._while_offline)
        await self._check("canary-sealed-back", lambda: deliver(self._bobby, self._alice, f"{self._sealed} back"))
        await self._check("canary-plain", lambda: deliver(self._alice, self._bobby, self._plain, **PLAIN))

    async def _while_offline(self) -> None:
        text = f"{self._sealed} offline"
        async with self._offline(self._bobby):
            await send(self._alice, self._bobby, text)
        await receive(self._alice, self._bobby, text)
