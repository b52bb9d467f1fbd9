"""Results of checks: one line each, and a summary as JSON."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

EXPECTED_MISSING = Path(__file__).with_name("expected-missing.txt")

# The longest wait of a client is the 15 s of a call before the login.
CHECK_TIMEOUT_SECONDS = 30


class CheckFailed(Exception):
    """The server answered, but not as it should."""


def require(condition: bool, message: str) -> None:
    if not condition:
        raise CheckFailed(message)


def read_expected_missing(mode: str, client: str, path: Path = EXPECTED_MISSING) -> set[str]:
    """Returns the names of the checks of a mode. A line has a mode, a name, and a client if it is for that one alone."""
    lines = (line.split("#")[0].split(maxsplit=2) for line in path.read_text().splitlines())
    return {line[1] for line in lines if line and line[0] == mode and client.startswith(" ".join(line[2:]).strip())}


class Report:
    def __init__(self, expected_missing: set[str]) -> None:
        self._expected_missing = expected_missing
        self._checks: dict[str, dict[str, str]] = {}

    async def check(
        self, name: str, action: Callable[[], Awaitable[Any]], timeout: float = CHECK_TIMEOUT_SECONDS
    ) -> None:
        try:
            await asyncio.wait_for(action(), timeout)
        except Exception as error:
            state = "missing" if name in self._expected_missing else "failed"
            self._record(name, state, describe(error))
            return
        if name in self._expected_missing:
            self._record(name, "failed", f"it passes: remove it from {EXPECTED_MISSING.name}")
        else:
            self._record(name, "ok")

    def skip(self, name: str, reason: str) -> None:
        """Records a check that this client has no way to run."""
        self._record(name, "skipped", reason)

    def require_all_ran(self) -> None:
        """Fails for each listed check that did not run, such as a misspelled one."""
        for name in sorted(self._expected_missing - self._checks.keys()):
            self._record(name, "failed", f"no such check: remove it from {EXPECTED_MISSING.name}")

    def finish(self, client: str) -> int:
        """Prints the summary. Returns the exit code."""
        states = [check["state"] for check in self._checks.values()]
        counts = {state: states.count(state) for state in ("ok", "missing", "skipped", "failed")}
        print(json.dumps({"client": client, **counts, "checks": self._checks}), flush=True)
        return 1 if counts["failed"] or not counts["ok"] else 0

    def _record(self, name: str, state: str, reason: str = "") -> None:
        if name in self._checks:
            state, reason = "failed", "two checks have this name"
        self._checks[name] = {"state": state} | ({"reason": reason} if reason else {})
        if state == "failed":
            print(f"FAIL {name} {reason}", flush=True)
        else:
            print(f"{state} {name}" + (f" {reason}" if state == "skipped" else ""), flush=True)


def describe(error: BaseException) -> str:
    """Returns kind, code and message of an error in one line."""
    code = getattr(error, "code", None)
    words = [type(error).__name__, "" if code in (None, -1) else str(code), " ".join(str(error).split())]
    return " ".join(word for word in words if word)
