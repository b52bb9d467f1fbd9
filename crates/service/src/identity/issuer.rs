//! The authority of this installation: its certificates and keys, in files that no other user can read.

use std::sync::Arc;

use guildhall_domain::identity::{CertificateFingerprint, IssuerName};
use guildhall_identity::login_challenge::LoginChallengeKey;
use guildhall_identity::pki::{
    Curve, EcKey, EcKeyError, IssuerAuthority, IssuerError, P256PublicKey, RootAuthority, SignError, Signer,
    der_to_pem, pem_to_der, self_signed_root,
};
use guildhall_identity::seal::{Kek, SealError};
use guildhall_launcher::secrets::{IssuerFile, IssuerFolder, SecretError};
use jiff::Timestamp;

/// The issuer could not be created or opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenIssuerError {
    #[error("cannot access the files of the issuer")]
    Folder(#[from] SecretError),
    #[error("the file aun/{0} is missing or unreadable")]
    File(&'static str),
    #[error("cannot open the key in aun/{file}")]
    Key {
        file: &'static str,
        #[source]
        source: EcKeyError,
    },
    #[error("cannot encrypt a key")]
    Seal(#[from] SealError),
    #[error(transparent)]
    Issuer(#[from] IssuerError),
}

/// Where the keys of the issuer are: sealed files now, a key management service could take their place.
pub trait KeyStore {
    /// Returns the key that signs what the file stands for.
    fn signer(&self, file: IssuerFile, curve: Curve) -> Result<Arc<dyn Signer>, OpenIssuerError>;
}

/// Keys in files, encrypted with the key-encryption key.
#[derive(Debug)]
struct SealedKeys<'a> {
    folder: &'a IssuerFolder,
    kek: &'a Kek,
}

impl KeyStore for SealedKeys<'_> {
    fn signer(&self, file: IssuerFile, curve: Curve) -> Result<Arc<dyn Signer>, OpenIssuerError> {
        let text = self.folder.read(file)?.ok_or(OpenIssuerError::File(file.name()))?;
        let sealed = hex::decode(text.trim()).map_err(|_| OpenIssuerError::File(file.name()))?;
        let key = EcKey::open(curve, self.kek, file.name(), &sealed);
        Ok(Arc::new(key.map_err(|source| OpenIssuerError::Key { file: file.name(), source })?))
    }
}

/// What signs certificates, and what proves to clients that they log in at the right server.
#[derive(Debug)]
pub struct Issuer {
    pub authority: IssuerAuthority,
    pub(super) login_challenges: LoginChallengeKey,
    auth_certificate: String,
    auth_key: Arc<dyn Signer>,
}

impl Issuer {
    /// Creates the files of a new issuer. Returns false where there are some already, which stay as they are.
    pub fn create(
        folder: &IssuerFolder,
        kek: &Kek,
        name: &IssuerName,
        now: Timestamp,
    ) -> Result<bool, OpenIssuerError> {
        if folder.exists()? {
            return Ok(false);
        }
        let generate = |curve| EcKey::generate(curve).map_err(|_| IssuerError::Sign("no key".to_owned()));
        let (root_key, issuer_key, auth_key) =
            (generate(Curve::P384)?, generate(Curve::P256)?, generate(Curve::P256)?);
        let root = self_signed_root(&format!("{name} root"), &root_key, now)?;
        let signed =
            RootAuthority { certificate: &root, key: &root_key }.sign_issuer(name, &issuer_key, now)?;
        let sealed = |file: IssuerFile, key: &EcKey| key.seal(kek, file.name()).map(hex::encode);
        let mut files = vec![
            (IssuerFile::RootCertificate, der_to_pem(&root)),
            (IssuerFile::RootKey, sealed(IssuerFile::RootKey, &root_key)?),
            (IssuerFile::IssuerCertificate, der_to_pem(&signed)),
            (IssuerFile::IssuerKey, sealed(IssuerFile::IssuerKey, &issuer_key)?),
            (IssuerFile::AuthKey, sealed(IssuerFile::AuthKey, &auth_key)?),
        ];
        let authority = IssuerAuthority::open(name.clone(), signed, root, Arc::new(issuer_key), now)?;
        let auth =
            authority.sign_service("auth", &P256PublicKey::of(&auth_key).map_err(IssuerError::from)?, now)?;
        files.push((IssuerFile::AuthCertificate, der_to_pem(&auth)));
        Ok(folder.create(&files)?)
    }

    /// Opens the issuer. The key of the root is not read: it may be kept elsewhere.
    pub fn open(
        folder: &IssuerFolder,
        kek: &Kek,
        name: &IssuerName,
        now: Timestamp,
    ) -> Result<Self, OpenIssuerError> {
        let keys = SealedKeys { folder, kek };
        let certificate = |file: IssuerFile| {
            let pem = folder.read(file)?.ok_or(OpenIssuerError::File(file.name()))?;
            let der = pem_to_der(&pem).map_err(|_| OpenIssuerError::File(file.name()))?;
            Ok::<_, OpenIssuerError>(der)
        };
        let (signed, root) =
            (certificate(IssuerFile::IssuerCertificate)?, certificate(IssuerFile::RootCertificate)?);
        let issuer_key = keys.signer(IssuerFile::IssuerKey, Curve::P256)?;
        let authority = IssuerAuthority::open(name.clone(), signed, root, issuer_key, now)?;
        let auth = certificate(IssuerFile::AuthCertificate)?;
        let unusable = || OpenIssuerError::File(IssuerFile::AuthCertificate.name());
        let parsed = authority.verify(&auth, now).map_err(|_| unusable())?;
        let auth_key = keys.signer(IssuerFile::AuthKey, Curve::P256)?;
        let is_pair = P256PublicKey::of(&*auth_key).is_ok_and(|key| key == parsed.public_key);
        if !is_pair || parsed.common_name != name.host("auth") {
            return Err(unusable());
        }
        Ok(Self {
            authority,
            login_challenges: LoginChallengeKey::new(kek),
            auth_certificate: der_to_pem(&auth),
            auth_key,
        })
    }

    /// Returns the SHA-256 of the root, which names the issuer for ever.
    #[must_use]
    pub fn root_fingerprint(&self) -> CertificateFingerprint {
        self.authority.root_fingerprint()
    }

    /// Returns the certificate of the service at which clients log in, in PEM.
    #[must_use]
    pub fn auth_certificate(&self) -> &str {
        &self.auth_certificate
    }

    /// Signs the nonce of a client, which proves that this is the server of the issuer.
    pub fn sign_nonce(&self, nonce: &str) -> Result<Vec<u8>, SignError> {
        self.auth_key.sign(nonce.as_bytes())
    }
}
