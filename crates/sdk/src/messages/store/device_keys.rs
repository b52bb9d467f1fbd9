//! Private keys of the device. The newest of each version is published; older ones open what was sealed for them.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_identity::e2ee::{AgreementKey, key_fingerprint, random_id};
use guildhall_identity::seal;
use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret;
use serde::{Deserialize, Serialize};

use super::{DeviceStore, DeviceStoreError};

const FILE: &str = "keys.json";

/// A key is kept for at least this long after it was made, and until there are this many newer ones: as the official clients do.
const KEPT_FOR: SignedDuration = SignedDuration::from_hours(7 * 24);
const KEPT_GENERATIONS: usize = 7;

/// No key is kept for longer than servers hand it out.
const LONGEST: SignedDuration = SignedDuration::from_hours(180 * 24);

/// Keys of one version at most. Senders remember a key for an hour, in which a device makes twelve.
const MAX_GENERATIONS: usize = 256;

/// A key that was used is replaced, but not more often than this.
const SHORTEST_USE: SignedDuration = SignedDuration::from_mins(5);

/// Which version of end-to-end encryption a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KeyVersion {
    V1,
    V2,
}

/// A key of the device.
#[derive(Debug)]
pub(crate) struct DeviceKey {
    pub(crate) id: String,
    pub(crate) created_at: Timestamp,
    pub(crate) key: AgreementKey,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct KeyFile {
    /// The fingerprint of the identity key that they belong to.
    identity: String,
    /// The newest one is the last.
    v1: Vec<StoredKey>,
    v2: Vec<StoredKey>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct StoredKey {
    id: String,
    created_at: Timestamp,
    /// A message was sealed for it.
    used: bool,
    /// The private key, encrypted, in base64.
    sealed: String,
}

impl StoredKey {
    fn is_old_enough(&self, now: Timestamp) -> bool {
        now.duration_since(self.created_at) >= SHORTEST_USE
    }
}

impl KeyFile {
    fn of(&mut self, version: KeyVersion) -> &mut Vec<StoredKey> {
        match version {
            KeyVersion::V1 => &mut self.v1,
            KeyVersion::V2 => &mut self.v2,
        }
    }
}

impl DeviceStore {
    /// Returns the newest key. Makes a new one where there is none, or the newest one was used.
    pub(crate) fn current_key(
        &self,
        version: KeyVersion,
        now: Timestamp,
    ) -> Result<DeviceKey, DeviceStoreError> {
        let mut file = self.0.folder.try_update(FILE, |file: &mut KeyFile| {
            if file.identity != self.0.identity {
                // The keys were signed by another identity key: nobody seals for them any more.
                *file = KeyFile { identity: self.0.identity.clone(), ..KeyFile::default() };
            }
            let keys = file.of(version);
            let is_due =
                |newest: &StoredKey| newest.used && now.duration_since(newest.created_at) >= SHORTEST_USE;
            if keys.last().is_none_or(is_due) {
                keys.push(self.new_key(version, now)?);
                remove_old(keys, now);
            }
            Ok(())
        })?;
        let newest = file.of(version).last().cloned();
        let newest = newest.ok_or_else(|| DeviceStoreError::Damaged { path: self.0.folder.path(FILE) })?;
        self.opened(newest)
    }

    /// Returns the key with an id, if the device still has it.
    pub(crate) fn find_key(
        &self,
        version: KeyVersion,
        id: &str,
    ) -> Result<Option<DeviceKey>, DeviceStoreError> {
        let mut file: KeyFile = self.0.folder.read(FILE)?;
        if file.identity != self.0.identity {
            return Ok(None);
        }
        let found = file.of(version).iter().find(|key| key.id == id).cloned();
        found.map(|key| self.opened(key)).transpose()
    }

    /// Remembers that a message was sealed for a key. Returns whether a new key is due.
    pub(crate) fn mark_used(
        &self,
        version: KeyVersion,
        id: &str,
        now: Timestamp,
    ) -> Result<bool, DeviceStoreError> {
        let mut file: KeyFile = self.0.folder.read(FILE)?;
        let newest = file.of(version).last().filter(|newest| newest.id == id).cloned();
        let Some(newest) = newest else { return Ok(false) };
        if !newest.used {
            self.0.folder.update(FILE, |file: &mut KeyFile| {
                file.of(version).iter_mut().filter(|key| key.id == id).for_each(|key| key.used = true);
            })?;
        }
        Ok(newest.is_old_enough(now))
    }

    fn new_key(&self, version: KeyVersion, now: Timestamp) -> Result<StoredKey, DeviceStoreError> {
        let key = AgreementKey::generate().map_err(DeviceStoreError::IdentityKey)?;
        let id = match version {
            KeyVersion::V1 => random_id(),
            KeyVersion::V2 => key_fingerprint(key.public_key()),
        };
        let scalar = key.to_scalar().map_err(DeviceStoreError::IdentityKey)?;
        let sealed = seal::seal(&self.0.cipher, id.as_bytes(), scalar.expose_secret());
        let sealed = STANDARD.encode(sealed.map_err(|source| self.key_error(source))?);
        Ok(StoredKey { id, created_at: now, used: false, sealed })
    }

    fn opened(&self, stored: StoredKey) -> Result<DeviceKey, DeviceStoreError> {
        let StoredKey { id, created_at, sealed, .. } = stored;
        let damaged = || DeviceStoreError::Damaged { path: self.0.folder.path(FILE) };
        let sealed = STANDARD.decode(sealed).map_err(|_| damaged())?;
        let scalar = seal::open(&self.0.cipher, id.as_bytes(), &sealed);
        let key = AgreementKey::from_scalar(&scalar.map_err(|source| self.key_error(source))?);
        Ok(DeviceKey { id, created_at, key: key.map_err(|_| damaged())? })
    }

    fn key_error(&self, source: seal::SealError) -> DeviceStoreError {
        DeviceStoreError::Key { path: self.0.folder.path(FILE), source }
    }
}

/// Removes keys that nobody uses any more. The newest is the last one.
fn remove_old(keys: &mut Vec<StoredKey>, now: Timestamp) {
    let count = keys.len();
    let mut index = 0;
    keys.retain(|key| {
        index += 1;
        let (newer, age) = (count - index, now.duration_since(key.created_at));
        newer == 0
            || (newer < MAX_GENERATIONS && age <= LONGEST && (newer < KEPT_GENERATIONS || age <= KEPT_FOR))
    });
}

#[cfg(test)]
mod tests {
    use super::super::super::identity::MessengerIdentity;
    use super::super::super::tests::identity;
    use super::*;

    fn at(minutes: i64) -> Timestamp {
        Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes)
    }

    fn open(folder: &tempfile::TempDir, identity: &MessengerIdentity) -> DeviceStore {
        DeviceStore::open(folder.path(), identity).expect("opened")
    }

    #[test]
    fn newest_key_is_replaced_after_its_use_and_the_old_one_is_kept() {
        let (folder, identity) = (tempfile::tempdir().expect("a folder"), identity("alice"));
        for version in [KeyVersion::V1, KeyVersion::V2] {
            let store = open(&folder, &identity);
            let first = store.current_key(version, at(0)).expect("a key");
            assert_eq!(store.current_key(version, at(60)).expect("a key").id, first.id, "not used");
            assert!(!store.mark_used(version, &first.id, at(4)).expect("stored"), "too soon");
            assert_eq!(store.current_key(version, at(4)).expect("a key").id, first.id, "too soon");
            assert!(store.mark_used(version, &first.id, at(5)).expect("stored"));
            let second = open(&folder, &identity).current_key(version, at(5)).expect("a key");
            assert_ne!(second.id, first.id);
            let found = store.find_key(version, &first.id).expect("read").expect("kept");
            assert_eq!(found.key.public_key(), first.key.public_key());
            assert!(!store.mark_used(version, &first.id, at(60)).expect("read"), "not the newest");
            assert!(store.find_key(version, "unknown").expect("read").is_none());
        }
    }

    #[test]
    fn keys_of_another_identity_key_are_forgotten() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = open(&folder, &identity("alice"));
        let old = store.current_key(KeyVersion::V2, at(0)).expect("a key");
        let renewed = open(&folder, &identity("alice"));
        assert_eq!(renewed.device_id(), store.device_id());
        assert!(renewed.find_key(KeyVersion::V2, &old.id).expect("read").is_none());
        assert_ne!(renewed.current_key(KeyVersion::V2, at(0)).expect("a key").id, old.id);
    }

