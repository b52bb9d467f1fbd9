//! The authority of an issuer against verifiers that it did not sign for.

use std::sync::Arc;

use guildhall_domain::identity::{IssuedCertificate, RevocationReason, Serial};
use jiff::Timestamp;
use rcgen::PublicKeyData;
use rustls_pki_types::CertificateDer;
use webpki::{BorrowedCertRevocationList, CertRevocationList};
use x509_cert::der::{Decode, Encode};
use x509_ocsp::{BasicOcspResponse, CertStatus, OcspResponse};

use super::signer::CertificateSigner;
use super::*;

const DAY: i64 = 24 * 3600;
const YEAR: i64 = 365 * DAY;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a time")
}

struct Roots {
    root_key: EcKey,
    root: Vec<u8>,
}

fn root() -> Roots {
    let root_key = EcKey::generate(Curve::P384).expect("generated");
    let root = self_signed_root("Guild Root", &root_key, at(0)).expect("signed");
    Roots { root_key, root }
}

impl Roots {
    fn issuer(&self, name: &str) -> IssuerAuthority {
        let (name, key) =
            (name.parse().expect("an issuer"), EcKey::generate(Curve::P256).expect("generated"));
        let root = RootAuthority { certificate: &self.root, key: &self.root_key };
        let certificate = root.sign_issuer(&name, &key, at(0)).expect("signed");
        IssuerAuthority::open(name, certificate, self.root.clone(), Arc::new(key), at(0)).expect("opened")
    }
}

fn public(key: &EcKey) -> P256PublicKey {
    P256PublicKey::from_spki(&CertificateSigner(key).subject_public_key_info()).expect("a P-256 key")
}

fn issue(issuer: &IssuerAuthority, aid: &str) -> IssuedCertificate {
    let key = EcKey::generate(Curve::P256).expect("generated");
    let aid = aid.parse().expect("an AID");
    issuer.issue(&LeafRequest { aid: &aid, public_key: &public(&key), now: at(0) }).expect("issued")
}

#[test]
fn issued_certificate_is_verified_and_named() {
    let issuer = root().issuer("guild.example");
    let certificate = issue(&issuer, "alice.guild.example");
    let parsed = issuer.verify(&certificate.der, at(DAY)).expect("valid");
    assert_eq!(parsed.common_name, "alice.guild.example");
    assert_eq!((&parsed.serial, parsed.fingerprint), (&certificate.serial, certificate.fingerprint));
    assert_eq!(parsed.public_key.fingerprint(), certificate.key_fingerprint);
    assert_eq!((certificate.not_before, certificate.not_after), (at(-300), at(90 * DAY)));
    assert_eq!(pem_to_der(&der_to_pem(&certificate.der)), Ok(certificate.der));
    let serials = [issue(&issuer, "bobby.guild.example").serial, certificate.serial];
    assert_ne!(serials[0], serials[1]);
}

#[test]
fn each_invalid_certificate_has_its_own_error() {
    let roots = root();
    let (issuer, other) = (roots.issuer("guild.example"), roots.issuer("other.example"));
    let namesake = root().issuer("guild.example");
    let certificate = issue(&issuer, "alice.guild.example");
    let verify = |der: &[u8], second| issuer.verify(der, at(second)).map(drop);
    assert_eq!(verify(&certificate.der, 0), Ok(()));
    assert_eq!(verify(&certificate.der, 91 * DAY), Err(CertificateError::Expired));
    assert_eq!(verify(&certificate.der, -DAY), Err(CertificateError::NotYetValid));
    assert_eq!(verify(&issue(&other, "alice.other.example").der, 0), Err(CertificateError::UnknownIssuer));
    assert_eq!(verify(&issue(&namesake, "alice.guild.example").der, 0), Err(CertificateError::Forged));
    let mut changed = certificate.der;
    let last = changed.len() - 1;
    changed[last] ^= 1;
    assert_eq!(verify(&changed, 0), Err(CertificateError::Forged));
    assert_eq!(verify(b"not a certificate", 0), Err(CertificateError::Malformed));
    assert_eq!(verify(&issuer.certificate, 0), Err(CertificateError::Malformed), "the issuer is not an AID");
}

#[test]
fn authority_opens_only_with_parts_that_belong_together() {
    let roots = root();
    let (issuer, stranger) = (roots.issuer("guild.example"), root());
    let open = |name: &str, root: &[u8], key: Arc<dyn Signer>, second| {
        let name = name.parse().expect("an issuer");
        IssuerAuthority::open(name, issuer.certificate.to_vec(), root.to_vec(), key, at(second)).map(drop)
    };
    let key = || Arc::clone(&issuer.key);
    assert_eq!(open("guild.example", &roots.root, key(), 0), Ok(()));
    let refused = [
        open("other.example", &roots.root, key(), 0),
        open("guild.example", &stranger.root, key(), 0),
        open("guild.example", &roots.root, Arc::new(EcKey::generate(Curve::P256).expect("generated")), 0),
        open("guild.example", &roots.root, key(), 6 * YEAR),
    ];
    for result in refused {
        assert!(matches!(result, Err(IssuerError::Chain(_))), "{result:?}");
    }
}

