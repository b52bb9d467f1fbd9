//! A TLS certificate for one machine, and a root that signed it and nothing else: its key is never stored.

use std::net::IpAddr;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::string::Ia5String;
use rcgen::{ExtendedKeyUsagePurpose, IsCa, Issuer, KeyUsagePurpose, PublicKeyData, SanType};
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use secrecy::SecretString;

use super::authority::{ca_params, params};
use super::certificate::{CertificateError, ParsedCertificate, der_to_pem, pem_to_der};
use super::ec_key::EcKey;
use super::error::IssuerError;
use super::signature::P256PublicKey;
use super::signer::{CertificateSigner, Curve};
use crate::random;

/// Clients that trust the root must be given the next one, so it lives long.
const LIFETIME: Duration = Duration::from_secs(2 * 365 * 24 * 3600);

/// A root, the certificate that it signed, and the key of that certificate.
#[derive(Debug)]
pub struct LocalCertificate {
    pub root_pem: String,
    pub certificate_pem: String,
    pub key_pem: SecretString,
}

/// Names and addresses of a TLS server. A name can begin with `*.`.
#[derive(Debug, Clone, Copy)]
pub struct ServerNames<'a> {
    pub names: &'a [String],
    pub addresses: &'a [IpAddr],
}

impl LocalCertificate {
    /// Creates a root and signs one certificate with it.
    pub fn create(server: ServerNames<'_>, now: Timestamp) -> Result<Self, IssuerError> {
        let generate = || EcKey::generate(Curve::P256).map_err(IssuerError::sign);
        let (root_key, key) = (generate()?, generate()?);
        // A trust store may have several: their names differ.
        let root_name = format!("Guildhall local root {}", hex::encode(*random::bytes::<4>()));
        let root = ca_params(&root_name, now, LIFETIME, 0)?;
        let root = root.self_signed(&CertificateSigner(&root_key)).map_err(IssuerError::sign)?;
        let mut leaf = params("Guildhall", now, LIFETIME)?;
        leaf.is_ca = IsCa::ExplicitNoCa;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let names = server.names.iter().map(|name| Ia5String::try_from(name.as_str()).map(SanType::DnsName));
        leaf.subject_alt_names = names.collect::<Result<_, _>>().map_err(IssuerError::sign)?;
        leaf.subject_alt_names.extend(server.addresses.iter().copied().map(SanType::IpAddress));
        let issuer = Issuer::from_ca_cert_der(root.der(), CertificateSigner(&root_key));
        let issuer = issuer.map_err(IssuerError::sign)?;
        let leaf = leaf.signed_by(&CertificateSigner(&key), &issuer).map_err(IssuerError::sign)?;
        Ok(Self {
            root_pem: der_to_pem(root.der()),
            certificate_pem: der_to_pem(leaf.der()),
            key_pem: key.to_pem(),
        })
    }

    /// Returns whether a private key in PEM is the one of a certificate.
    pub fn is_pair(certificate_pem: &str, key_pem: &SecretString) -> Result<bool, CertificateError> {
        let certificate = ParsedCertificate::from_der(&pem_to_der(certificate_pem)?)?;
        let key = EcKey::from_pem(Curve::P256, key_pem).map_err(|_| CertificateError::Malformed)?;
        Ok(P256PublicKey::from_spki(&CertificateSigner(&key).subject_public_key_info())
            .is_ok_and(|key| key == certificate.public_key))
    }
}

/// Checks, as TLS clients do, that a root signed the certificate of a server with this name. Returns when it expires.
pub fn verify_server(
    root_pem: &str,
    certificate_pem: &str,
    name: &str,
    now: Timestamp,
) -> Result<Timestamp, CertificateError> {
    let (root, der) = (pem_to_der(root_pem)?, pem_to_der(certificate_pem)?);
    let (root, der) = (CertificateDer::from(root), CertificateDer::from(der));
    let anchors = [webpki::anchor_from_trusted_cert(&root).map_err(|_| CertificateError::Malformed)?];
    let certificate = webpki::EndEntityCert::try_from(&der).map_err(|_| CertificateError::Malformed)?;
    let seconds = u64::try_from(now.as_second()).map_err(|_| CertificateError::NotYetValid)?;
    let path = certificate.verify_for_usage(
        &[webpki::aws_lc_rs::ECDSA_P256_SHA256],
        &anchors,
        &[],
        UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        webpki::KeyUsage::server_auth(),
        None,
        None,
    );
    path.map_err(|error| super::issuer::path_error(&error))?;
    let name = ServerName::try_from(name).map_err(|_| CertificateError::OtherServer)?;
    certificate.verify_is_valid_for_subject_name(&name).map_err(|_| CertificateError::OtherServer)?;
    Ok(ParsedCertificate::from_der(&der)?.not_after)
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;

    use super::*;

    fn now() -> Timestamp {
        "2026-01-01T00:00:00Z".parse().expect("a time")
    }

    fn create() -> LocalCertificate {
        let names = ["localhost".to_owned(), "*.guild.example".to_owned()];
        let addresses = ["127.0.0.1".parse().expect("an address"), "::1".parse().expect("an address")];
        LocalCertificate::create(ServerNames { names: &names, addresses: &addresses }, now())
            .expect("created")
    }

    #[test]
    fn certificate_is_valid_for_its_names_with_its_own_root() {
        let made = create();
        let verify = |name: &str| verify_server(&made.root_pem, &made.certificate_pem, name, now());
        for name in ["localhost", "127.0.0.1", "::1", "gateway.guild.example"] {
            assert!(verify(name).is_ok(), "{name}");
        }
        for name in ["guild.example", "a.b.guild.example", "127.0.0.2", "evil.example"] {
            assert_eq!(verify(name), Err(CertificateError::OtherServer), "{name}");
        }
        let other = create();
        let foreign = verify_server(&other.root_pem, &made.certificate_pem, "localhost", now());
        assert_eq!(foreign, Err(CertificateError::UnknownIssuer));
        assert_eq!(LocalCertificate::is_pair(&made.certificate_pem, &made.key_pem), Ok(true));
        assert_eq!(LocalCertificate::is_pair(&made.certificate_pem, &other.key_pem), Ok(false));
    }

    #[test]
    fn expired_certificate_is_refused() {
        let made = create();
        let verify = |at| verify_server(&made.root_pem, &made.certificate_pem, "localhost", at);
        let not_after = verify(now()).expect("valid");
        assert_eq!(not_after, now() + SignedDuration::try_from(LIFETIME).expect("a duration"));
        let later = not_after + SignedDuration::from_secs(1);
        assert_eq!(verify(later), Err(CertificateError::Expired));
    }
}
