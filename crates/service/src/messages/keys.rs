//! Public keys of devices for end-to-end encryption: stored, handed out, and compared with what senders use.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::{Aid, FingerprintQuery, IssuedCertificate};
use guildhall_domain::messages::keys::{
    MAX_DEVICES, PREKEY_LIFETIME, Prekey, SIGNED_PREKEY_LIFETIME, SignedPrekey, check_texts,
};
use guildhall_domain::messages::{InboxId, MessageId, SentPayload};
use guildhall_identity::e2ee::{EnvelopeError, SignedSpk};
use guildhall_identity::pki::{P256PublicKey, ParsedCertificate};
use guildhall_runtime::Clock;
use guildhall_store::{Store, agent_inboxes, aid_certificates, aids, e2ee_prekeys, e2ee_signed_prekeys};

use super::InboxClient;
use super::addresses::Addresses;
use super::envelopes::{Expected, SealedEnvelope};
use super::error::MessageError;
use super::request::MessageRequest;
use crate::ServiceError;

/// The newest key of a device, second version.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceKeys {
    pub key: SignedPrekey,
}

/// What a sender needs to seal a message for an AID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecipientKeys {
    pub certificate: IssuedCertificate,
    /// SubjectPublicKeyInfo of the certificate's key, in base64.
    pub identity_key: String,
    /// None where no device has stored one: the message is sealed for the key of the certificate.
    pub devices: Vec<DeviceKeys>,
    /// The AID is the one of an agent that the server answers for.
    pub is_hosted: bool,
}

/// Stores and hands out keys. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Keys {
    store: Store,
    clock: Clock,
    addresses: Addresses,
}

/// An AID's current certificate and its key.
struct CurrentKey {
    certificate: IssuedCertificate,
    key: P256PublicKey,
}

impl CurrentKey {
    fn parsed(&self) -> Result<ParsedCertificate, ServiceError> {
        let parsed = ParsedCertificate::from_der(&self.certificate.der);
        Ok(parsed.map_err(crate::identity::error::AidLoginError::from)?)
    }

    fn fingerprint(&self) -> [u8; 32] {
        *self.certificate.key_fingerprint.as_bytes()
    }
}

impl Keys {
    pub(super) fn new(store: Store, clock: Clock, addresses: Addresses) -> Self {
        Self { store, clock, addresses }
    }

    /// Stores the prekey of the caller's device, first version. The AID has signed it.
    pub async fn put_prekey(&self, client: &InboxClient, prekey: Prekey) -> Result<(), ServiceError> {
        let texts = [
            ("prekey_id", prekey.id.as_str()),
            ("public_key", &prekey.public_key),
            ("signature", &prekey.signature),
        ];
        check_texts(&texts).map_err(MessageError::from)?;
        let current = self.current_key(&client.aid).await?;
        let signed = guildhall_identity::e2ee::SignedPrekey {
            prekey_id: prekey.id.clone(),
            public_key: prekey.public_key.clone(),
            created_at: prekey.created_at_ms,
            signature: prekey.signature.clone(),
            // Whoever uses the key compares the certificate.
            cert_fingerprint: None,
            device_id: String::new(),
        };
        signed.verify(&current.parsed()?).map_err(MessageError::DeviceKey)?;
        let prekey = Prekey { device: client.instance.device().to_owned(), ..prekey };
        let fingerprint = current.fingerprint();
        e2ee_prekeys::replace(&self.store, client.inbox, &prekey, &fingerprint, MAX_DEVICES).await?;
        Ok(())
    }

    /// Returns the prekeys of an AID's devices, first version.
    pub async fn prekeys(&self, _client: &InboxClient, aid: &Aid) -> Result<Vec<Prekey>, ServiceError> {
        let inbox = self.addresses.inbox_of(aid).await?;
        let current = self.current_key(aid).await?;
        let after = self.clock.now() - PREKEY_LIFETIME;
        Ok(e2ee_prekeys::list(&self.store, inbox, &current.fingerprint(), after, MAX_DEVICES).await?)
    }

