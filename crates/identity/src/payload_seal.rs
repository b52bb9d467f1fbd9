//! Encryption of what users and agents wrote, and the server only passes on: the exact payloads of commands, the bundles
//! and diffs of workspaces, the questions of agents and the values of their answers. Also of the signing secrets of webhooks.
//!
//! The database stores a redacted copy of a prompt. The agent must receive the exact prompt, which is therefore kept
//! encrypted until its command ends. The keys are derived from the operator's key-encryption key, which is not in the
//! database.

use std::fmt;

use aws_lc_rs::hmac;
use secrecy::{ExposeSecret, SecretString};
use uuid::Uuid;

use crate::seal::{Kek, SealError, open, seal};
use crate::webhook_secret::WebhookSecret;

const ENCRYPTION: &[u8] = b"guildhall command payload v1";
const DIFFS: &[u8] = b"guildhall workspace diff v1";
const BUNDLES: &[u8] = b"guildhall workspace bundle v1";
const QUESTIONS: &[u8] = b"guildhall question v1";
const ANSWERS: &[u8] = b"guildhall answer v1";
const ANSWER_DIGEST: &[u8] = b"guildhall answer digest v1";
const WEBHOOKS: &[u8] = b"guildhall webhook secret v1";
const DIGEST: &[u8] = b"guildhall command payload digest v1";

/// Encrypts and decrypts the payloads of commands, the bundles and diffs of runs, the questions of agents, their answers and the
/// secrets of webhooks.
pub struct PayloadSealer {
    encryption: Kek,
    diffs: Kek,
    bundles: Kek,
    questions: Kek,
    answers: Kek,
    webhooks: Kek,
    digest: hmac::Key,
    answer_digest: hmac::Key,
}

impl PayloadSealer {
    #[must_use]
    pub fn new(kek: &Kek) -> Self {
        Self {
            encryption: kek.derive_kek(ENCRYPTION),
            diffs: kek.derive_kek(DIFFS),
            bundles: kek.derive_kek(BUNDLES),
            questions: kek.derive_kek(QUESTIONS),
            answers: kek.derive_kek(ANSWERS),
            webhooks: kek.derive_kek(WEBHOOKS),
            digest: kek.derive(DIGEST),
            answer_digest: kek.derive(ANSWER_DIGEST),
        }
    }

    /// Encrypts the payload of a command. It can be decrypted for this command only.
    pub fn seal(&self, command: Uuid, payload: &str) -> Result<Vec<u8>, SealError> {
        seal(&self.encryption, command.as_bytes(), payload.as_bytes())
    }

    /// Decrypts the payload of a command.
    pub fn open(&self, command: Uuid, sealed: &[u8]) -> Result<SecretString, SealError> {
        let payload = open(&self.encryption, command.as_bytes(), sealed)?;
        let text = str::from_utf8(payload.expose_secret()).map_err(|_| SealError::Open)?;
        Ok(SecretString::from(text))
    }

    /// Encrypts the diff of a run. It can be decrypted for this run only.
    pub fn seal_diff(&self, run: Uuid, diff: &[u8]) -> Result<Vec<u8>, SealError> {
        seal(&self.diffs, run.as_bytes(), diff)
    }

    /// Decrypts the diff of a run.
    pub fn open_diff(&self, run: Uuid, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        open(&self.diffs, run.as_bytes(), sealed).map(|diff| diff.expose_secret().to_vec())
    }

    /// Encrypts a part of the bundle of a run. It can be decrypted for this run and as this part only.
    pub fn seal_bundle_part(&self, run: Uuid, number: u32, content: &[u8]) -> Result<Vec<u8>, SealError> {
        seal(&self.bundles, &bundle_part_context(run, number), content)
    }

    /// Decrypts a part of the bundle of a run.
    pub fn open_bundle_part(&self, run: Uuid, number: u32, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        let content = open(&self.bundles, &bundle_part_context(run, number), sealed)?;
        Ok(content.expose_secret().to_vec())
    }

    /// Encrypts the question of an approval. It can be decrypted for this approval only.
    pub fn seal_question(&self, approval: Uuid, question: &[u8]) -> Result<Vec<u8>, SealError> {
        seal(&self.questions, approval.as_bytes(), question)
    }

    /// Decrypts the question of an approval.
    pub fn decrypt_question(&self, approval: Uuid, sealed: &[u8]) -> Result<Vec<u8>, SealError> {
        open(&self.questions, approval.as_bytes(), sealed).map(|question| question.expose_secret().to_vec())
    }

    /// Encrypts the values of an answer. They can be decrypted for this approval only.
    pub fn seal_answer(&self, approval: Uuid, content: &str) -> Result<Vec<u8>, SealError> {
        seal(&self.answers, approval.as_bytes(), content.as_bytes())
    }

    /// Decrypts the values of an answer.
    pub fn open_answer(&self, approval: Uuid, sealed: &[u8]) -> Result<SecretString, SealError> {
        let content = open(&self.answers, approval.as_bytes(), sealed)?;
        let text = str::from_utf8(content.expose_secret()).map_err(|_| SealError::Open)?;
        Ok(SecretString::from(text))
    }

    /// Returns a digest by which equal answers to one question are recognised, and which is of no use for guessing one.
    #[must_use]
    pub fn answer_digest(&self, approval: Uuid, content: &str) -> [u8; 32] {
        let mut signing = hmac::Context::with_key(&self.answer_digest);
        signing.update(approval.as_bytes());
        signing.update(content.as_bytes());
        let mut digest = [0; 32];
        digest.copy_from_slice(signing.sign().as_ref());
        digest
    }

