//! A certificate for servers, signed by an authority of its own.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose};
use tempfile::TempDir;

/// PEM files, deleted when this value is dropped.
#[derive(Debug)]
pub struct TlsFiles(TempDir);

impl TlsFiles {
    /// Creates a certificate for DNS names, such as `*.guild.test`.
    #[must_use]
    pub fn create(names: &[&str]) -> Self {
        let mut authority = named("test authority", &[]);
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let authority = CertifiedIssuer::self_signed(authority, new_key()).expect("signed");
        let mut server = named("test server", names);
        // Python 3.13 requires it.
        server.use_authority_key_identifier_extension = true;
        let key = new_key();
        let certificate = server.signed_by(&key, &authority).expect("signed");
        let files = Self(tempfile::Builder::new().prefix("guildhall-tls-").tempdir().expect("a folder"));
        write(&files.authority(), &authority.pem());
        write(&files.certificate(), &certificate.pem());
        write(&files.key(), &key.serialize_pem());
        files
    }

    #[must_use]
    pub fn authority(&self) -> PathBuf {
        self.0.path().join("authority.pem")
    }

    #[must_use]
    pub fn certificate(&self) -> PathBuf {
        self.0.path().join("certificate.pem")
    }

    #[must_use]
    pub fn key(&self) -> PathBuf {
        self.0.path().join("key.pem")
    }
}

fn named(common_name: &str, names: &[&str]) -> CertificateParams {
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).expect("DNS names");
    params.distinguished_name.push(DnType::CommonName, common_name);
    params
}

fn new_key() -> KeyPair {
    KeyPair::generate().expect("a key")
}

fn write(file: &Path, pem: &str) {
    std::fs::write(file, pem).expect("written");
    std::fs::set_permissions(file, Permissions::from_mode(0o600)).expect("set");
}
