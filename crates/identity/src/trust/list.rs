//! Creates and signs a list of roots.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::identity::CertificateFingerprint;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::pki::{SignError, Signer, der_to_pem, sha256};

/// How long a list is valid. Clients fetch one now and then.
const LIFETIME: Duration = Duration::from_secs(24 * 3600);

pub(super) const SIGNATURE: &str = "authority_signature";
pub(super) const ROOTS: &str = "root_cas";
pub(super) const ACTIVE: &str = "active";

/// A root of the list.
#[derive(Debug, Clone, Copy)]
pub struct RootEntry<'a> {
    pub name: &'a str,
    pub organization: &'a str,
    /// The certificate in DER.
    pub certificate: &'a [u8],
    pub crl_url: &'a str,
    pub ocsp_url: &'a str,
}

/// Returns the roots as the list contains them. All are active.
#[must_use]
pub fn root_entries(roots: &[RootEntry<'_>]) -> Value {
    let entry = |root: &RootEntry<'_>| {
        let fingerprint = sha256(root.certificate).to_string();
        json!({
            "id": fingerprint, "name": root.name, "organization": root.organization,
            "certificate": der_to_pem(root.certificate), "fingerprint_sha256": fingerprint,
            "status": ACTIVE, "crl_url": root.crl_url, "ocsp_url": root.ocsp_url,
        })
    };
    roots.iter().map(entry).collect()
}

/// Returns the hash that changes with the roots, and not with the dates of a list.
#[must_use]
pub fn content_hash(roots: &Value) -> CertificateFingerprint {
    sha256(canonical(roots).as_bytes())
}

/// Signs a list of roots.
pub fn sign_list(version: u64, roots: &Value, now: Timestamp, key: &dyn Signer) -> Result<Value, SignError> {
    let issued_at = Timestamp::from_second(now.as_second()).map_err(|_| SignError)?;
    let next_update = issued_at.checked_add(LIFETIME).map_err(|_| SignError)?;
    let mut list = Map::new();
    list.insert("version".to_owned(), version.into());
    list.insert("issued_at".to_owned(), issued_at.to_string().into());
    list.insert("next_update".to_owned(), next_update.to_string().into());
    list.insert(ROOTS.to_owned(), roots.clone());
    let signature = key.sign(signed_text(&list).as_bytes())?;
    list.insert(SIGNATURE.to_owned(), STANDARD.encode(signature).into());
    Ok(Value::Object(list))
}

/// Returns the text that the signature is over: the list without it.
pub(super) fn signed_text(list: &Map<String, Value>) -> String {
    let mut unsigned = list.clone();
    unsigned.remove(SIGNATURE);
    canonical(&Value::Object(unsigned))
}

/// The keys of a JSON object are sorted in this workspace: the feature `preserve_order` is off. The output has no spaces.
fn canonical(value: &Value) -> String {
    value.to_string()
}
