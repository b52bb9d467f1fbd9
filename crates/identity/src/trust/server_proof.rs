//! How a client knows that a server belongs to an issuer, before it signs anything for it.

use guildhall_domain::identity::{Aid, CertificateFingerprint, IssuerName};
use jiff::Timestamp;
use rustls_pki_types::CertificateDer;

use super::verify::TrustedRoot;
use crate::pki::{CertificateError, ParsedCertificate, pem_to_der, sha256, verify_path};

/// The name of the service whose certificate signs the nonces of clients.
const SERVICE: &str = "auth";

/// Certificates of a chain. The one of an issuer has two.
const MAX_CHAIN: usize = 8;

/// The server did not prove that it belongs to the issuer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ServerProofError {
    #[error("the chain of the server has no certificate of the issuer of this AID")]
    NoIssuer,
    #[error("the certificate of the server is not one below a trusted root")]
    Certificate(#[source] CertificateError),
    #[error("the server did not sign the nonce of this login")]
    Signature,
    #[error("the root does not have the expected fingerprint")]
    Fingerprint,
    #[error("no trusted root")]
    NoRoot,
}

/// What a server sends to prove that it belongs to an issuer.
#[derive(Debug, Clone, Copy)]
pub struct ServerProof<'a> {
    /// The certificate of the server in PEM.
    pub certificate: &'a str,
    /// The certificates of the issuer and of its root in PEM, as at `/pki/chain`.
    pub chain: &'a str,
    /// The text that the client chose.
    pub nonce: &'a str,
    /// ECDSA in DER, in base64, over the nonce.
    pub signature: &'a str,
}

impl ServerProof<'_> {
    /// Verifies the path from a trusted root over the issuer to the server, and that the server has the key.
    pub fn verify(
        &self,
        issuer: &IssuerName,
        roots: &[TrustedRoot],
        now: Timestamp,
    ) -> Result<(), ServerProofError> {
        let der = pem_to_der(self.certificate).map_err(ServerProofError::Certificate)?;
        verify_below_roots(&der, self.chain, issuer, roots, now)?;
        let certificate = ParsedCertificate::from_der(&der).map_err(ServerProofError::Certificate)?;
        if certificate.common_name != issuer.host(SERVICE) {
            return Err(ServerProofError::Certificate(CertificateError::OtherServer));
        }
        let signed = certificate.public_key.verify_base64(self.nonce.as_bytes(), self.signature);
        signed.map_err(|_| ServerProofError::Signature)
    }
}

impl TrustedRoot {
    /// Takes a root in PEM, if it has the fingerprint that the user got from elsewhere.
    pub fn with_fingerprint(pem: &str, expected: CertificateFingerprint) -> Result<Self, ServerProofError> {
        let der = pem_to_der(pem).map_err(ServerProofError::Certificate)?;
        let fingerprint = sha256(&der);
        if fingerprint != expected {
            return Err(ServerProofError::Fingerprint);
        }
        Ok(Self { id: fingerprint.to_string(), fingerprint, der })
    }
}

/// Verifies that a certificate is the one of an AID: the path from a trusted root over the issuer of the AID, and the name.
pub fn verify_aid_certificate(
    pem: &str,
    chain: &str,
    aid: &Aid,
    roots: &[TrustedRoot],
    now: Timestamp,
) -> Result<ParsedCertificate, ServerProofError> {
    let der = pem_to_der(pem).map_err(ServerProofError::Certificate)?;
    verify_below_roots(&der, chain, aid.issuer(), roots, now)?;
    let certificate = ParsedCertificate::from_der(&der).map_err(ServerProofError::Certificate)?;
    if certificate.common_name == aid.to_string() {
        Ok(certificate)
    } else {
        Err(ServerProofError::Certificate(CertificateError::OtherAid))
    }
}

/// Returns the last certificate of a chain as a root, for a client that trusts the connection that it came from.
#[must_use]
pub fn root_of_chain(chain: &str) -> Option<TrustedRoot> {
    let der = certificates_of(chain).last()?;
    let fingerprint = sha256(&der);
    Some(TrustedRoot { id: fingerprint.to_string(), fingerprint, der })
}

fn verify_below_roots(
    der: &[u8],
    chain: &str,
    issuer: &IssuerName,
    roots: &[TrustedRoot],
    now: Timestamp,
) -> Result<(), ServerProofError> {
    let intermediates = [CertificateDer::from(issuer_of(chain, issuer)?)];
    let mut verified = Err(ServerProofError::NoRoot);
    for root in roots {
        let path = verify_path(der, &CertificateDer::from(&*root.der), &intermediates, now);
        verified = path.map_err(ServerProofError::Certificate);
        if verified.is_ok() {
            break;
        }
    }
    verified
}

fn certificates_of(chain: &str) -> impl Iterator<Item = Vec<u8>> {
    let certificates = chain.split_inclusive("-----END CERTIFICATE-----").take(MAX_CHAIN);
    certificates.filter_map(|pem| pem_to_der(pem).ok())
}

