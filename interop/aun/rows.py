"""The fields of rows and pages that every client reads. All clients get the same row."""

import json
from typing import Any

from report import require

Row = dict[str, Any]

# fastaun 0.5 closes a connection that sends other numbers.
MAX_INTEGER = 2**53 - 1

# A frame has at most 1 MiB.
MAX_PAGE_BYTES = 1024 * 1024

# A message of 2020 in milliseconds; seconds are below it.
MIN_TIMESTAMP_MS = 1_577_836_800_000


def check_row(row: Row, recipient: str) -> None:
    require(is_seq(row["seq"]) and row["seq"] > 0, f"seq {row['seq']!r}")
    require(is_text(row["message_id"]), f"message_id {row['message_id']!r}")
    require(is_text(row["from"]), f"from {row['from']!r}")
    require(row["from_aid"] == row["from"], f"from_aid {row['from_aid']!r}, from {row['from']!r}")
    # A copy for the other devices of the sender has the recipient of the message.
    require(row["to"] == recipient or row.get("direction") == "outbound_sync", f"to {row['to']!r}")
    require(is_seq(row["timestamp"]) and row["timestamp"] > MIN_TIMESTAMP_MS, f"timestamp {row['timestamp']!r}")
    require(row["t_server"] == row["timestamp"], f"t_server {row['t_server']!r}, timestamp {row['timestamp']!r}")
    require(isinstance(row["type"], str), f"type {row['type']!r}")
    require("delivery_mode" in row, "no delivery_mode")
    check_content(row)


def check_content(row: Row) -> None:
    if row["version"] == "v2":
        envelope = json.loads(row["envelope_json"])
        require(envelope["type"] == "e2ee.p2p_encrypted", f"type of the envelope {envelope['type']!r}")
        return
    require(row["version"] == "v1", f"version {row['version']!r}")
    require(isinstance(row["payload"], dict), f"payload {row['payload']!r}")
    require(row["legacy_v1"] == {"payload": row["payload"], "to": row["to"]}, f"legacy_v1 {row['legacy_v1']!r}")
    sealed = row["payload"].get("type") == "e2ee.encrypted"
    require(row["encrypted"] is sealed, f"encrypted {row['encrypted']!r}")
    require(not sealed or row["type"] == "e2ee.encrypted", f"type {row['type']!r}")


def check_page(page: dict[str, Any], after_seq: int, limit: int) -> None:
    """Checks what all kinds of pages have."""
    rows = page["messages"]
    seqs = [row["seq"] for row in rows]
    require(len(rows) <= limit, f"{len(rows)} rows, limit {limit}")
    require(seqs == sorted(set(seqs)), f"not ascending: {seqs}")
    require(all(seq > after_seq for seq in seqs), f"rows up to {after_seq}: {seqs}")
    require(isinstance(page["has_more"], bool), f"has_more {page['has_more']!r}")
    require(is_seq(page["server_ack_seq"]), f"server_ack_seq {page['server_ack_seq']!r}")
    size = len(json.dumps(page, ensure_ascii=False).encode())
    require(size < MAX_PAGE_BYTES, f"{size} bytes")
    check_integers(page)


def check_integers(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            check_integers(item)
    elif isinstance(value, list):
        for item in value:
            check_integers(item)
    elif isinstance(value, int):
        require(abs(value) <= MAX_INTEGER, f"integer {value}")


def is_seq(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_INTEGER


def is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
