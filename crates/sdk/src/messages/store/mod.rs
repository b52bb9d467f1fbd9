//! What a device keeps on disk.
//!
//! The folder has the mode 0700 and its files 0600. A file is replaced as a whole, and changes of several processes wait for each
//! other. Private keys of the device are encrypted with a key that is derived from the key of the AID: a copy of the folder alone
//! opens no message. The rest is in clear: the ids of the device and of its keys, whom it has written with, and read positions.

mod device_keys;
mod error;
mod files;
mod pins;
mod positions;
#[cfg(test)]
mod tests;
mod tool_grants;

use std::path::Path;
use std::sync::Arc;

use guildhall_identity::e2ee::{random_id, storage_key};
use guildhall_identity::seal::Kek;
use serde::{Deserialize, Serialize};

pub(crate) use device_keys::KeyVersion;
pub use error::DeviceStoreError;
pub use tool_grants::StoredToolGrant;

use self::files::Folder;
use super::identity::MessengerIdentity;

const DEVICE_FILE: &str = "device.json";

/// The only format of the files.
const FORMAT: u32 = 1;

/// The folder of one device of one AID. Cheap to clone. Several processes can use it at the same time.
#[derive(Debug, Clone)]
pub struct DeviceStore(Arc<OpenStore>);

#[derive(Debug)]
struct OpenStore {
    folder: Folder,
    device_id: String,
    /// The fingerprint of the identity key.
    identity: String,
    cipher: Kek,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct DeviceFile {
    format: u32,
    aid: String,
    device_id: String,
}

impl DeviceStore {
    /// Opens a folder. Creates it with a new device id where it does not exist.
    pub fn open(folder: &Path, identity: &MessengerIdentity) -> Result<Self, DeviceStoreError> {
        let cipher = storage_key(&*identity.key).map_err(DeviceStoreError::IdentityKey)?;
        let folder = Folder::create(folder)?;
        let aid = identity.aid.to_string();
        let device: DeviceFile = folder.update(DEVICE_FILE, |device: &mut DeviceFile| {
            if device.format == 0 {
                *device = DeviceFile { format: FORMAT, aid: aid.clone(), device_id: random_id() };
            }
        })?;
        if device.format != FORMAT {
            return Err(DeviceStoreError::Format { path: folder.path(DEVICE_FILE) });
        }
        if device.aid != aid {
            let (stored, path) = (device.aid, folder.path(""));
            return Err(DeviceStoreError::OtherAid { path, stored });
        }
        let identity = identity.certificate.public_key.fingerprint().to_string();
        Ok(Self(Arc::new(OpenStore { folder, device_id: device.device_id, identity, cipher })))
    }

    /// Returns the id of the device, with which its socket connects.
    #[must_use]
    pub fn device_id(&self) -> &str {
        &self.0.device_id
    }
}
