"""Checks of recipients and senders with two devices."""

from typing import Any

from client import Client, Sealing
from exchange import PLAIN, Batch, MessageChecks, deliver, fresh, receive, send


class DeviceChecks(MessageChecks):
    async def run(self) -> None:
        await self._check("message-on-both-devices-of-the-recipient-sealed", self._sealed)
        await self._check("message-on-both-devices-of-the-recipient-plain", self._plain)
        await self._check("message-on-the-other-device-of-the-sender", self._on_the_other_device_of_the_sender)
        await self._check("message-after-a-copy-for-the-other-device", self._after_a_copy)
        await self._check("message-of-the-offline-time-of-one-device", self._offline_time_of_one_device)
        await self._check("message-sealed-before-the-second-device-was-known", self._old_keys)

    async def _sealed(self) -> None:
        frank, _ = await self._frank()
        await self._to_both_devices(frank, "sealed for both")

    async def _plain(self) -> None:
        await self._to_both_devices(self._alice, "plain for both", **PLAIN)

    async def _on_the_other_device_of_the_sender(self) -> None:
        frank, tablet = await self._frank()
        text = fresh("sealed for my tablet")
        await deliver(frank, self._bobby, text)
        await receive(frank, tablet, text)

    async def _after_a_copy(self) -> None:
        # A message for one device does not hold up the others.
        frank, tablet = await self._frank()
        await deliver(frank, self._bobby, fresh("sealed"))
        for options in ({}, PLAIN):
            text = fresh("reply")
            await send(self._bobby, frank, text, **options)
            await receive(self._bobby, frank, text)
            await receive(self._bobby, tablet, text)

    async def _offline_time_of_one_device(self) -> None:
        frank, _ = await self._frank()
        phone, tablet = await self._devices_of_bobby()
        batch = Batch(frank, phone)
        async with self._offline(tablet):
            for number in range(4):
                await batch.send(f"only one is online {number}", encrypt=number % 2 == 0)
            await batch.require_received()
            await phone.ack(await deliver(frank, phone, fresh("acknowledged")))
        await batch.on(tablet).require_received()

    async def _old_keys(self) -> None:
        """A sender keeps the keys of a recipient for minutes, and does not know a new device."""
        phone, tablet = await self._devices_of_bobby()
        text = fresh("sealed with old keys")
        await deliver(self._alice, phone, text)
        if self._alice.SEALING is Sealing.V2:
            # The server refuses it, and the client gets the keys again. Clients of version 1 do not.
            await receive(self._alice, tablet, text)
        await self._to_both_devices(self._alice, "plain after old keys", **PLAIN)

    async def _to_both_devices(self, sender: Client, text: str, **options: Any) -> None:
        text, devices = fresh(text), await self._devices_of_bobby()
        await send(sender, self._bobby, text, **options)
        for device in devices:
            await receive(sender, device, text)

    async def _frank(self) -> tuple[Client, Client]:
        """Returns both devices of a sender that knows both devices of each."""
        await self._devices_of_bobby()
        phone = await self._people.registered("frank")
        tablet = await self._people.second_device_of(phone)
        return await self._people.connected("frank"), tablet

    async def _devices_of_bobby(self) -> tuple[Client, Client]:
        return self._bobby, await self._people.second_device_of(self._bobby)
