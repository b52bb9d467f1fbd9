//! Opens the rows of an inbox.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::DeliveryMode;
use guildhall_identity::e2ee::v1::{self, V1Envelope, V1Reader};
use guildhall_identity::e2ee::v2::{self, V2Envelope, V2Reader};
use guildhall_identity::e2ee::{EnvelopeError, OpenError};
use guildhall_identity::pki::ParsedCertificate;
use guildhall_protocol::rpc::message::MessageRow;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::error::{MessengerError, UnreadableReason};
use super::inbox_item::{InboxItem, RecallNotice, ReceivedMessage, SealKind, UnreadableMessage};
use super::shared::Shared;
use super::store::{DeviceStoreError, KeyVersion};
use super::trust::TrustError;
use crate::ClientError;

/// The type of a row that stands for recalled messages.
const RECALLED: &str = "message.recalled";

/// Why a row was not opened.
#[derive(Debug)]
pub(super) enum RowError {
    Unreadable(UnreadableReason),
    /// The certificate of the sender cannot be fetched now.
    Server(ClientError),
    Store(DeviceStoreError),
}

impl From<OpenError> for RowError {
    fn from(error: OpenError) -> Self {
        Self::Unreadable(UnreadableReason::Sealed(error))
    }
}

impl From<EnvelopeError> for RowError {
    fn from(error: EnvelopeError) -> Self {
        OpenError::from(error).into()
    }
}

/// What a sealed message holds.
struct Opened {
    payload: String,
    sealed_at_ms: i64,
    headers: BTreeMap<String, String>,
    seal: SealKind,
}

/// How a message was protected.
struct Protection {
    seal: SealKind,
    sealed_at: Option<Timestamp>,
    headers: BTreeMap<String, String>,
}

impl Shared {
    /// Opens one row. A row that cannot be read is an item too.
    pub(super) async fn open_row(&self, row: &MessageRow) -> Result<InboxItem, RowError> {
        let payload_type = row.payload.as_ref().and_then(|payload| payload["type"].as_str());
        if row.envelope_type == RECALLED {
            return recall(row);
        }
        let opened = match payload_type {
            Some(v2::ENVELOPE_TYPE) => self.open_v2(row).await?,
            Some(v1::ENVELOPE_TYPE) => self.open_v1(row).await?,
            Some(_) | None if row.encrypted => return Err(row_error("it is sealed in an unknown format")),
            Some(_) | None => {
                let headers = BTreeMap::new();
                let protection = Protection { seal: SealKind::NotSealed, sealed_at: None, headers };
                return message(row, payload_of(row)?, protection);
            }
        };
        let Opened { payload, sealed_at_ms, headers, seal } = opened;
        let payload = serde_json::from_str(&payload).map_err(|_| OpenError::Payload)?;
        let sealed_at = Timestamp::from_millisecond(sealed_at_ms).ok();
        message(row, payload, Protection { seal, sealed_at, headers })
    }

    async fn open_v2(&self, row: &MessageRow) -> Result<Opened, RowError> {
        let envelope = V2Envelope::parse(&payload_text(row))?;
        let aad = &envelope.aad;
        check_names(row, [&aad.from, &aad.to, &aad.message_id])?;
        let (aid, device_id) = (self.identity.aid.to_string(), self.store.device_id());
        let spk_id = envelope.spk_for(&aid, device_id)?.map(str::to_owned);
        let spk = match &spk_id {
            Some(id) => self.store.find_key(KeyVersion::V2, id).map_err(RowError::Store)?,
            None => None,
        };
        let sender = self.certificate_of_row(row, &envelope.sender_cert_fingerprint).await?;
        let reader = V2Reader {
            aid: &aid,
            device_id,
            identity: &*self.identity.key,
            spk: spk.as_ref().map(|spk| &spk.key),
        };
        let payload = envelope.open(&reader, &sender)?;
        self.mark_used(KeyVersion::V2, spk_id.as_deref())?;
        let headers = envelope.headers();
        Ok(Opened { payload, sealed_at_ms: aad.timestamp_ms, headers, seal: SealKind::V2 })
    }

    async fn open_v1(&self, row: &MessageRow) -> Result<Opened, RowError> {
        let envelope = V1Envelope::parse(&payload_text(row))?;
        let aad = &envelope.aad;
        check_names(row, [&aad.from, &aad.to, &aad.message_id])?;
        let prekey_id = aad.mode.prekey_id();
        let prekey = match prekey_id {
            Some(id) => self.store.find_key(KeyVersion::V1, id).map_err(RowError::Store)?,
            None => None,
        };
        let sender = self.certificate_of_row(row, &aad.sender_cert_fingerprint).await?;
        let prekey = prekey.as_ref().map(|prekey| &prekey.key);
        let reader = V1Reader { identity: &*self.identity.key, prekey };
        let payload = envelope.open(&reader, &sender)?;
        self.mark_used(KeyVersion::V1, prekey_id)?;
        let headers = BTreeMap::new();
        Ok(Opened { payload, sealed_at_ms: aad.timestamp_ms, headers, seal: SealKind::V1 })
    }

