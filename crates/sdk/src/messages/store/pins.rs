//! Identity keys of others, as they were at the first contact.

use std::collections::BTreeMap;

use guildhall_domain::identity::{Aid, CertificateFingerprint};
use serde::{Deserialize, Serialize};

use super::{DeviceStore, DeviceStoreError};

const FILE: &str = "peers.json";

/// Beyond this many, the first contact is not remembered: strangers must not fill the disk.
const MAX_PINS: usize = 50_000;

/// The fingerprint of the identity key of each AID.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Pins(BTreeMap<String, String>);

impl DeviceStore {
    /// Returns the fingerprint of the identity key that an AID had at the first contact.
    pub fn pinned_key(&self, aid: &Aid) -> Result<Option<CertificateFingerprint>, DeviceStoreError> {
        let Pins(pins) = self.0.folder.read(FILE)?;
        let parse = |text: &String| {
            text.parse().map_err(|_| DeviceStoreError::Damaged { path: self.0.folder.path(FILE) })
        };
        pins.get(&aid.to_string()).map(parse).transpose()
    }

    /// Remembers the identity key of the first contact, or of one that the user accepted.
    pub fn pin_key(&self, aid: &Aid, key: &CertificateFingerprint) -> Result<(), DeviceStoreError> {
        let change = |Pins(pins): &mut Pins| {
            let aid = aid.to_string();
            if pins.len() < MAX_PINS || pins.contains_key(&aid) {
                pins.insert(aid, key.to_string());
            }
        };
        self.0.folder.update(FILE, change).map(drop)
    }
}
