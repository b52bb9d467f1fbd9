"""What a client has received."""

import asyncio
from collections.abc import Callable, Collection
from typing import Any

Event = dict[str, Any]


class Inbox:
    """Events of one kind, in the order of their arrival."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._loop = asyncio.get_running_loop()
        self._arrived = asyncio.Event()

    def add(self, event: Any) -> None:
        self.events.append(event)
        # A package may call its handlers on another thread.
        self._loop.call_soon_threadsafe(self._arrived.set)

    async def wait_for(self, wanted: Callable[[Event], bool]) -> Event:
        while True:
            self._arrived.clear()
            for event in list(self.events):
                if isinstance(event, dict) and wanted(event):
                    return event
            await self._arrived.wait()

    async def wait_for_text(self, text: str) -> Event:
        return await self.wait_for(lambda event: text_of(event) == text)

    def texts(self, among: Collection[str]) -> list[str]:
        """Returns the received texts that are among these, repeated ones too."""
        return [text for event in self.events if (text := text_of(event)) in among]


def text_of(message: Any) -> str | None:
    payload = message.get("payload") if isinstance(message, dict) else None
    return payload.get("text") if isinstance(payload, dict) else None
