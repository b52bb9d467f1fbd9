//! Encryption of the keys of agents that the server answers for. Each key is bound to its agent.

use std::fmt;

use secrecy::ExposeSecret;
use uuid::Uuid;

use crate::pki::{Curve, EcKey};
use crate::seal::{Kek, SealError, open, seal};

const AGENT_KEYS: &[u8] = b"guildhall agent key v1";

/// Encrypts and decrypts the keys of agents.
pub struct AgentKeySealer(Kek);

impl AgentKeySealer {
    #[must_use]
    pub fn new(kek: &Kek) -> Self {
        Self(kek.derive_kek(AGENT_KEYS))
    }

    /// Encrypts the key of an agent. It can be decrypted for this agent only.
    pub fn seal(&self, agent: Uuid, key: &EcKey) -> Result<Vec<u8>, SealError> {
        seal(&self.0, agent.as_bytes(), key.pkcs8().expose_secret())
    }

    /// Decrypts the key of an agent.
    pub fn open(&self, agent: Uuid, sealed: &[u8]) -> Result<EcKey, SealError> {
        let pkcs8 = open(&self.0, agent.as_bytes(), sealed)?;
        EcKey::from_pkcs8(Curve::P256, pkcs8).map_err(|_| SealError::Open)
    }
}

impl fmt::Debug for AgentKeySealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AgentKeySealer([redacted])")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agent_key_opens_only_for_its_agent() {
        let (kek, agent, other) = (Kek::generate(), Uuid::from_u128(1), Uuid::from_u128(2));
        let key = EcKey::generate(Curve::P256).expect("a key");
        let sealed = AgentKeySealer::new(&kek).seal(agent, &key).expect("sealed");
        let opened = AgentKeySealer::new(&kek).open(agent, &sealed).expect("opened");
        assert_eq!(opened.pkcs8().expose_secret(), key.pkcs8().expose_secret());
        assert!(AgentKeySealer::new(&kek).open(other, &sealed).is_err());
        assert!(AgentKeySealer::new(&Kek::generate()).open(agent, &sealed).is_err());
    }
}
