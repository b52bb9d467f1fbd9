//! Opens the rows of an inbox.

use guildhall_domain::messages::DeliveryMode;
use guildhall_protocol::rpc::message::MessageRow;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::{MessengerError, UnreadableReason};
use super::inbox_item::{InboxItem, RecallNotice, ReceivedMessage, SealKind, UnreadableMessage};
use super::messenger::Shared;

/// The type of a row that stands for recalled messages.
const RECALLED: &str = "message.recalled";

/// Opens one row. An error is one of this device: a message that cannot be read is an item.
pub(super) async fn open_row(_shared: &Shared, row: &MessageRow) -> Result<InboxItem, MessengerError> {
    let opened = if row.envelope_type == RECALLED { recall(row) } else { plain(row) };
    Ok(opened.unwrap_or_else(|reason| unreadable(row, reason)))
}

fn recall(row: &MessageRow) -> Result<InboxItem, UnreadableReason> {
    Ok(InboxItem::Recall(RecallNotice {
        seq: row.seq,
        from: parse(&row.from, "its sender is no AID")?,
        message_ids: row.message_ids.clone().unwrap_or_default(),
    }))
}

fn plain(row: &MessageRow) -> Result<InboxItem, UnreadableReason> {
    let payload: Map<String, Value> = match &row.payload {
        Some(Value::Object(payload)) => payload.clone(),
        Some(_) | None => return Err(UnreadableReason::Row("its payload is no object")),
    };
    Ok(InboxItem::Message(Box::new(ReceivedMessage {
        seq: row.seq,
        message_id: row.message_id.clone(),
        from: parse(&row.from, "its sender is no AID")?,
        to: parse(&row.to, "its recipient is no AID")?,
        stored_at: stored_at(row).ok_or(UnreadableReason::Row("its time is out of range"))?,
        sealed_at: None,
        seal: SealKind::NotSealed,
        delivery: DeliveryMode::from_name(&row.delivery_mode)
            .map_err(|_| UnreadableReason::Row("its delivery mode is unknown"))?,
        payload,
    })))
}

fn unreadable(row: &MessageRow, reason: UnreadableReason) -> InboxItem {
    InboxItem::Unreadable(Box::new(UnreadableMessage {
        seq: row.seq,
        message_id: row.message_id.clone(),
        from: row.from.clone(),
        stored_at: stored_at(row),
        reason,
    }))
}

fn stored_at(row: &MessageRow) -> Option<Timestamp> {
    Timestamp::from_millisecond(row.timestamp).ok()
}

fn parse<T: std::str::FromStr>(text: &str, problem: &'static str) -> Result<T, UnreadableReason> {
    text.parse().map_err(|_| UnreadableReason::Row(problem))
}
