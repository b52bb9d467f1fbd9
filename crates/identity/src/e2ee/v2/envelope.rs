//! The envelope of a message.

use std::collections::BTreeMap;

use super::super::error::EnvelopeError;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::fingerprint::check_certificate;
use super::super::members::{Members, encode};
use super::super::{MAX_RECIPIENTS, NONCE_BYTES, SUITE, TAG_BYTES};
use super::aad::V2Aad;
use super::digest::recipients_digest;
use super::headers::AUTH;
use super::proof::{ProofStep, hash, proof_of, verify_proof};
use super::row::{RecipientRow, check_order};
use super::wrap_protocol::WrapProtocol;
use crate::pki::{P256PublicKey, ParsedCertificate};

/// The member `type` of an envelope for one recipient AID.
pub const ENVELOPE_TYPE: &str = "e2ee.p2p_encrypted";

const VERSION: &str = "v2";
const MESSAGE_TYPE: &str = "original";
const SIGNATURE_BYTES: usize = 64;

/// Who can open a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum V2Recipients {
    /// All rows, as the sender wrote them.
    All(Vec<RecipientRow>),
    /// The row of one device, and the proof that the sender signed it.
    One { row: RecipientRow, proof: Vec<ProofStep> },
}

/// A sealed message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct V2Envelope {
    pub aad: V2Aad,
    pub nonce: [u8; NONCE_BYTES],
    pub ciphertext: Vec<u8>,
    pub tag: [u8; TAG_BYTES],
    /// The key pair of this message alone.
    pub session_key: P256PublicKey,
    pub recipients: V2Recipients,
    pub recipients_digest: [u8; 32],
    pub sender_signature: [u8; SIGNATURE_BYTES],
    pub sender_cert_fingerprint: String,
    /// The type of the payload, in clear.
    pub payload_type: Option<String>,
    /// With their tag. Only who has the key of the message can verify it.
    pub protected_headers: Option<JsonObject>,
    pub context: Option<JsonObject>,
    /// Members that nothing protects and that are not known.
    pub rest: JsonObject,
}

impl V2Envelope {
    /// Parses an envelope and checks what it says about itself, except for its digest and its signature.
    pub fn parse(text: &str) -> Result<Self, EnvelopeError> {
        Self::from_members(Members::parse(text)?)
    }

    fn from_members(mut members: Members) -> Result<Self, EnvelopeError> {
        members.constant("type", ENVELOPE_TYPE)?;
        members.constant("version", VERSION)?;
        members.constant("suite", SUITE)?;
        if members.has("msg_type") {
            members.constant("msg_type", MESSAGE_TYPE)?;
        }
        let aad = V2Aad::parse(members.take("aad")?)?;
        if members.has("t_send") && members.integer("t_send")? != aad.timestamp_ms {
            return Err(EnvelopeError::Mismatch("t_send"));
        }
        let session_key = P256PublicKey::from_spki(&members.base64("sender_session_pk")?);
        Ok(Self {
            nonce: members.bytes("nonce")?,
            ciphertext: members.base64("ciphertext")?,
            tag: members.bytes("tag")?,
            session_key: session_key.map_err(|_| EnvelopeError::Member("sender_session_pk"))?,
            recipients: recipients(&mut members, &aad)?,
            recipients_digest: hash(&members.text("recipients_digest")?)
                .ok_or(EnvelopeError::Member("recipients_digest"))?,
            sender_signature: members.bytes("sender_signature")?,
            sender_cert_fingerprint: members.text("sender_cert_fingerprint")?,
            payload_type: members.optional_text("payload_type")?,
            protected_headers: members.optional_object("protected_headers")?,
            context: members.optional_object("context")?,
            aad,
            rest: members.rest(),
        })
    }

    /// Returns the bytes that the sender signs.
    pub fn signed_bytes(&self) -> Result<Vec<u8>, EnvelopeError> {
        Ok([self.ciphertext.as_slice(), &self.tag, &self.aad.bytes()?, &self.recipients_digest].concat())
    }

    /// Checks that the digest is the one of the recipients.
    pub fn verify_recipients(&self) -> Result<(), EnvelopeError> {
        match &self.recipients {
            V2Recipients::All(rows) if recipients_digest(rows) == Some(self.recipients_digest) => Ok(()),
            V2Recipients::All(_) => Err(EnvelopeError::Digest),
            V2Recipients::One { row, proof } => verify_proof(row, proof, &self.recipients_digest),
        }
    }

