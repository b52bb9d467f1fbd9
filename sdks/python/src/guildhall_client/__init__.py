"""Client of Guildhall, a control plane for AI agents."""

from . import models
from .backoff import BackoffOptions
from .client import Client
from .errors import ApiError, ConnectionLostError, StreamGapError
from .events import SessionItem, StreamItem, known_event
from .follow import FollowOptions
from .models import KnownRunEvent, Notice, Problem, RunEvent
from .token import TokenFunction

__all__ = [
    "ApiError",
    "BackoffOptions",
    "Client",
    "ConnectionLostError",
    "FollowOptions",
    "KnownRunEvent",
    "Notice",
    "Problem",
    "RunEvent",
    "SessionItem",
    "StreamGapError",
    "StreamItem",
    "TokenFunction",
    "known_event",
    "models",
]
