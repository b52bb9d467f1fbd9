//! Opens sealed messages with the key of an agent, and seals its answers. The server can do this for agents alone, whose keys it
//! holds.

use guildhall_domain::identity::Aid;
use guildhall_domain::messages::{AgentAnswer, InboxMessage, MessageId, MessageKind, SentPayload};
use guildhall_identity::e2ee::v1::{V1Envelope, V1Message, V1Reader, V1Recipient};
use guildhall_identity::e2ee::v2::{Role, V2Envelope, V2Message, V2Reader, V2Recipient};
use guildhall_identity::e2ee::{ExactJson, JsonObject, SealingError};
use guildhall_identity::pki::{EcKey, P256PublicKey};
use guildhall_store::agent_inboxes::HostedAgent;
use serde_json::Value;

use super::instance;
use super::reconcile::AnswerMessages;
use crate::ServiceError;
use crate::front::error::FrontError;

/// A message to send for an agent.
pub(super) struct AgentMessage<'a> {
    pub(super) agent: &'a HostedAgent,
    pub(super) to: &'a Aid,
    pub(super) id: &'a MessageId,
    pub(super) payload: &'a Value,
}

impl AnswerMessages {
    /// Returns what a message says. The inner error is what its sender is told.
    pub(super) async fn open_message(
        &self,
        agent: &HostedAgent,
        message: &InboxMessage,
        payload: &str,
    ) -> Result<Result<Value, AgentAnswer>, ServiceError> {
        let opened = match message.kind {
            MessageKind::SealedV2 => self.open_v2(agent, message, payload).await?,
            MessageKind::SealedV1 => self.open_v1(agent, message, payload).await?,
            MessageKind::Plain => Some(payload.to_owned()),
            MessageKind::SealedV1Copies
            | MessageKind::SealedV1SelfCopies
            | MessageKind::SealedV2SelfCopy
            | MessageKind::Recall => None,
        };
        let value = opened.and_then(|text| serde_json::from_str(&text).ok());
        Ok(value.ok_or_else(|| AgentAnswer::Failure {
            kind: "cannot-open".to_owned(),
            message: "this agent cannot open the message: seal it again for the key of its certificate"
                .to_owned(),
        }))
    }

    async fn open_v2(
        &self,
        agent: &HostedAgent,
        message: &InboxMessage,
        payload: &str,
    ) -> Result<Option<String>, ServiceError> {
        let Ok(envelope) = V2Envelope::parse(payload) else { return Ok(None) };
        let sender = self.messages.keys.certificate(&message.from, &envelope.sender_cert_fingerprint).await?;
        let (Some(sender), key) = (sender, self.agent_key(agent).await?) else { return Ok(None) };
        let reader = V2Reader { aid: &agent.aid.to_string(), device_id: "", identity: &key, spk: None };
        Ok(envelope.open(&reader, &sender).ok())
    }

    async fn open_v1(
        &self,
        agent: &HostedAgent,
        message: &InboxMessage,
        payload: &str,
    ) -> Result<Option<String>, ServiceError> {
        let Ok(envelope) = V1Envelope::parse(payload) else { return Ok(None) };
        let named = &envelope.aad.sender_cert_fingerprint;
        let sender = self.messages.keys.certificate(&message.from, named).await?;
        let (Some(sender), key) = (sender, self.agent_key(agent).await?) else { return Ok(None) };
        Ok(envelope.open(&V1Reader { identity: &key, prekey: None }, &sender).ok())
    }

    /// Seals an answer as the question was. It fails closed: the answer to a sealed message is never sent in clear.
    pub(super) async fn seal_message(
        &self,
        message: &AgentMessage<'_>,
        kind: MessageKind,
    ) -> Result<SentPayload, ServiceError> {
        match kind {
            MessageKind::SealedV2 => self.seal_v2(message).await,
            MessageKind::SealedV1 => self.seal_v1(message).await,
            MessageKind::Plain
            | MessageKind::SealedV1Copies
            | MessageKind::SealedV1SelfCopies
            | MessageKind::SealedV2SelfCopy
            | MessageKind::Recall => Ok(SentPayload::Plain(message.payload.to_string())),
        }
    }

    async fn seal_v2(&self, message: &AgentMessage<'_>) -> Result<SentPayload, ServiceError> {
        let recipients = self.v2_recipients(message).await?;
        let (key, payload, own) = (self.agent_key(message.agent).await?, exact(message.payload)?, instance());
        let to_seal = V2Message {
            from: &message.agent.aid.to_string(),
            from_device: own.device(),
            to: &message.to.to_string(),
            message_id: message.id.as_str(),
            timestamp_ms: self.clock.now().as_millisecond(),
            payload: &payload,
        };
        let envelope = to_seal.seal(&key, &recipients).map_err(FrontError::SealAnswer)?;
        Ok(SentPayload::SealedV2(json(&envelope.to_text())?))
    }

    /// Returns the devices of the recipient, or its certificate where no device has a key.
    async fn v2_recipients(&self, message: &AgentMessage<'_>) -> Result<Vec<V2Recipient>, ServiceError> {
        let client = self.messages.hosted_client(&message.agent.aid, instance()).await?;
        let keys = self.messages.keys.recipient(&client, message.to).await?;
        let public_key = |text: &str| P256PublicKey::from_base64(text).map_err(|_| unusable_key());
        let identity_key = public_key(&keys.identity_key)?;
        let recipient = |device_id: String, spk| V2Recipient {
            aid: message.to.to_string(),
            device_id,
            role: Role::Peer,
            identity_key: identity_key.clone(),
            spk,
        };
        if keys.devices.is_empty() {
            return Ok(vec![recipient(String::new(), None)]);
        }
        let devices = keys.devices.into_iter();
        devices
            .map(|found| Ok(recipient(found.key.device, Some(public_key(&found.key.public_key)?))))
            .collect()
    }

    /// The first version is sealed for the key of the certificate: every client of it opens that.
    async fn seal_v1(&self, message: &AgentMessage<'_>) -> Result<SentPayload, ServiceError> {
        let own = self.messages.keys.current_certificate(&message.agent.aid).await?;
        let recipient = self.messages.keys.current_certificate(message.to).await?;
        let (key, payload) = (self.agent_key(message.agent).await?, exact(message.payload)?);
        let to_seal = V1Message {
            from: &own,
            to: &message.to.to_string(),
            message_id: message.id.as_str(),
            timestamp_ms: self.clock.now().as_millisecond(),
            payload: &payload,
        };
        let sealed = to_seal.seal(&key, &V1Recipient { certificate: &recipient, prekey: None });
        Ok(SentPayload::SealedV1(json(&sealed.map_err(FrontError::SealAnswer)?.to_text())?))
    }

    async fn agent_key(&self, agent: &HostedAgent) -> Result<EcKey, ServiceError> {
        self.identity.agent_keys()?.get(agent.agent).await
    }
}

fn unusable_key() -> ServiceError {
    FrontError::SealAnswer(SealingError::Recipients).into()
}

fn exact(payload: &Value) -> Result<JsonObject, ServiceError> {
    let object = ExactJson::parse_object(&payload.to_string());
    Ok(object.map_err(|_| FrontError::SealAnswer(SealingError::Payload))?)
}

fn json(envelope: &str) -> Result<Value, ServiceError> {
    Ok(serde_json::from_str(envelope).map_err(|_| FrontError::SealAnswer(SealingError::Payload))?)
}
