from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio
import pytest
from conftest import Server

EXAMPLE = Path(__file__).parent / "example.py"
PACKAGE = EXAMPLE.parent.parent


@pytest.mark.anyio
async def test_example_of_the_documentation_runs(server: Server) -> None:
    _, secret = await server.create_key()
    env = {**os.environ, "SERVER_URL": server.url, "KEY": secret}
    result = await anyio.run_process([sys.executable, str(EXAMPLE)], env=env)
    assert result.stdout.decode().startswith('You said: "tidy my notes".')


def test_documentation_has_the_example_as_it_is_tested() -> None:
    block = f"```python\n{EXAMPLE.read_text()}```\n"
    for page in ("README.md", "../../docs/guides/clients.md"):
        assert block in (PACKAGE / page).read_text(), page
