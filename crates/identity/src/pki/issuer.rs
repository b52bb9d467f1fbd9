//! The authority of an issuer: it signs certificates of AIDs and says which ones are revoked.

use std::sync::Arc;
use std::time::Duration;

use guildhall_domain::identity::{Aid, CertificateFingerprint, IssuedCertificate, IssuerName};
use jiff::Timestamp;
use rcgen::{CertificateParams, IsCa, Issuer, KeyUsagePurpose, PublicKeyData};
use rustls_pki_types::{CertificateDer, UnixTime};

use super::authority::{self, ISSUER_LIFETIME};
use super::certificate::{CertificateError, ParsedCertificate, der_to_pem};
use super::error::IssuerError;
use super::fingerprint::sha256;
use super::signature::P256PublicKey;
use super::signer::{CertificateSigner, Curve, Signer};

/// How long the certificate of an AID is valid.
const LEAF_LIFETIME: Duration = Duration::from_secs(90 * 24 * 3600);

/// What a certificate of an AID is signed for.
#[derive(Debug, Clone, Copy)]
pub struct LeafRequest<'a> {
    pub aid: &'a Aid,
    pub public_key: &'a P256PublicKey,
    pub now: Timestamp,
}

/// The certificate of an issuer, its chain and its key.
#[derive(Debug, Clone)]
pub struct IssuerAuthority {
    pub(super) name: IssuerName,
    pub(super) certificate: CertificateDer<'static>,
    root: CertificateDer<'static>,
    pub(super) key: Arc<dyn Signer>,
    /// No certificate is valid for longer than that of the issuer.
    not_after: Timestamp,
}

impl IssuerAuthority {
    /// Opens an authority. The key, the issuer's certificate and the root must belong together at this time.
    pub fn open(
        name: IssuerName,
        certificate: Vec<u8>,
        root: Vec<u8>,
        key: Arc<dyn Signer>,
        now: Timestamp,
    ) -> Result<Self, IssuerError> {
        if key.curve() != Curve::P256 {
            return Err(IssuerError::Chain("the issuer's key is not a P-256 key"));
        }
        let parsed = ParsedCertificate::from_der(&certificate);
        let parsed = parsed.map_err(|_| IssuerError::Chain("the issuer's certificate cannot be read"))?;
        if parsed.common_name != name.as_str() {
            return Err(IssuerError::Chain("the issuer's certificate has another name"));
        }
        if parsed.public_key.spki() != CertificateSigner(&*key).subject_public_key_info() {
            return Err(IssuerError::Chain("the issuer's certificate has another key"));
        }
        let not_after = parsed.not_after;
        let authority = Self { name, certificate: certificate.into(), root: root.into(), key, not_after };
        // A certificate that nobody keeps: the path from it to the root is checked as clients check it.
        let probe = authority.sign_service("probe", &parsed.public_key, now)?;
        verify_path(&probe, &authority.root, std::slice::from_ref(&authority.certificate), now).map_err(
            |_| IssuerError::Chain("the root did not sign the issuer's certificate, or one has expired"),
        )?;
        Ok(authority)
    }

    #[must_use]
    pub fn name(&self) -> &IssuerName {
        &self.name
    }

    /// Returns when the certificate of the issuer ends, and at the latest all certificates that it signs.
    #[must_use]
    pub fn not_after(&self) -> Timestamp {
        self.not_after
    }

    /// Returns the chain as clients read it: the issuer first, the root last.
    #[must_use]
    pub fn chain_pem(&self) -> String {
        format!("{}{}", der_to_pem(&self.certificate), der_to_pem(&self.root))
    }

    #[must_use]
    pub fn certificate_pem(&self) -> String {
        der_to_pem(&self.certificate)
    }

    #[must_use]
    pub fn root_pem(&self) -> String {
        der_to_pem(&self.root)
    }

    #[must_use]
    pub fn root_der(&self) -> &[u8] {
        &self.root
    }

    #[must_use]
    pub fn root_fingerprint(&self) -> CertificateFingerprint {
        sha256(&self.root)
    }