    #[test]
    fn private_keys_are_not_readable_in_the_folder() {
        let (folder, identity) = (tempfile::tempdir().expect("a folder"), identity("alice"));
        let key = open(&folder, &identity).current_key(KeyVersion::V2, at(0)).expect("a key");
        let scalar = key.key.to_scalar().expect("a number");
        let stored = std::fs::read_to_string(folder.path().join(FILE)).expect("read");
        assert!(stored.contains(&key.id) && !stored.contains(&STANDARD.encode(scalar.expose_secret())));
    }

    #[test]
    fn keys_are_removed_by_age_and_by_number() {
        let key = |days: i64| StoredKey {
            id: days.to_string(),
            created_at: Timestamp::UNIX_EPOCH + SignedDuration::from_hours(24 * days),
            used: true,
            sealed: String::new(),
        };
        let left = |days: &[i64], now: i64| {
            let mut keys: Vec<StoredKey> = days.iter().map(|days| key(*days)).collect();
            remove_old(&mut keys, key(now).created_at);
            keys.iter().map(|key| key.id.parse().expect("days")).collect::<Vec<i64>>()
        };
        assert_eq!(left(&[1, 2, 3, 4, 5, 6, 7, 8, 9], 9), [2, 3, 4, 5, 6, 7, 8, 9], "seven days");
        assert_eq!(left(&[1, 2, 3, 4, 5, 6, 7, 8, 50], 50), [3, 4, 5, 6, 7, 8, 50], "seven generations");
        assert_eq!(left(&[1, 2, 200], 200), [200], "half a year");
        assert_eq!(left(&[1], 500), [1], "the newest");
        assert_eq!(left(&[9; 300], 9).len(), MAX_GENERATIONS);
    }
}
