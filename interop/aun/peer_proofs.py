"""The fields with which fastaun 0.5 proves that it has missed nothing. It stops silently if one is wrong."""

from typing import Any

from report import require
from rows import check_page, is_seq, is_text

Answer = dict[str, Any]
Params = dict[str, Any]


def check_peers(answer: Answer, kind: str) -> None:
    """Checks an answer of message.peers."""
    require(answer["cursor_scope"] == "peer", f"cursor_scope {answer['cursor_scope']!r}")
    require(answer["catalog_ready"] is True, f"catalog_ready {answer['catalog_ready']!r}")
    require(is_seq(answer["bootstrap_floor_seq"]), f"bootstrap_floor_seq {answer['bootstrap_floor_seq']!r}")
    senders = [entry["sender_aid"] for entry in answer["peers"]]
    require(len(senders) == len(set(senders)), f"senders twice: {senders}")
    if kind == "pending":
        require(not answer.get("has_more") and not answer.get("next_page_token"), "pending senders are complete")
    for entry in answer["peers"]:
        check_peer(entry, kind)


def check_peer(entry: Answer, kind: str) -> None:
    require(is_text(entry["sender_aid"]), f"sender_aid {entry['sender_aid']!r}")
    for name in ("head_seq", "server_ack_seq", "initial_after_seq", "retention_floor_seq"):
        require(is_seq(entry[name]), f"{name} {entry[name]!r}")
    require(isinstance(entry["volatile_has_more"], bool), f"volatile_has_more {entry['volatile_has_more']!r}")
    head, acked = entry["head_seq"], entry["server_ack_seq"]
    require(acked <= head, f"server_ack_seq {acked} beyond head_seq {head}")
    if kind == "pending" and not entry["volatile_has_more"]:
        require(acked < head, f"nothing is pending: {entry}")
    if "next_pending_seq" in entry and acked < head:
        require(acked <= entry["next_pending_seq"] <= head, f"next_pending_seq {entry['next_pending_seq']}")


def check_peer_page(page: Answer, params: Params) -> None:
    """Checks the coverage of a page of message.v2.pull with the scope of one sender."""
    after_seq, limit = params["after_seq"], params["limit"]
    check_page(page, after_seq, limit)
    require(page["cursor_scope"] == "peer", f"cursor_scope {page['cursor_scope']!r}")
    require(page["sender_aid"] == params["sender_aid"], f"sender_aid {page['sender_aid']!r}")
    for name in ("device_id", "slot_id"):
        require(page.get(name, params[name]) == params[name], f"{name} {page.get(name)!r}")
    others = {row["from_aid"] for row in page["messages"]} - {params["sender_aid"]}
    require(not others, f"rows of {others}")
    check_coverage(page, after_seq, params.get("force", False))


def check_coverage(page: Answer, after_seq: int, force: bool) -> None:
    names = ("scan_after_seq", "covered_through_seq", "next_after_seq", "head_seq", "retention_floor_seq")
    for name in names:
        require(is_seq(page[name]), f"{name} {page[name]!r}")
    scan_after, covered, next_after, head, floor = (page[name] for name in names)
    lowest = max(after_seq, floor)
    highest = lowest if force else max(lowest, page["server_ack_seq"])
    require(lowest <= scan_after <= highest, f"scan_after_seq {scan_after}, not {lowest} to {highest}")
    require(scan_after <= covered <= head, f"covered_through_seq {covered}, not {scan_after} to {head}")
    require(next_after == covered, f"next_after_seq {next_after}, covered_through_seq {covered}")
    flags = [page[name] for name in ("persistent_has_more", "volatile_has_more", "has_more")]
    require(all(isinstance(flag, bool) for flag in flags), f"flags {flags}")
    require(flags[2] == (flags[0] or flags[1]), f"has_more is not that of both: {flags}")
    require(covered == head or flags[0], f"covered {covered} of {head}, and there is no more")
    seqs = [row["seq"] for row in page["messages"] if row.get("storage") != "volatile"]
    require(all(scan_after < seq <= covered for seq in seqs), f"rows {seqs} outside of {scan_after} to {covered}")


def check_peer_ack(answer: Answer, params: Params) -> None:
    require(answer["success"] is True, f"success {answer['success']!r}")
    require(answer["cursor_scope"] == "peer", f"cursor_scope {answer['cursor_scope']!r}")
    require(answer["sender_aid"] == params["sender_aid"], f"sender_aid {answer['sender_aid']!r}")
    acked = answer.get("effective_ack_seq", answer.get("peer_ack_seq"))
    require(is_seq(acked) and acked >= params["up_to_seq"], f"acknowledged {acked}, asked {params['up_to_seq']}")
    require(is_seq(answer["ack_seq"]), f"ack_seq {answer['ack_seq']!r}")