    /// Signs a certificate for the key of an AID.
    pub fn issue(&self, request: &LeafRequest<'_>) -> Result<IssuedCertificate, IssuerError> {
        if *request.aid.issuer() != self.name {
            return Err(IssuerError::OtherIssuer);
        }
        let left = Duration::try_from(self.not_after.duration_since(request.now));
        let life = left.map_err(|_| IssuerError::Expired)?.min(LEAF_LIFETIME);
        let params = leaf_params(&request.aid.to_string(), request.now, life)?;
        let der = self.sign(&params, request.public_key)?;
        let parsed = ParsedCertificate::from_der(&der).map_err(IssuerError::sign)?;
        let whole = |at: time::OffsetDateTime| Timestamp::from_second(at.unix_timestamp());
        Ok(IssuedCertificate {
            serial: parsed.serial,
            aid: request.aid.clone(),
            fingerprint: sha256(&der),
            key_fingerprint: request.public_key.fingerprint(),
            der,
            not_before: whole(params.not_before).map_err(|_| IssuerError::Time)?,
            not_after: whole(params.not_after).map_err(|_| IssuerError::Time)?,
            revoked: None,
            replaced: false,
        })
    }

    /// Signs a certificate for one of the issuer's own services, for example `auth`. It is valid as long as the issuer's.
    pub fn sign_service(
        &self,
        service: &str,
        key: &P256PublicKey,
        now: Timestamp,
    ) -> Result<Vec<u8>, IssuerError> {
        self.sign(&leaf_params(&self.name.host(service), now, ISSUER_LIFETIME)?, key)
    }

    fn sign(&self, params: &CertificateParams, key: &P256PublicKey) -> Result<Vec<u8>, IssuerError> {
        let certificate = params.signed_by(key, &self.signing_issuer()?).map_err(IssuerError::sign)?;
        Ok(certificate.der().to_vec())
    }

    pub(super) fn signing_issuer(&self) -> Result<Issuer<'_, CertificateSigner<'_>>, IssuerError> {
        Issuer::from_ca_cert_der(&self.certificate, CertificateSigner(&*self.key)).map_err(IssuerError::sign)
    }

    /// Verifies that this issuer signed a certificate, and that it is valid at this time.
    ///
    /// Whether it was revoked is not in a certificate: callers compare its fingerprint with what they have stored.
    pub fn verify(&self, der: &[u8], now: Timestamp) -> Result<ParsedCertificate, CertificateError> {
        verify_path(der, &self.certificate, &[], now)?;
        ParsedCertificate::from_der(der)
    }
}

fn leaf_params(name: &str, now: Timestamp, life: Duration) -> Result<CertificateParams, IssuerError> {
    let mut params = authority::params(name, now, life)?;
    // Clients read the extension, so it is written even though it says what is the default.
    params.is_ca = IsCa::ExplicitNoCa;
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    Ok(params)
}

/// Verifies the path from a trusted certificate over intermediate ones.
pub(crate) fn verify_path(
    der: &[u8],
    anchor: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: Timestamp,
) -> Result<(), CertificateError> {
    let der = CertificateDer::from(der);
    let anchors = [webpki::anchor_from_trusted_cert(anchor).map_err(|_| CertificateError::UnknownIssuer)?];
    let seconds = u64::try_from(now.as_second()).map_err(|_| CertificateError::NotYetValid)?;
    let certificate = webpki::EndEntityCert::try_from(&der).map_err(|_| CertificateError::Malformed)?;
    let path = certificate.verify_for_usage(
        &[webpki::aws_lc_rs::ECDSA_P256_SHA256, webpki::aws_lc_rs::ECDSA_P384_SHA384],
        &anchors,
        intermediates,
        UnixTime::since_unix_epoch(Duration::from_secs(seconds)),
        webpki::KeyUsage::client_auth(),
        None,
        None,
    );
    path.map(drop).map_err(|error| path_error(&error))
}

pub(super) fn path_error(error: &webpki::Error) -> CertificateError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum of webpki grows, and all other errors are malformed input"
    )]
    match error {
        webpki::Error::UnknownIssuer => CertificateError::UnknownIssuer,
        webpki::Error::InvalidSignatureForPublicKey => CertificateError::Forged,
        webpki::Error::CertExpired { .. } => CertificateError::Expired,
        webpki::Error::CertNotValidYet { .. } => CertificateError::NotYetValid,
        _ => CertificateError::Malformed,
    }
}
