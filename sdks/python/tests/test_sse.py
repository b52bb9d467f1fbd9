from __future__ import annotations

from guildhall_client.sse import Frame, SseDecoder

STREAM = (
    "retry: 3000\n\n: comment\nevent: hello\ndata: {}\n\nid: 1\nevent: event\ndata: näher\u2028\ndata:b\n\nid: 2\r\ndata\r\n\r\n"
).encode()
FRAMES = [
    Frame("hello", "{}", None),
    Frame("event", "näher\u2028\nb", "1"),
    Frame("message", "", "2"),
]


def test_chunks_of_every_size_give_the_same_frames() -> None:
    for size in range(1, len(STREAM) + 1):
        decoder = SseDecoder()
        chunks = [STREAM[start : start + size] for start in range(0, len(STREAM), size)]
        assert [frame for chunk in chunks for frame in decoder.feed(chunk)] == FRAMES, size


def test_frame_without_its_empty_line_is_not_complete() -> None:
    assert SseDecoder().feed(b"id: 1\ndata: {}\n") == []