/// Returns the certificate of the issuer with this name. Another issuer below the same root is another one.
fn issuer_of(chain: &str, issuer: &IssuerName) -> Result<Vec<u8>, ServerProofError> {
    let is_issuer = |der: &Vec<u8>| {
        ParsedCertificate::from_der(der).is_ok_and(|parsed| parsed.common_name == issuer.as_str())
    };
    certificates_of(chain).find(is_issuer).ok_or(ServerProofError::NoIssuer)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    use super::*;
    use crate::pki::{
        Curve, EcKey, IssuerAuthority, LeafRequest, P256PublicKey, RootAuthority, Signer, der_to_pem,
        self_signed_root,
    };

    struct Fixture {
        issuer: IssuerAuthority,
        root: TrustedRoot,
        key: EcKey,
        certificate: String,
        now: Timestamp,
    }

    fn key(curve: Curve) -> EcKey {
        EcKey::generate(curve).expect("a key")
    }

    impl Fixture {
        fn new() -> Self {
            Self::below(&key(Curve::P384), "guild.example")
        }

        /// An issuer whose root has this key.
        fn below(root_key: &EcKey, name: &str) -> Self {
            let now = "2026-11-18T20:00:00Z".parse().expect("a time");
            let name: IssuerName = name.parse().expect("a name");
            let root = self_signed_root("the root", root_key, now).expect("signed");
            let issuer_key = Arc::new(key(Curve::P256));
            let authority = RootAuthority { certificate: &root, key: root_key };
            let certificate = authority.sign_issuer(&name, &*issuer_key, now).expect("signed");
            let issuer = IssuerAuthority::open(name, certificate, root.clone(), issuer_key, now);
            let (issuer, key) = (issuer.expect("an issuer"), key(Curve::P256));
            let public = P256PublicKey::of(&key).expect("a key");
            let certificate = der_to_pem(&issuer.sign_service(SERVICE, &public, now).expect("signed"));
            let root = TrustedRoot::with_fingerprint(&der_to_pem(&root), sha256(&root)).expect("a root");
            Self { issuer, root, key, certificate, now }
        }

        fn verify(&self, certificate: &str, chain: &str, key: &EcKey) -> Result<(), ServerProofError> {
            let signature = STANDARD.encode(key.sign(b"nonce").expect("signed"));
            let proof = ServerProof { certificate, chain, nonce: "nonce", signature: &signature };
            proof.verify(self.issuer.name(), std::slice::from_ref(&self.root), self.now)
        }
    }

    #[test]
    fn server_below_a_trusted_root_is_accepted() {
        let fixture = Fixture::new();
        let chain = fixture.issuer.chain_pem();
        assert_eq!(fixture.verify(&fixture.certificate, &chain, &fixture.key), Ok(()));
        let other = key(Curve::P256);
        let signature = Err(ServerProofError::Signature);
        assert_eq!(fixture.verify(&fixture.certificate, &chain, &other), signature);
    }

    #[test]
    fn servers_of_other_issuers_and_roots_are_rejected() {
        let root_key = key(Curve::P384);
        let fixture = Fixture::below(&root_key, "guild.example");
        let chain = fixture.issuer.chain_pem();
        let stranger = Fixture::new();
        let forged = Err(ServerProofError::Certificate(CertificateError::Forged));
        let of_stranger = fixture.verify(&stranger.certificate, &stranger.issuer.chain_pem(), &stranger.key);
        assert_eq!(of_stranger, forged, "the same name below another root of the same name");
        assert_eq!(fixture.verify(&stranger.certificate, &chain, &stranger.key), forged);
        let neighbour = Fixture::below(&root_key, "other.example");
        let chain_of_neighbour = neighbour.issuer.chain_pem();
        let verified = fixture.verify(&neighbour.certificate, &chain_of_neighbour, &neighbour.key);
        assert_eq!(verified, Err(ServerProofError::NoIssuer), "another issuer below the same root");
        let both = format!("{chain_of_neighbour}{chain}");
        let unknown = Err(ServerProofError::Certificate(CertificateError::UnknownIssuer));
        assert_eq!(fixture.verify(&neighbour.certificate, &both, &neighbour.key), unknown);
        assert_eq!(fixture.verify(&fixture.certificate, "", &fixture.key), Err(ServerProofError::NoIssuer));
    }

    #[test]
    fn certificate_of_an_aid_does_not_prove_a_server() {
        let (fixture, key) = (Fixture::new(), key(Curve::P256));
        let public_key = P256PublicKey::of(&key).expect("a key");
        let aid = "alice.guild.example".parse().expect("an AID");
        let request = LeafRequest { aid: &aid, public_key: &public_key, now: fixture.now };
        let issued = fixture.issuer.issue(&request).expect("issued");
        let verified = fixture.verify(&der_to_pem(&issued.der), &fixture.issuer.chain_pem(), &key);
        assert_eq!(verified, Err(ServerProofError::Certificate(CertificateError::OtherServer)));
    }

    #[test]
    fn expired_certificates_and_unknown_fingerprints_are_rejected() {
        let mut fixture = Fixture::new();
        let pem = fixture.issuer.root_pem();
        let other = CertificateFingerprint::new([0; 32]);
        assert_eq!(TrustedRoot::with_fingerprint(&pem, other), Err(ServerProofError::Fingerprint));
        fixture.now = "2060-01-01T00:00:00Z".parse().expect("a time");
        let verified = fixture.verify(&fixture.certificate, &fixture.issuer.chain_pem(), &fixture.key);
        assert_eq!(verified, Err(ServerProofError::Certificate(CertificateError::Expired)));
    }
}