#[test]
fn no_certificate_is_valid_for_longer_than_the_issuer() {
    let issuer = root().issuer("guild.example");
    let key = public(&EcKey::generate(Curve::P256).expect("generated"));
    let aid = "alice.guild.example".parse().expect("an AID");
    let not_after = |second| {
        let request = LeafRequest { aid: &aid, public_key: &key, now: at(second) };
        issuer.issue(&request).map(|issued| issued.not_after)
    };
    assert_eq!(not_after(5 * YEAR - DAY), Ok(at(5 * YEAR)));
    assert_eq!(not_after(5 * YEAR + DAY), Err(IssuerError::Expired));
}

#[test]
fn aid_of_another_issuer_is_not_signed() {
    let issuer = root().issuer("guild.example");
    let key = EcKey::generate(Curve::P256).expect("generated");
    let aid = "alice.other.example".parse().expect("an AID");
    let request = LeafRequest { aid: &aid, public_key: &public(&key), now: at(0) };
    assert_eq!(issuer.issue(&request), Err(IssuerError::OtherIssuer));
}

fn pem_body(pem: &str) -> Vec<u8> {
    use base64::Engine;
    let body: String = pem.lines().filter(|line| !line.starts_with('-')).collect();
    base64::engine::general_purpose::STANDARD.decode(body).expect("base64")
}

/// The list is read by the verifier of rustls.
#[test]
fn revocation_list_names_revoked_certificates() {
    let issuer = root().issuer("guild.example");
    let [revoked, valid] =
        ["alice", "bobby"].map(|name| issue(&issuer, &format!("{name}.guild.example")).serial);
    let entry = (revoked.clone(), at(10), RevocationReason::KeyCompromise);
    let list = pem_body(&issuer.revocation_list(&[entry], at(20)).expect("signed"));
    let list = BorrowedCertRevocationList::from_der(&list).expect("a list").to_owned().expect("owned");
    let list = CertRevocationList::from(list);
    let found = |serial: &Serial| list.find_serial(serial.as_bytes()).expect("searched").is_some();
    assert_eq!((found(&revoked), found(&valid)), (true, false));
    let empty = issuer.revocation_list(&[], at(20)).expect("signed");
    assert!(BorrowedCertRevocationList::from_der(&pem_body(&empty)).is_ok());
}

#[test]
fn ocsp_response_is_signed_by_the_issuer() {
    let issuer = root().issuer("guild.example");
    let serial = issue(&issuer, "alice.guild.example").serial;
    let signed = |status| {
        let response = issuer.ocsp_response(&serial, status, at(20)).expect("signed");
        let response = OcspResponse::from_der(&response).expect("a response");
        let bytes = response.response_bytes.expect("a body");
        let basic = BasicOcspResponse::from_der(bytes.response.as_bytes()).expect("a basic response");
        let data = basic.tbs_response_data.to_der().expect("encoded");
        let key = ParsedCertificate::from_der(&issuer.certificate).expect("parsed").public_key;
        assert_eq!(key.verify(&data, basic.signature.raw_bytes()), Ok(()));
        let [single] = basic.tbs_response_data.responses.as_slice() else { panic!("one response") };
        assert_eq!(Serial::from_bytes(single.cert_id.serial_number.as_bytes()), Ok(serial.clone()));
        single.cert_status
    };
    assert_eq!(signed(OcspStatus::Good), CertStatus::good());
    assert_eq!(signed(OcspStatus::Unknown), CertStatus::unknown());
    let revoked = OcspStatus::Revoked { at: at(10), reason: RevocationReason::Superseded };
    assert!(matches!(signed(revoked), CertStatus::Revoked(_)));
}

#[test]
fn chain_has_the_issuer_first_and_the_root_last() {
    let roots = root();
    let issuer = roots.issuer("guild.example");
    assert_eq!(issuer.chain_pem(), format!("{}{}", issuer.certificate_pem(), issuer.root_pem()));
    assert_eq!(pem_to_der(&issuer.root_pem()), Ok(roots.root.clone()));
    let root = CertificateDer::from(roots.root);
    assert!(webpki::anchor_from_trusted_cert(&root).is_ok());
    for text in ["", "-----BEGIN CERTIFICATE-----", &issuer.chain_pem(), &"a".repeat(20_000)] {
        assert_eq!(pem_to_der(text), Err(CertificateError::Malformed));
    }
}
