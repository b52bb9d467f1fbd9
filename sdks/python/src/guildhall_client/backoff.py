"""Delays between attempts."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

# A `Retry-After` above this is not followed: a reader that sleeps for hours looks broken.
_MAX_RETRY_AFTER = 60.0


@dataclass(frozen=True)
class BackoffOptions:
    """Seconds between attempts to connect."""

    initial_delay: float = 0.2
    """Longest delay before the first retry; doubled after each failure."""
    max_delay: float = 5.0
    """Upper bound of the delay."""
    max_failures: float = math.inf
    """Consecutive failures after which the error is raised."""


class Backoff:
    """Counts consecutive failures."""

    def __init__(self, options: BackoffOptions) -> None:
        self._options = options
        self._failures = 0

    def reset(self) -> None:
        self._failures = 0

    def fail(self, retry_after: float | None = None) -> float | None:
        """Records a failure and returns the delay before the next attempt; none after the last one."""
        self._failures += 1
        if self._failures > self._options.max_failures:
            return None
        longest = min(self._options.initial_delay * 2.0 ** min(self._failures - 1, 20), self._options.max_delay)
        # Jitter: clients that lost the same server must not return at the same moment.
        delay = longest / 2 + longest / 2 * random.random()
        return max(delay, min(retry_after or 0.0, _MAX_RETRY_AFTER))
