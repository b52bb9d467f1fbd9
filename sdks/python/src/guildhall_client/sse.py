"""Decoder of server-sent events."""

from __future__ import annotations

import re
from dataclasses import dataclass

_LINE_END = re.compile(rb"\r\n|\n|\r")


@dataclass(frozen=True)
class Frame:
    """A complete frame. The id is that of this frame, not of an earlier one."""

    event: str
    data: str
    id: str | None


class SseDecoder:
    """Turns bytes into frames. A frame is complete at its empty line: what a cut left of a frame is dropped."""

    def __init__(self) -> None:
        self._rest = b""
        self._reset()

    def _reset(self) -> None:
        self._event = "message"
        self._data: list[str] = []
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Frame]:
        text = self._rest + chunk
        frames = []
        start = 0
        for end in _LINE_END.finditer(text):
            if end.group() == b"\r" and end.end() == len(text):
                break  # The line feed of this line end may be in the next chunk.
            frame = self._read_line(text[start : end.start()].decode("utf-8", "replace"))
            if frame:
                frames.append(frame)
            start = end.end()
        self._rest = text[start:]
        return frames

    def _read_line(self, line: str) -> Frame | None:
        if not line:
            frame = Frame(self._event, "\n".join(self._data), self._id) if self._data else None
            self._reset()
            return frame
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "event":
            self._event = value
        elif field == "data":
            self._data.append(value)
        elif field == "id" and "\0" not in value:
            self._id = value
        return None