    /// Stores the key of the caller's device, second version. The AID has signed it.
    pub async fn put_signed_prekey(
        &self,
        client: &InboxClient,
        key: SignedPrekey,
    ) -> Result<(), ServiceError> {
        let texts =
            [("spk_id", key.id.as_str()), ("spk_pk", &key.public_key), ("spk_signature", &key.signature)];
        check_texts(&texts).map_err(MessageError::from)?;
        let current = self.current_key(&client.aid).await?;
        check_signed_prekey(&current.key, &key)?;
        let key = SignedPrekey { device: client.instance.device().to_owned(), ..key };
        let fingerprint = current.fingerprint();
        e2ee_signed_prekeys::insert(&self.store, client.inbox, &key, &fingerprint, MAX_DEVICES).await?;
        Ok(())
    }

    /// Returns what a sender needs to seal a message for an AID, second version.
    pub async fn recipient(&self, _client: &InboxClient, aid: &Aid) -> Result<RecipientKeys, ServiceError> {
        let inbox = self.addresses.inbox_of(aid).await?;
        let current = self.current_key(aid).await?;
        let mut devices: Vec<DeviceKeys> = Vec::new();
        for key in self.signed_prekeys(inbox, &current).await? {
            // The newest of a device comes first.
            if devices.last().is_none_or(|last| last.key.device != key.device) {
                devices.push(DeviceKeys { key });
            }
        }
        if devices.is_empty() && self.has_prekeys(inbox, &current).await? {
            return Err(
                MessageError::NoKeyOfVersion("they have stored keys of the first version only").into()
            );
        }
        let identity_key = STANDARD.encode(current.key.spki());
        let is_hosted = agent_inboxes::is_hosted(&self.store, inbox).await?;
        Ok(RecipientKeys { certificate: current.certificate, identity_key, devices, is_hosted })
    }

    /// Returns the certificate of an AID's present key that a sealed message names.
    pub(crate) async fn certificate(
        &self,
        aid: &Aid,
        fingerprint: &str,
    ) -> Result<Option<ParsedCertificate>, ServiceError> {
        let current = self.current_key(aid).await?;
        self.named_certificate(aid, &current, fingerprint).await
    }

    /// Returns the newest certificate of an AID.
    pub(crate) async fn current_certificate(&self, aid: &Aid) -> Result<ParsedCertificate, ServiceError> {
        let found =
            aids::find(&self.store, aid).await?.ok_or_else(|| MessageError::UnknownAid(aid.clone()))?;
        let parsed = ParsedCertificate::from_der(&found.certificate.der);
        Ok(parsed.map_err(crate::identity::error::AidLoginError::from)?)
    }

    /// Refuses a sealed message that no device of the recipient can open, as far as that is seen without a private key. Returns the id
    /// that its sender has sealed with it.
    pub(super) async fn check_sealed(
        &self,
        client: &InboxClient,
        recipient: InboxId,
        request: &MessageRequest,
    ) -> Result<Option<MessageId>, ServiceError> {
        let is_v2 = match &request.payload {
            SentPayload::Plain(_) => return Ok(None),
            SentPayload::SealedV1(_) | SentPayload::SealedV1Copies { .. } => false,
            SentPayload::SealedV2(_) => true,
        };
        let current = self.current_key(&request.to).await?;
        let has_v1 = self.has_prekeys(recipient, &current).await?;
        let v2 = self.signed_prekeys(recipient, &current).await?;
        refuse_other_version(is_v2, has_v1, !v2.is_empty())?;
        let envelope = SealedEnvelope::parse(&request.payload).map_err(envelope_error)?;
        let Some(envelope) = envelope else { return Ok(None) };
        let own = self.current_key(&client.aid).await?;
        let sender = self.named_certificate(&client.aid, &own, envelope.sender_fingerprint()).await?;
        let sender = sender.ok_or(MessageError::Envelope(EnvelopeError::SenderCertificate))?;
        let mut known = Vec::new();
        for fingerprint in envelope.recipient_fingerprints() {
            let found = self.named_certificate(&request.to, &current, fingerprint).await?;
            known.push(found.ok_or(MessageError::StaleKeys)?.fingerprint);
        }
        if !has_v1 && envelope.needs_recipient_prekey() {
            return Err(MessageError::NoKeyOfVersion("they have stored no prekey").into());
        }
        let own_keys = if is_v2 { self.signed_prekeys(client.inbox, &own).await? } else { Vec::new() };
        let expected = Expected {
            client,
            sender: &sender,
            own_key: &own.key,
            own_keys: &own_keys,
            to: &request.to.to_string(),
            from: &client.aid.to_string(),
            message_id: request.id.as_ref(),
            recipient_key: &current.key,
            recipient_keys: &v2,
            recipient_device: request.device.as_deref(),
            recipient_certificates: &known,
        };
        envelope.check(&expected).map_err(envelope_error)?;
        Ok(envelope.message_id())
    }

