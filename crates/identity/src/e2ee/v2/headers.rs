//! Headers of V2 in clear. Who has the key of the message can verify them.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::super::canonical::canonical_json;
use super::super::cipher::CipherKey;
use super::super::exact_json::{ExactJson, JsonObject};
use super::super::members::Members;
use super::super::open_error::OpenError;

const KEY_PURPOSE: &[u8] = b"aun-envelope-metadata-key-v1";
pub(super) const AUTH: &str = "_auth";
const ALGORITHM: &str = "HMAC-SHA256";

/// Which headers a tag is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeaderKind {
    Headers,
    Context,
}

impl HeaderKind {
    const fn domain(self) -> &'static [u8] {
        match self {
            Self::Headers => b"aun-protected-headers-v1\0",
            Self::Context => b"aun-protected-context-v1\0",
        }
    }
}

/// Adds the tag to headers. None where there are no headers, or they have no canonical form.
pub(super) fn with_tag(mut headers: JsonObject, kind: HeaderKind, key: &CipherKey) -> Option<JsonObject> {
    let text = signed_text(&headers, kind).filter(|_| !headers.is_empty())?;
    let tag = STANDARD.encode(hmac::sign(&tag_key(key), &text));
    let auth =
        JsonObject::from([("alg".to_owned(), ALGORITHM.into()), ("tag".to_owned(), ExactJson::String(tag))]);
    headers.insert(AUTH.to_owned(), ExactJson::Object(auth));
    Some(headers)
}

/// Verifies the tag of headers, in constant time. Without headers, there is nothing to verify.
pub(super) fn verify_tag(
    headers: Option<&JsonObject>,
    kind: HeaderKind,
    key: &CipherKey,
) -> Result<(), OpenError> {
    let mut headers = headers.cloned().unwrap_or_default();
    let auth = headers.remove(AUTH);
    if headers.is_empty() {
        return Ok(());
    }
    let mut auth = Members::of(auth.ok_or(OpenError::Headers)?, AUTH).map_err(|_| OpenError::Headers)?;
    auth.constant("alg", ALGORITHM).map_err(|_| OpenError::Headers)?;
    let tag = auth.base64("tag").map_err(|_| OpenError::Headers)?;
    let text = signed_text(&headers, kind).ok_or(OpenError::Headers)?;
    hmac::verify(&tag_key(key), &text, &tag).map_err(|_| OpenError::Headers)
}

fn signed_text(headers: &JsonObject, kind: HeaderKind) -> Option<Vec<u8>> {
    Some([kind.domain(), &canonical_json(headers).ok()?].concat())
}

fn tag_key(key: &CipherKey) -> hmac::Key {
    let key = hmac::Key::new(hmac::HMAC_SHA256, key.as_ref());
    hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, KEY_PURPOSE).as_ref())
}
