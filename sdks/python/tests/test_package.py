from __future__ import annotations

import os
import zipfile
from pathlib import Path

import guildhall_client
import pytest
from guildhall_client import RunEvent, known_event

SOURCES = Path(__file__).parent.parent / "src/guildhall_client"


def test_wheel_has_the_sources_the_type_marker_and_the_licence() -> None:
    wheel = os.environ.get("GUILDHALL_TEST_WHEEL")
    if wheel is None:
        pytest.skip("only `cargo xtask sdks` builds the wheel")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if not name.endswith("/")}
    info = "-".join(Path(wheel).name.split("-")[:2]) + ".dist-info"
    metadata = {f"{info}/{name}" for name in ("METADATA", "RECORD", "WHEEL", "licenses/LICENSE")}
    assert names == metadata | {f"guildhall_client/{file.name}" for file in SOURCES.iterdir() if file.is_file()}
    assert "py.typed" in {file.name for file in SOURCES.iterdir()}
    assert Path(guildhall_client.__file__).parent != SOURCES, "the tests must import the wheel"


def test_known_event_narrows_the_payload_by_type() -> None:
    event: RunEvent = {"v": 1, "seq": 1, "type": "assistant_delta", "erased": False, "recordedAt": "", "payload": {"text": "a"}}
    known = known_event(event)
    assert known is not None and known["type"] == "assistant_delta"
    payload = known.get("payload")
    text: str | None = payload.get("text") if payload else None
    assert text == "a"
    assert known_event({"v": 1, "seq": 1, "type": "new_type", "erased": False, "recordedAt": ""}) is None
