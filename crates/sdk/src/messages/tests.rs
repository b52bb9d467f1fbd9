//! What tests of messages have in common.

use std::sync::Arc;

use guildhall_domain::identity::Aid;
use guildhall_identity::pki::{Curve, EcKey, IssuerAuthority, LeafRequest, P256PublicKey, RootAuthority};
use guildhall_identity::pki::{der_to_pem, self_signed_root};
use jiff::Timestamp;

use super::identity::MessengerIdentity;
use crate::socket::ServerTrust;

/// Returns an AID with a new key.
pub(super) fn identity(name: &str) -> MessengerIdentity {
    let now: Timestamp = "2026-11-18T20:00:00Z".parse().expect("a time");
    let key = || EcKey::generate(Curve::P256).expect("a key");
    let (root_key, issuer_key, own_key) = (key(), Arc::new(key()), Arc::new(key()));
    let root = self_signed_root("the root", &root_key, now).expect("signed");
    let authority = RootAuthority { certificate: &root, key: &root_key };
    let issuer = "guild.example".parse().expect("a name");
    let certificate = authority.sign_issuer(&issuer, &*issuer_key, now).expect("signed");
    let issuer =
        IssuerAuthority::open(issuer, certificate, root.clone(), issuer_key, now).expect("an issuer");
    let aid: Aid = format!("{name}.guild.example").parse().expect("an AID");
    let public_key = P256PublicKey::of(&*own_key).expect("a public key");
    let request = LeafRequest { aid: &aid, public_key: &public_key, now };
    let certificate = der_to_pem(&issuer.issue(&request).expect("issued").der);
    MessengerIdentity::new(aid, &certificate, own_key, ServerTrust::Connection).expect("an identity")
}
