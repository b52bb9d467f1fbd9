//! Idempotent creates: the same key and body return the same object; another body is refused.

use std::str::FromStr;

use guildhall_domain::access::caller::Caller;
use guildhall_store::{Tx, idempotency_keys};
use serde_json::Value;
use sha2::{Digest, Sha256};
use uuid::Uuid;

use crate::ServiceError;

/// A key chosen by a client: 1 to 128 visible ASCII characters. Its scope is the caller, its window 24 hours.
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

/// Whether a create has to be carried out.
pub(crate) enum Claim {
    /// Create the object.
    Create,
    /// It was created before, under this id.
    Created(Uuid),
}

pub(crate) async fn claim(
    tx: &mut Tx,
    caller: &Caller,
    key: Option<&IdempotencyKey>,
    body: &Value,
    id: Uuid,
) -> Result<Claim, ServiceError> {
    let Some(IdempotencyKey(key)) = key else { return Ok(Claim::Create) };
    let body_hash = Sha256::digest(body.to_string());
    let stored = idempotency_keys::claim(tx, caller.principal, key, &body_hash, id).await?;
    if stored.id == id {
        return Ok(Claim::Create);
    }
    if stored.body_hash != body_hash.as_slice() {
        return Err(ServiceError::KeyReused);
    }
    Ok(Claim::Created(stored.id))
}
