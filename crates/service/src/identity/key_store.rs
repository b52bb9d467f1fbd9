//! Where private keys are: in files that no other user can read, encrypted with the key-encryption key.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use guildhall_domain::ids::AgentId;
use guildhall_identity::agent_key_seal::AgentKeySealer;
use guildhall_identity::pki::{Curve, EcKey, Signer, pem_to_der};
use guildhall_identity::seal::{Kek, SealError};
use guildhall_launcher::secrets::{AgentKeyFolder, IssuerFile, IssuerFolder, SecretError};

use super::open_error::OpenIssuerError;

/// The key of an agent cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum AgentKeyError {
    #[error(
        "{} is missing: the key of the agent is not in secrets.folder, which all replicas share, or was not restored with it",
        .0.display()
    )]
    Missing(PathBuf),
    #[error("cannot access the key of the agent")]
    Folder(#[from] SecretError),
    #[error("cannot decrypt {}", path.display())]
    Open {
        path: PathBuf,
        #[source]
        source: SealError,
    },
    #[error("cannot encrypt the key of the agent")]
    Seal(#[source] SealError),
    #[error("the server stops")]
    Stopped,
}

/// Stores the private keys of the issuer, and of the agents that the server answers for. A key management service could take the place
/// of the files.
pub trait KeyStore: fmt::Debug + Send + Sync {
    /// Returns the key that signs what the file stands for.
    fn signer(&self, file: IssuerFile, curve: Curve) -> Result<Arc<dyn Signer>, OpenIssuerError>;

    /// Returns the key of an agent's AID.
    fn agent_key(&self, agent: AgentId) -> Result<EcKey, AgentKeyError>;

    /// Stores the key of an agent's AID. An earlier one is gone.
    fn put_agent_key(&self, agent: AgentId, key: &EcKey) -> Result<(), AgentKeyError>;

    /// Removes the key of an agent, if it has one.
    fn remove_agent_key(&self, agent: AgentId) -> Result<(), AgentKeyError>;

    /// Stores a key that an earlier version has encrypted for the database.
    fn import_agent_key(&self, agent: AgentId, sealed: &[u8]) -> Result<(), AgentKeyError>;
}

/// Keys in files.
#[derive(Debug)]
pub(super) struct SealedKeys {
    pub(super) folder: IssuerFolder,
    agents: AgentKeyFolder,
    kek: Kek,
    agent_keys: AgentKeySealer,
}

impl SealedKeys {
    pub(super) fn new(folder: &IssuerFolder, kek: &Kek) -> Self {
        Self {
            folder: folder.clone(),
            agents: folder.agent_keys(),
            kek: kek.clone(),
            agent_keys: AgentKeySealer::new(kek),
        }
    }

    pub(super) fn certificate(&self, file: IssuerFile) -> Result<Vec<u8>, OpenIssuerError> {
        let pem = self.folder.read(file)?.ok_or(OpenIssuerError::File(file.name()))?;
        pem_to_der(&pem).map_err(|_| OpenIssuerError::File(file.name()))
    }

    fn open_agent_key(&self, agent: AgentId, sealed: &[u8]) -> Result<EcKey, AgentKeyError> {
        let opened = self.agent_keys.open(agent.as_uuid(), sealed);
        opened.map_err(|source| AgentKeyError::Open { path: self.agents.path(agent), source })
    }
}

impl KeyStore for SealedKeys {
    fn signer(&self, file: IssuerFile, curve: Curve) -> Result<Arc<dyn Signer>, OpenIssuerError> {
        let text = self.folder.read(file)?.ok_or(OpenIssuerError::File(file.name()))?;
        let sealed = hex::decode(text.trim()).map_err(|_| OpenIssuerError::File(file.name()))?;
        let key = EcKey::open(curve, &self.kek, file.name(), &sealed);
        Ok(Arc::new(key.map_err(|source| OpenIssuerError::Key { file: file.name(), source })?))
    }

    fn agent_key(&self, agent: AgentId) -> Result<EcKey, AgentKeyError> {
        let missing = || AgentKeyError::Missing(self.agents.path(agent));
        let text = self.agents.read(agent)?.ok_or_else(missing)?;
        self.open_agent_key(agent, &hex::decode(text.trim()).unwrap_or_default())
    }

    fn put_agent_key(&self, agent: AgentId, key: &EcKey) -> Result<(), AgentKeyError> {
        let sealed = self.agent_keys.seal(agent.as_uuid(), key).map_err(AgentKeyError::Seal)?;
        Ok(self.agents.write(agent, &hex::encode(sealed))?)
    }

    fn remove_agent_key(&self, agent: AgentId) -> Result<(), AgentKeyError> {
        self.agents.remove(agent)?;
        Ok(())
    }

    fn import_agent_key(&self, agent: AgentId, sealed: &[u8]) -> Result<(), AgentKeyError> {
        self.open_agent_key(agent, sealed)?;
        Ok(self.agents.write(agent, &hex::encode(sealed))?)
    }
}

#[cfg(test)]
mod tests {
    use guildhall_identity::pki::P256PublicKey;

    use super::*;

    #[test]
    fn agent_key_is_read_by_another_replica_until_it_is_removed() {
        let root = tempfile::tempdir().expect("a folder");
        let (folder, kek) = (IssuerFolder::new(&root.path().join("secrets")), Kek::generate());
        let (first, second) = (SealedKeys::new(&folder, &kek), SealedKeys::new(&folder, &kek));
        let (agent, other) = (AgentId::generate(), AgentId::generate());
        let key = EcKey::generate(Curve::P256).expect("a key");
        let public = |key: &EcKey| P256PublicKey::of(key).expect("a P-256 key");
        first.put_agent_key(agent, &key).expect("stored");
        assert_eq!(public(&second.agent_key(agent).expect("opened")), public(&key));

        let sealed = AgentKeySealer::new(&kek).seal(other.as_uuid(), &key).expect("sealed");
        assert!(matches!(first.import_agent_key(agent, &sealed), Err(AgentKeyError::Open { .. })), "bound");
        first.import_agent_key(other, &sealed).expect("imported");
        assert_eq!(public(&second.agent_key(other).expect("opened")), public(&key));

        second.remove_agent_key(agent).expect("removed");
        second.remove_agent_key(agent).expect("removed before");
        let missing = first.agent_key(agent).expect_err("removed").to_string();
        assert!(missing.contains(&format!("agent-keys/{agent}.key is missing")), "{missing}");
        let changed = folder.agent_keys();
        changed.write(other, "no digits").expect("written");
        assert!(matches!(first.agent_key(other), Err(AgentKeyError::Open { .. })));
    }
}