    /// Encrypts a signing secret. It can be decrypted for this webhook only.
    pub fn seal_webhook_secret(&self, webhook: Uuid, secret: &WebhookSecret) -> Result<Vec<u8>, SealError> {
        seal(&self.webhooks, webhook.as_bytes(), secret.expose())
    }

    /// Decrypts the signing secret of a webhook.
    pub fn open_webhook_secret(&self, webhook: Uuid, sealed: &[u8]) -> Result<WebhookSecret, SealError> {
        let secret = open(&self.webhooks, webhook.as_bytes(), sealed)?;
        WebhookSecret::from_bytes(&secret).map_err(|_| SealError::Open)
    }

    /// Returns a digest by which equal payloads are recognised, and which is of no use for guessing one.
    #[must_use]
    pub fn digest(&self, payload: &str) -> String {
        hex::encode(hmac::sign(&self.digest, payload.as_bytes()))
    }
}

fn bundle_part_context(run: Uuid, number: u32) -> [u8; 20] {
    let mut context = [0; 20];
    context[..16].copy_from_slice(run.as_bytes());
    context[16..].copy_from_slice(&number.to_be_bytes());
    context
}

impl fmt::Debug for PayloadSealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PayloadSealer([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYLOAD: &str = r#"{"prompt":"password: hunter2"}"#;

    fn sealer(digit: char) -> PayloadSealer {
        let text = SecretString::from(digit.to_string().repeat(64));
        PayloadSealer::new(&Kek::from_hex(&text).expect("a key"))
    }

    fn opened(sealer: &PayloadSealer, command: Uuid, sealed: &[u8]) -> Result<String, SealError> {
        sealer.open(command, sealed).map(|payload| payload.expose_secret().to_owned())
    }

    #[test]
    fn payload_opens_only_for_its_command_and_key() {
        let (command, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let sealed = sealer('a').seal(command, PAYLOAD).expect("sealed");
        let opened = [
            opened(&sealer('a'), command, &sealed),
            opened(&sealer('a'), other, &sealed),
            opened(&sealer('b'), command, &sealed),
        ];
        assert_eq!(opened, [Ok(PAYLOAD.to_owned()), Err(SealError::Open), Err(SealError::Open)]);
    }

    #[test]
    fn key_encryption_key_itself_does_not_open_a_payload() {
        let command = Uuid::from_u128(1);
        let kek = Kek::from_hex(&SecretString::from("a".repeat(64))).expect("a key");
        let sealed = sealer('a').seal(command, PAYLOAD).expect("sealed");
        assert_eq!(open(&kek, command.as_bytes(), &sealed).err(), Some(SealError::Open));
    }

    #[test]
    fn diff_opens_only_for_its_run() {
        let (run, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let sealed = sealer('a').seal_diff(run, b"+fixed").expect("sealed");
        assert_eq!(sealer('a').open_diff(run, &sealed), Ok(b"+fixed".to_vec()));
        assert_eq!(sealer('a').open_diff(other, &sealed), Err(SealError::Open));
        assert_eq!(opened(&sealer('a'), run, &sealed), Err(SealError::Open), "payloads have another key");
    }

    #[test]
    fn webhook_secret_opens_only_for_its_webhook() {
        let (webhook, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let secret = WebhookSecret::generate();
        let sealed = sealer('a').seal_webhook_secret(webhook, &secret).expect("sealed");
        let signature = |sealer: PayloadSealer, webhook: Uuid| {
            sealer.open_webhook_secret(webhook, &sealed).map(|secret| secret.sign("content"))
        };
        assert_eq!(signature(sealer('a'), webhook), Ok(secret.sign("content")));
        assert_eq!(signature(sealer('a'), other), Err(SealError::Open));
        assert_eq!(signature(sealer('b'), webhook), Err(SealError::Open));
        assert_eq!(sealer('a').decrypt_question(webhook, &sealed), Err(SealError::Open));
    }

    #[test]
    fn answer_opens_only_for_its_approval_and_its_digest_is_of_it_alone() {
        let (approval, other) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let sealed = sealer('a').seal_answer(approval, PAYLOAD).expect("sealed");
        let opened = |sealer: PayloadSealer, approval| {
            sealer.open_answer(approval, &sealed).map(|content| content.expose_secret().to_owned())
        };
        assert_eq!(opened(sealer('a'), approval), Ok(PAYLOAD.to_owned()));
        assert_eq!(opened(sealer('a'), other), Err(SealError::Open));
        assert_eq!(opened(sealer('b'), approval), Err(SealError::Open));
        assert_eq!(sealer('a').decrypt_question(approval, &sealed), Err(SealError::Open));
        let digest = sealer('a').answer_digest(approval, PAYLOAD);
        assert_eq!(digest, sealer('a').answer_digest(approval, PAYLOAD));
        for different in [
            sealer('a').answer_digest(other, PAYLOAD),
            sealer('a').answer_digest(approval, "{}"),
            sealer('b').answer_digest(approval, PAYLOAD),
        ] {
            assert_ne!(digest, different);
        }
    }

    #[test]
    fn digest_depends_on_payload_and_key() {
        let digest = sealer('a').digest(PAYLOAD);
        assert_eq!(digest, sealer('a').digest(PAYLOAD));
        assert_ne!(digest, sealer('a').digest("{}"));
        assert_ne!(digest, sealer('b').digest(PAYLOAD));
    }
}
