//! Sealed messages with fixed keys, which the official clients open.

use serde_json::Value;

use crate::pki::{ParsedCertificate, pem_to_der};

pub(super) const ALICE: &str = "alice.guild.test";
pub(super) const BOBBY: &str = "bobby.guild.test";

/// The key of Bobby's device.
pub(super) const SPK_ID: &str = "sha256:63c659fad56e835c";

fn vectors() -> Value {
    serde_json::from_str(include_str!("vectors.json")).expect("JSON")
}

pub(super) fn envelope(name: &str) -> Value {
    vectors()[name].clone()
}

pub(super) fn certificate(aid: &str) -> ParsedCertificate {
    let pem = vectors()["certs_pem"][aid].as_str().expect("a certificate").to_owned();
    ParsedCertificate::from_der(&pem_to_der(&pem).expect("PEM")).expect("a certificate")
}

/// Returns the envelope with another value at a JSON pointer, which exists.
pub(super) fn changed(name: &str, pointer: &str, value: impl Into<Value>) -> String {
    let mut envelope = envelope(name);
    *envelope.pointer_mut(pointer).expect("a member") = value.into();
    envelope.to_string()
}