    async fn certificate_of_row(
        &self,
        row: &MessageRow,
        fingerprint: &str,
    ) -> Result<ParsedCertificate, RowError> {
        let aid: Aid = parse(&row.from, "its sender is no AID")?;
        let reason = match self.sender_certificate(&aid, fingerprint).await {
            Ok(certificate) => return Ok(certificate),
            Err(TrustError::Peer(error)) => UnreadableReason::Sender(error),
            Err(TrustError::KeyChanged(change)) => UnreadableReason::KeyChanged(change),
            Err(TrustError::Server(error)) if error.is_transient() => return Err(RowError::Server(error)),
            Err(TrustError::Server(_)) => UnreadableReason::SenderUnavailable,
            Err(TrustError::Store(error)) => return Err(RowError::Store(error)),
        };
        Err(RowError::Unreadable(reason))
    }

    /// A key that was used is replaced soon.
    fn mark_used(&self, version: KeyVersion, id: Option<&str>) -> Result<(), RowError> {
        let Some(id) = id else { return Ok(()) };
        if self.store.mark_used(version, id, self.clock.now()).map_err(RowError::Store)? {
            self.keys_due.store(true, Ordering::Relaxed);
        }
        Ok(())
    }
}

impl RowError {
    /// Returns the item for a row that cannot be read, or the error of this device.
    pub(super) fn into_item(self, row: &MessageRow) -> Result<InboxItem, MessengerError> {
        let reason = match self {
            Self::Unreadable(reason) => reason,
            Self::Server(_) => UnreadableReason::SenderUnavailable,
            Self::Store(error) => return Err(error.into()),
        };
        Ok(InboxItem::Unreadable(Box::new(UnreadableMessage {
            seq: row.seq,
            message_id: row.message_id.clone(),
            from: row.from.clone(),
            stored_at: stored_at(row),
            reason,
        })))
    }
}

fn recall(row: &MessageRow) -> Result<InboxItem, RowError> {
    Ok(InboxItem::Recall(RecallNotice {
        seq: row.seq,
        from: parse(&row.from, "its sender is no AID")?,
        message_ids: row.message_ids.clone().unwrap_or_default(),
    }))
}

fn message(
    row: &MessageRow,
    payload: Map<String, Value>,
    protection: Protection,
) -> Result<InboxItem, RowError> {
    let Protection { seal, sealed_at, headers } = protection;
    let delivery = DeliveryMode::from_name(&row.delivery_mode);
    Ok(InboxItem::Message(Box::new(ReceivedMessage {
        seq: row.seq,
        message_id: row.message_id.clone(),
        from: parse(&row.from, "its sender is no AID")?,
        to: parse(&row.to, "its recipient is no AID")?,
        stored_at: stored_at(row).ok_or_else(|| row_error("its time is out of range"))?,
        sealed_at,
        seal,
        delivery: delivery.map_err(|_| row_error("its delivery mode is unknown"))?,
        headers,
        payload,
    })))
}

/// Compares what was sealed with what the server says: sender, recipient and id.
fn check_names(row: &MessageRow, sealed: [&str; 3]) -> Result<(), EnvelopeError> {
    let names = ["aad.from", "aad.to", "aad.message_id"];
    let clear = [&*row.from, &*row.to, &*row.message_id];
    let wrong =
        names.into_iter().zip(sealed.into_iter().zip(clear)).find(|(_, (sealed, clear))| sealed != clear);
    wrong.map_or(Ok(()), |(name, _)| Err(EnvelopeError::Mismatch(name)))
}

fn payload_of(row: &MessageRow) -> Result<Map<String, Value>, RowError> {
    match &row.payload {
        Some(Value::Object(payload)) => Ok(payload.clone()),
        Some(_) | None => Err(row_error("its payload is no object")),
    }
}

fn payload_text(row: &MessageRow) -> String {
    row.payload.as_ref().map(Value::to_string).unwrap_or_default()
}

fn stored_at(row: &MessageRow) -> Option<Timestamp> {
    Timestamp::from_millisecond(row.timestamp).ok()
}

fn parse<T: std::str::FromStr>(text: &str, problem: &'static str) -> Result<T, RowError> {
    text.parse().map_err(|_| row_error(problem))
}

fn row_error(problem: &'static str) -> RowError {
    RowError::Unreadable(UnreadableReason::Row(problem))
}
