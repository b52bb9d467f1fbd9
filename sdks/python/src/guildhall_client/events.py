"""Types of events in streams."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar, cast, get_args

from typing_extensions import get_type_hints

from .models import KnownRunEvent, RunEvent

E = TypeVar("E")

_KNOWN_TYPES = frozenset(get_args(get_type_hints(event)["type"])[0] for event in get_args(KnownRunEvent))


@dataclass(frozen=True)
class StreamItem(Generic[E]):
    """An event with its id, which is a cursor."""

    id: str
    event: E


@dataclass(frozen=True)
class SessionItem(StreamItem[RunEvent]):
    """An event of one of the runs of a session."""

    run_id: str
    run_ordinal: int
    """Ordinal of the run in its session, from 1."""


def known_event(event: RunEvent) -> KnownRunEvent | None:
    """Returns the event if this version knows its type. Then ``event["type"]`` tells the types of payloads apart."""
    return cast(KnownRunEvent, event) if event["type"] in _KNOWN_TYPES else None