    /// Checks that the owner of a certificate signed the envelope.
    pub fn verify_sender(&self, certificate: &ParsedCertificate) -> Result<(), EnvelopeError> {
        if self.aad.from != certificate.common_name {
            return Err(EnvelopeError::Mismatch("aad.from"));
        }
        check_certificate(&self.sender_cert_fingerprint, certificate)?;
        let verified = certificate.public_key.verify_raw(&self.signed_bytes()?, &self.sender_signature);
        verified.map_err(|_| EnvelopeError::Signature)
    }

    /// Returns the envelope for one of its rows.
    #[must_use]
    pub fn for_row(&self, index: usize) -> Option<Self> {
        let V2Recipients::All(rows) = &self.recipients else { return None };
        let row = rows.get(index)?.clone();
        let recipients = V2Recipients::One { row, proof: proof_of(rows, index)? };
        Some(Self { recipients, ..self.clone() })
    }

    /// Returns the headers of the sender. They are those that the sender wrote once [`V2Envelope::open`] has returned the payload.
    #[must_use]
    pub fn headers(&self) -> BTreeMap<String, String> {
        let headers = self.protected_headers.iter().flatten().filter(|(name, _)| *name != AUTH);
        let text = |(name, value): (&String, &ExactJson)| {
            let ExactJson::String(value) = value else { return None };
            Some((name.clone(), value.clone()))
        };
        headers.filter_map(text).collect()
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn to_text(&self) -> String {
        ExactJson::Object(self.members()).to_text()
    }

    fn members(&self) -> JsonObject {
        let mut members = self.rest.clone();
        let mut insert = |name: &str, value: ExactJson| members.insert(name.to_owned(), value);
        for (name, text) in
            [("type", ENVELOPE_TYPE), ("version", VERSION), ("suite", SUITE), ("msg_type", MESSAGE_TYPE)]
        {
            insert(name, text.into());
        }
        insert("t_send", self.aad.timestamp_ms.into());
        insert("aad", ExactJson::Object(self.aad.members()));
        insert("nonce", encode(&self.nonce));
        insert("ciphertext", encode(&self.ciphertext));
        insert("tag", encode(&self.tag));
        insert("sender_session_pk", encode(self.session_key.spki()));
        insert("sender_signature", encode(&self.sender_signature));
        insert("sender_cert_fingerprint", self.sender_cert_fingerprint.as_str().into());
        insert("recipients_digest", ExactJson::String(hex::encode(self.recipients_digest)));
        match &self.recipients {
            V2Recipients::All(rows) => {
                insert("recipients", ExactJson::Array(rows.iter().map(RecipientRow::to_array).collect()));
            }
            V2Recipients::One { row, proof } => {
                insert("recipient", row.to_object());
                let proof = proof.iter().map(|step| step.to_json()).collect();
                insert("merkle_proof", ExactJson::Array(proof));
            }
        }
        if let Some(payload_type) = &self.payload_type {
            insert("payload_type", payload_type.as_str().into());
        }
        for (name, object) in [("protected_headers", &self.protected_headers), ("context", &self.context)] {
            if let Some(object) = object {
                insert(name, ExactJson::Object(object.clone()));
            }
        }
        members
    }
}

/// Reads either form of the recipients.
fn recipients(members: &mut Members, aad: &V2Aad) -> Result<V2Recipients, EnvelopeError> {
    if !members.has("recipients") {
        let row = RecipientRow::from_object(members.take("recipient")?)?;
        let proof = ProofStep::parse_all(members.take("merkle_proof")?)?;
        return Ok(V2Recipients::One { row, proof });
    }
    // With both forms, two readers could use different rows.
    if members.has("recipient") {
        return Err(EnvelopeError::Member("recipient"));
    }
    let rows = members.array("recipients")?;
    if rows.len() > MAX_RECIPIENTS {
        return Err(EnvelopeError::RecipientCount);
    }
    let rows: Vec<RecipientRow> = rows.into_iter().map(RecipientRow::from_array).collect::<Result<_, _>>()?;
    check_order(&rows)?;
    if WrapProtocol::together(rows.iter().map(RecipientRow::protocol)) != Some(aad.wrap_protocol) {
        return Err(EnvelopeError::Mismatch("aad.wrap_protocol"));
    }
    Ok(V2Recipients::All(rows))
}
