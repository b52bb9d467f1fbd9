//! Signatures of clients over the parameters of a call.

use aws_lc_rs::digest::{SHA256, digest};

use super::bounds::MAX_ENVELOPE_BYTES;
use super::error::EnvelopeError;
use super::exact_json::{ExactJson, ExactJsonError, JsonObject};
use super::fingerprint::{FINGERPRINT_PREFIX, certificate_fingerprint};
use super::members::Members;
use crate::pki::ParsedCertificate;

const MEMBER: &str = "client_signature";

/// A signed call was not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ClientSignatureError {
    #[error("the parameters have more than {MAX_ENVELOPE_BYTES} bytes")]
    TooLong,
    #[error("the parameters are not accepted as JSON")]
    Json(#[source] ExactJsonError),
    #[error("the member `client_signature.{0}` is missing or invalid")]
    Member(&'static str),
    #[error("the signature covers other parameters")]
    OtherParameters,
    #[error("the signature is one of another AID")]
    OtherAid,
    #[error("the signature was made with another certificate")]
    OtherCertificate,
    #[error("the signature of the call is invalid")]
    Signature,
}

/// The member `client_signature` of parameters that it covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientSignature {
    aid: String,
    certificate_fingerprint: String,
    signed_at: i64,
    timestamp: String,
    params_hash: String,
    signature: Vec<u8>,
}

impl ClientSignature {
    /// Reads the signature of a call from the text of its parameters, exactly as they were received.
    ///
    /// Returns `None` if the call is not signed: clients do not sign every call.
    pub fn parse(params: &str) -> Result<Option<Self>, ClientSignatureError> {
        if params.len() > MAX_ENVELOPE_BYTES {
            return Err(ClientSignatureError::TooLong);
        }
        let mut params = ExactJson::parse_object(params).map_err(ClientSignatureError::Json)?;
        let Some(signature) = params.remove(MEMBER) else { return Ok(None) };
        let signature = Self::read(signature).map_err(member)?;
        if signature.params_hash != params_hash(params) {
            return Err(ClientSignatureError::OtherParameters);
        }
        Ok(Some(signature))
    }

    fn read(json: ExactJson) -> Result<Self, EnvelopeError> {
        let mut members = Members::of(json, MEMBER)?;
        let timestamp = members.text("timestamp")?;
        let is_number = !timestamp.is_empty() && timestamp.bytes().all(|byte| byte.is_ascii_digit());
        let signed_at = timestamp.parse().ok().filter(|_| is_number);
        Ok(Self {
            aid: members.text("aid")?,
            certificate_fingerprint: members.text("cert_fingerprint")?,
            signed_at: signed_at.ok_or(EnvelopeError::Member("timestamp"))?,
            timestamp,
            params_hash: members.text("params_hash")?,
            signature: members.base64("signature")?,
        })
    }

    /// Returns when the client signed, in seconds since 1970. The caller decides whether that is recent.
    #[must_use]
    pub fn signed_at(&self) -> i64 {
        self.signed_at
    }

    /// Returns the 64 digits of the fingerprint of the certificate that the client names.
    #[must_use]
    pub fn certificate_digits(&self) -> &str {
        let fingerprint = &self.certificate_fingerprint;
        fingerprint.strip_prefix(FINGERPRINT_PREFIX).unwrap_or(fingerprint)
    }

    /// Verifies the signature for the method that was called.
    pub fn verify(&self, method: &str, certificate: &ParsedCertificate) -> Result<(), ClientSignatureError> {
        if self.aid != certificate.common_name {
            return Err(ClientSignatureError::OtherAid);
        }
        if self.certificate_fingerprint != certificate_fingerprint(&certificate.fingerprint) {
            return Err(ClientSignatureError::OtherCertificate);
        }
        let message = format!("{method}|{}|{}|{}", self.aid, self.timestamp, self.params_hash);
        let verified = certificate.public_key.verify(message.as_bytes(), &self.signature);
        verified.map_err(|_| ClientSignatureError::Signature)
    }
}

/// Returns the hash of parameters without those that no signature covers.
fn params_hash(mut params: JsonObject) -> String {
    params.retain(|key, _| !key.starts_with('_'));
    hex::encode(digest(&SHA256, ExactJson::Object(params).to_text().as_bytes()))
}

fn member(error: EnvelopeError) -> ClientSignatureError {
    let EnvelopeError::Member(name) = error else { return ClientSignatureError::Member(MEMBER) };
    ClientSignatureError::Member(name)
}

#[cfg(test)]
mod tests;
