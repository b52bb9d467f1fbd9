//! Verifies the signatures of calls.

use guildhall_domain::identity::{Aid, is_signed_now};
use guildhall_identity::e2ee::{ClientSignature, ClientSignatureError};
use guildhall_identity::pki::ParsedCertificate;
use guildhall_runtime::Clock;

use super::error::MessageError;
use super::keys::Keys;
use crate::ServiceError;

/// A call that is signed.
#[derive(Debug, Clone, Copy)]
pub struct SignedCall<'a> {
    pub method: &'a str,
    /// The text of the parameters as it was received.
    pub params: &'a str,
}

/// The certificate that a connection signed with last: the next call needs no query.
#[derive(Debug, Clone, Default)]
pub struct CallSigner(Option<ParsedCertificate>);

/// Verifies the signatures of calls. Cheap to clone.
#[derive(Debug, Clone)]
pub struct SignedCalls {
    keys: Keys,
    clock: Clock,
}

impl SignedCalls {
    pub(super) fn new(keys: Keys, clock: Clock) -> Self {
        Self { keys, clock }
    }

    /// Refuses a call that an AID has not signed a short time ago with a certificate of its present key.
    pub async fn verify(
        &self,
        aid: &Aid,
        call: SignedCall<'_>,
        signer: &mut CallSigner,
    ) -> Result<(), ServiceError> {
        let signature = ClientSignature::parse(call.params).map_err(MessageError::CallSignature)?;
        let Some(signature) = signature else { return Ok(()) };
        if !is_signed_now(signature.signed_at(), self.clock.now()) {
            return Err(MessageError::CallSignatureTime.into());
        }
        let named = signature.certificate_digits();
        let known = signer.0.take().filter(|known| known.fingerprint.to_string() == named);
        let certificate = match known {
            Some(known) => Some(known),
            None => self.keys.certificate(aid, named).await?,
        };
        let unknown = MessageError::CallSignature(ClientSignatureError::OtherCertificate);
        let certificate = signer.0.insert(certificate.ok_or(unknown)?);
        Ok(signature.verify(call.method, certificate).map_err(MessageError::CallSignature)?)
    }
}
