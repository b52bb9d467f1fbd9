//! Sealed messages with fixed keys, which the official clients open.

use secrecy::SecretSlice;
use serde_json::Value;

use super::agreement::AgreementKey;
use super::exact_json::{ExactJson, JsonObject};
use crate::pki::{Curve, EcKey, ParsedCertificate, pem_to_der};

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

/// A private key by its name.
pub(super) fn agreement_key(name: &str) -> AgreementKey {
    AgreementKey::from_scalar(&SecretSlice::from(scalar(name))).expect("a key")
}

/// The private key of an AID by its name.
pub(super) fn identity_key(name: &str) -> EcKey {
    // SEC1 in PKCS#8, with the public key.
    let public = agreement_key(name).public_key().point().to_vec();
    let mut der = hex::decode("308187020100301306072a8648ce3d020106082a8648ce3d030107046d306b0201010420")
        .expect("digits");
    der.extend_from_slice(&scalar(name));
    der.extend_from_slice(&[0xa1, 0x44, 0x03, 0x42, 0x00]);
    der.extend_from_slice(&public);
    EcKey::from_pkcs8(Curve::P256, SecretSlice::from(der)).expect("a key")
}

fn scalar(name: &str) -> Vec<u8> {
    hex::decode(vectors()["scalars_hex"][name].as_str().expect("a number")).expect("digits")
}

/// The payload of all messages.
pub(super) fn payload() -> JsonObject {
    ExactJson::parse_object(&vectors()["payload"].to_string()).expect("an object")
}

/// Returns the envelope with another value at a JSON pointer, which exists.
pub(super) fn changed(name: &str, pointer: &str, value: impl Into<Value>) -> String {
    let mut envelope = envelope(name);
    *envelope.pointer_mut(pointer).expect("a member") = value.into();
    envelope.to_string()
}
