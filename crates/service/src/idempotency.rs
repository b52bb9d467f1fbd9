//! Creating once: the same key and the same words give the same object, other words are refused.

use std::str::FromStr;

use guildhall_domain::access::caller::Caller;
use guildhall_store::{Tx, idempotency_keys};
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::ServiceError;

/// A key that a client chose: 1 to 128 visible characters. Its scope is the caller, its window 24 hours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdempotencyKey(String);

impl FromStr for IdempotencyKey {
    type Err = ServiceError;

    fn from_str(text: &str) -> Result<Self, ServiceError> {
        if (1..=128).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(Self(text.to_owned()));
        }
        Err(ServiceError::Invalid("the Idempotency-Key must be 1 to 128 visible ASCII characters".to_owned()))
    }
}

/// What a create under a key has to do.
pub(crate) enum Claim {
    /// Make the object.
    Make,
    /// It was made before, under this id.
    Made(Uuid),
}

pub(crate) async fn claim(
    tx: &mut Tx,
    caller: &Caller,
    key: Option<&IdempotencyKey>,
    said: &Value,
    id: Uuid,
) -> Result<Claim, ServiceError> {
    let Some(IdempotencyKey(key)) = key else { return Ok(Claim::Make) };
    let body_hash = Sha256::digest(said.to_string());
    let made = idempotency_keys::claim(tx, caller.principal, key, &body_hash, id).await?;
    if made.id == id {
        return Ok(Claim::Make);
    }
    if made.body_hash != body_hash.as_slice() {
        return Err(ServiceError::KeyReused);
    }
    Ok(Claim::Made(made.id))
}
