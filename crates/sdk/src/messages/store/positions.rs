//! How far the inbox was read.

use std::collections::BTreeMap;

use guildhall_domain::identity::ClientSlot;
use serde::{Deserialize, Serialize};

use super::{DeviceStore, DeviceStoreError};

const FILE: &str = "positions.json";

/// The last confirmed message of each slot.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Positions(BTreeMap<String, i64>);

impl DeviceStore {
    /// Returns the last message of the inbox that a slot has confirmed; 0 if none.
    pub fn position(&self, slot: &str) -> Result<i64, DeviceStoreError> {
        let Positions(positions) = self.0.folder.read(FILE)?;
        Ok(positions.get(&key(slot)).copied().unwrap_or_default())
    }

    /// Moves the position of a slot. It never goes back.
    pub(crate) fn advance(&self, slot: &str, seq: i64) -> Result<(), DeviceStoreError> {
        let change = |Positions(positions): &mut Positions| {
            let position = positions.entry(key(slot)).or_default();
            *position = seq.max(*position);
        };
        self.0.folder.update(FILE, change).map(drop)
    }
}

/// As the server separates slots: without the label.
fn key(slot: &str) -> String {
    ClientSlot::new("", slot).map_or_else(|_| slot.to_owned(), |slot| slot.slot_key().to_owned())
}