    /// Returns the certificate that an envelope names, if the AID has it for its present key.
    async fn named_certificate(
        &self,
        aid: &Aid,
        current: &CurrentKey,
        fingerprint: &str,
    ) -> Result<Option<ParsedCertificate>, ServiceError> {
        let Ok(query) = fingerprint.parse::<FingerprintQuery>() else { return Ok(None) };
        let found = aid_certificates::find_by_fingerprint(&self.store, aid, &query).await?;
        let Some(found) = found.filter(|found| found.key_fingerprint == current.certificate.key_fingerprint)
        else {
            return Ok(None);
        };
        let parsed = ParsedCertificate::from_der(&found.der);
        Ok(Some(parsed.map_err(crate::identity::error::AidLoginError::from)?))
    }

    async fn signed_prekeys(
        &self,
        inbox: InboxId,
        current: &CurrentKey,
    ) -> Result<Vec<SignedPrekey>, ServiceError> {
        let after = self.clock.now() - SIGNED_PREKEY_LIFETIME;
        Ok(e2ee_signed_prekeys::list(&self.store, inbox, &current.fingerprint(), after).await?)
    }

    async fn has_prekeys(&self, inbox: InboxId, current: &CurrentKey) -> Result<bool, ServiceError> {
        let after = self.clock.now() - PREKEY_LIFETIME;
        let found = e2ee_prekeys::list(&self.store, inbox, &current.fingerprint(), after, 1).await?;
        Ok(!found.is_empty())
    }

    async fn current_key(&self, aid: &Aid) -> Result<CurrentKey, ServiceError> {
        let found =
            aids::find(&self.store, aid).await?.ok_or_else(|| MessageError::UnknownAid(aid.clone()))?;
        let parsed = ParsedCertificate::from_der(&found.certificate.der);
        let key = parsed.map_err(crate::identity::error::AidLoginError::from)?.public_key;
        Ok(CurrentKey { certificate: found.certificate, key })
    }
}

/// Refuses a message of a version that the recipient's devices have no keys of, although they have keys of the other one.
fn refuse_other_version(is_v2: bool, has_v1: bool, has_v2: bool) -> Result<(), MessageError> {
    if is_v2 && has_v1 && !has_v2 {
        return Err(MessageError::NoKeyOfVersion("they have stored keys of the first version only"));
    }
    if !is_v2 && !has_v1 && has_v2 {
        return Err(MessageError::NoKeyOfVersion("they have stored keys of the second version only"));
    }
    Ok(())
}

/// Verifies that the AID has signed the key of its device.
fn check_signed_prekey(identity: &P256PublicKey, key: &SignedPrekey) -> Result<(), ServiceError> {
    let signed = SignedSpk {
        spk_id: key.id.clone(),
        spk_pk: key.public_key.clone(),
        spk_signature: key.signature.clone(),
        spk_timestamp: key.signed_at,
    };
    signed.verify(identity).map(drop).map_err(|error| MessageError::DeviceKey(error).into())
}

fn envelope_error(error: EnvelopeError) -> MessageError {
    if matches!(error, EnvelopeError::UnknownRecipient { .. } | EnvelopeError::MissingDevice) {
        MessageError::StaleKeys
    } else {
        MessageError::Envelope(error)
    }
}
