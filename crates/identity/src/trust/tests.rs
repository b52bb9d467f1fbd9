//! Lists of roots as clients verify them.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::pki::{Curve, EcKey, der_to_pem, self_signed_authority, self_signed_root};

struct Fixture {
    key: EcKey,
    authority: AuthorityKey,
    root: Vec<u8>,
    now: Timestamp,
}

impl Fixture {
    fn new() -> Self {
        let now = "2026-11-18T20:00:00Z".parse().expect("a time");
        let key = EcKey::generate(Curve::P384).expect("a key");
        let certificate = self_signed_authority("guild.example trust", &key, now).expect("signed");
        let authority = AuthorityKey::from_certificate_pem(&der_to_pem(&certificate)).expect("a key");
        let root_key = EcKey::generate(Curve::P384).expect("a key");
        let root = self_signed_root("guild.example root", &root_key, now).expect("signed");
        Self { key, authority, root, now }
    }

    fn roots(&self) -> Value {
        root_entries(&[RootEntry {
            name: "guild.example root",
            organization: "Gilde der Bäcker",
            certificate: &self.root,
            crl_url: "https://pki.guild.example/pki/crl.json",
            ocsp_url: "https://pki.guild.example/pki/ocsp",
        }])
    }

    fn list(&self, version: u64) -> Value {
        self.sign(version, &self.roots())
    }

    fn sign(&self, version: u64, roots: &Value) -> Value {
        sign_list(version, roots, self.now, &self.key).expect("signed")
    }

    fn verify(&self, list: &Value) -> Result<TrustedRoots, TrustListError> {
        TrustListRules { authority: &self.authority, stored_version: 2, now: self.now }.verify(list)
    }
}

// covers: A12
#[test]
fn root_of_a_signed_list_is_imported() {
    let fixture = Fixture::new();
    let trusted = fixture.verify(&fixture.list(2)).expect("trusted");
    assert_eq!((trusted.version, trusted.roots.len()), (2, 1));
    assert_eq!(trusted.find_pem(&der_to_pem(&fixture.root)).map(|root| &root.der), Ok(&fixture.root));
    let other = Fixture::new();
    assert_eq!(trusted.find_pem(&der_to_pem(&other.root)), Err(TrustListError::UnknownRoot));
    assert_eq!(fixture.verify(&other.list(2)), Err(TrustListError::Signature), "another authority");
}

// covers: A12
#[test]
fn every_changed_field_breaks_the_signature() {
    let fixture = Fixture::new();
    let list = fixture.list(2);
    for field in ["version", "issued_at", "next_update", "root_cas"] {
        let mut changed = list.clone();
        changed[field] = match &list[field] {
            Value::Number(_) => json!(3),
            Value::String(_) => json!("2026-11-18T20:00:01Z"),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => json!([]),
        };
        assert_eq!(fixture.verify(&changed), Err(TrustListError::Signature), "{field}");
    }
    let mut added = list;
    added["authority_cert_pem"] = json!("-----BEGIN CERTIFICATE-----");
    assert_eq!(fixture.verify(&added), Err(TrustListError::Signature), "an added field");
    added.as_object_mut().expect("an object").remove("authority_signature");
    assert_eq!(fixture.verify(&added), Err(TrustListError::Malformed("authority_signature")));
}

#[test]
fn signature_may_be_url_safe_with_prefix() {
    let fixture = Fixture::new();
    let mut list = fixture.list(2);
    let signature = list["authority_signature"].as_str().expect("text");
    let bytes = base64::engine::general_purpose::STANDARD.decode(signature).expect("base64");
    list["authority_signature"] = json!(format!("base64:{}", URL_SAFE_NO_PAD.encode(bytes)));
    assert!(fixture.verify(&list).is_ok());
}

// covers: A12
#[test]
fn older_versions_and_dates_outside_of_the_skew_are_rejected() {
    let mut fixture = Fixture::new();
    let list = fixture.list(1);
    assert_eq!(fixture.verify(&list), Err(TrustListError::Rollback { found: 1, stored: 2 }));
    let (list, issued_at) = (fixture.list(2), fixture.now);
    for (after, expected) in [
        (-301, Some(TrustListError::NotYetValid)),
        (-300, None),
        (24 * 3600 + 300, None),
        (24 * 3600 + 301, Some(TrustListError::Expired)),
    ] {
        fixture.now = issued_at + SignedDuration::from_secs(after);
        assert_eq!(fixture.verify(&list).err(), expected, "{after}");
    }
}

// covers: A12
#[test]
fn only_active_authorities_with_their_fingerprint_are_imported() {
    let fixture = Fixture::new();
    let id = fixture.roots()[0]["id"].as_str().expect("text").to_owned();
    let verify = |field: &str, value: Value| {
        let mut roots = fixture.roots();
        roots[0][field] = value;
        fixture.verify(&fixture.sign(2, &roots))
    };
    for status in ["retired", "revoked", "unknown"] {
        assert_eq!(verify("status", json!(status)).map(|trusted| trusted.roots), Ok(Vec::new()), "{status}");
    }
    let wrong = "0".repeat(64);
    assert_eq!(verify("fingerprint_sha256", json!(wrong)), Err(TrustListError::Fingerprint(id)));
    let leaf = self_signed_authority("not an authority", &fixture.key, fixture.now).expect("signed");
    let entry = RootEntry { name: "", organization: "", certificate: &leaf, crl_url: "", ocsp_url: "" };
    let roots = root_entries(&[entry]);
    let leaf_id = roots[0]["id"].as_str().expect("text").to_owned();
    assert_eq!(fixture.verify(&fixture.sign(2, &roots)), Err(TrustListError::NotAnAuthority(leaf_id)));
    let old = Fixture { now: "1999-01-01T00:00:00Z".parse().expect("a time"), ..Fixture::new() };
    let root_key = EcKey::generate(Curve::P384).expect("a key");
    let expired = self_signed_root("old root", &root_key, old.now).expect("signed");
    let entry = RootEntry { name: "", organization: "", certificate: &expired, crl_url: "", ocsp_url: "" };
    let roots = root_entries(&[entry]);
    let expired_id = roots[0]["id"].as_str().expect("text").to_owned();
    assert_eq!(fixture.verify(&fixture.sign(2, &roots)), Err(TrustListError::RootDates(expired_id)));
}

#[test]
fn content_hash_depends_on_roots_alone() {
    let (fixture, other) = (Fixture::new(), Fixture::new());
    assert_eq!(content_hash(&fixture.roots()), content_hash(&fixture.roots()));
    assert_ne!(content_hash(&fixture.roots()), content_hash(&other.roots()));
}

/// The text that the official clients compute: sorted keys, no spaces, letters as UTF-8.
#[test]
fn signed_text_is_sorted_compact_and_utf8() {
    let list = json!({ "version": 1, "root_cas": [{ "b": "ä", "a": 1 }], "authority_signature": "x" });
    let text = super::list::signed_text(list.as_object().expect("an object"));
    assert_eq!(text, r#"{"root_cas":[{"a":1,"b":"ä"}],"version":1}"#);
}
