//! One message for several devices: the server gives each its own envelope.

use super::super::bounds::MAX_RECIPIENTS;
use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::Members;
use super::envelope::V1Envelope;

/// The member `type` of the payload, and of the message that it comes in.
pub const MULTI_DEVICE_TYPE: &str = "e2ee.multi_device";

/// The envelope for one device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceCopy {
    pub device_id: String,
    pub envelope: V1Envelope,
}

/// The envelopes of one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V1MultiDevice {
    pub logical_message_id: String,
    /// For the devices of the recipient.
    pub recipient_copies: Vec<DeviceCopy>,
    /// For the sender's other devices.
    pub self_copies: Vec<DeviceCopy>,
    /// Members that are not known.
    pub rest: JsonObject,
}

impl V1MultiDevice {
    /// Parses the payload of a message. Each device has at most one copy.
    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        let mut members = Members::parse(text)?;
        members.constant("type", MULTI_DEVICE_TYPE)?;
        let logical_message_id = members.text("logical_message_id")?;
        let copies = members.array("recipient_copies")?;
        let own = if members.has("self_copies") { members.array("self_copies")? } else { Vec::new() };
        if copies.is_empty() || copies.len() + own.len() > MAX_RECIPIENTS {
            return Err(EnvelopeError::RecipientCount);
        }
        Ok(Self {
            logical_message_id,
            recipient_copies: parse_copies(copies)?,
            self_copies: parse_copies(own)?,
            rest: members.rest(),
        })
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let copies = |copies: &[DeviceCopy]| ExactJson::Array(copies.iter().map(copy_json).collect());
        let mut members = self.rest.clone();
        members.extend([
            ("type".to_owned(), MULTI_DEVICE_TYPE.into()),
            ("logical_message_id".to_owned(), self.logical_message_id.as_str().into()),
            ("recipient_copies".to_owned(), copies(&self.recipient_copies)),
            ("self_copies".to_owned(), copies(&self.self_copies)),
        ]);
        ExactJson::Object(members).to_text()
    }
}

fn parse_copies(copies: Vec<ExactJson>) -> Result<Vec<DeviceCopy>, EnvelopeError> {
    let mut parsed: Vec<DeviceCopy> = Vec::with_capacity(copies.len());
    for copy in copies {
        let mut members = Members::of(copy, "recipient_copies")?;
        let device_id = members.text("device_id")?;
        if parsed.iter().any(|copy| copy.device_id == device_id) {
            return Err(EnvelopeError::RecipientOrder);
        }
        let envelope = Members::of(members.take("envelope")?, "envelope")?;
        parsed.push(DeviceCopy { device_id, envelope: V1Envelope::from_members(envelope)? });
    }
    Ok(parsed)
}

fn copy_json(copy: &DeviceCopy) -> ExactJson {
    ExactJson::Object(JsonObject::from([
        ("device_id".to_owned(), copy.device_id.as_str().into()),
        ("envelope".to_owned(), ExactJson::Object(copy.envelope.members())),
    ]))
}
