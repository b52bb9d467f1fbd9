//! Arguments that commands of the socket share, and the connection of the AID that is logged in.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use guildhall_domain::identity::Aid;
use guildhall_identity::pki::EcKey;
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::messages::{DeviceStore, Messenger, MessengerIdentity};
use guildhall_sdk::socket::{SocketClient, SocketEndpoint, SocketOptions};

use crate::config_dir::{AidLogins, ConfigDir, LoginSettings, StoredAidTokens};
use crate::server_client::socket_endpoint;

/// Keys and read positions of this device, in a folder for each AID.
pub(crate) const DEVICES_DIR: &str = "devices";

#[derive(Args)]
pub(crate) struct AidSocketArgs {
    /// AID to use; without it the current one, which `guildhall aid login` sets
    #[arg(long = "as", value_name = "AID", env = "GUILDHALL_AID")]
    aid: Option<Aid>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An AID that is logged in.
pub(crate) struct LoggedInAid {
    aid: Aid,
    dir: ConfigDir,
    settings: LoginSettings,
    endpoint: SocketEndpoint,
}

/// This device of an AID, which sends and reads messages.
pub(crate) struct OpenDevice {
    pub(crate) aid: Aid,
    pub(crate) key: Arc<EcKey>,
    pub(crate) messenger: Messenger,
    pub(crate) dir: ConfigDir,
}

impl AidSocketArgs {
    /// Finds the login. Sends no request.
    pub(crate) fn login(&self) -> Result<LoggedInAid> {
        let dir = ConfigDir::find()?;
        let logins = AidLogins::load(&dir)?;
        let (aid, login) = logins.find(self.aid.as_ref())?;
        let settings = login.settings.clone();
        Ok(LoggedInAid { aid, endpoint: socket_endpoint(&settings.url)?, settings, dir })
    }
}

impl LoggedInAid {
    pub(crate) fn aid(&self) -> &Aid {
        &self.aid
    }

    pub(crate) fn dir(&self) -> &ConfigDir {
        &self.dir
    }

    pub(crate) fn settings(&self) -> &LoginSettings {
        &self.settings
    }

    pub(crate) fn endpoint(&self) -> &SocketEndpoint {
        &self.endpoint
    }

    /// Connects one of the clients of this device. Fails where the first attempt fails.
    pub(crate) async fn connect(&self, slot: &str, tasks: &Tasks) -> Result<SocketClient> {
        let options = self.options(&self.settings.device, slot);
        Ok(SocketClient::connect(options, tasks).await?)
    }

    /// Connects this device, with its keys, for messages. Fails where the first attempt to connect fails.
    pub(crate) async fn open_device(self, slot: &str, tasks: &Tasks) -> Result<OpenDevice> {
        let key = Arc::new(self.settings.read_key()?);
        let (identity, store) = open_device_store(&self.dir, &self.aid, &self.settings, Arc::clone(&key))?;
        let options = self.options(store.device_id(), slot);
        let socket = SocketClient::connect(options, tasks).await?;
        let messenger = Messenger::new(socket, self.endpoint, identity, store, Clock::system());
        Ok(OpenDevice { aid: self.aid, key, messenger, dir: self.dir })
    }

    fn options(&self, device: &str, slot: &str) -> SocketOptions {
        let (endpoint, clock) = (self.endpoint.clone(), Clock::system());
        let tokens = StoredAidTokens {
            dir: self.dir.clone(),
            aid: self.aid.clone(),
            endpoint: endpoint.clone(),
            clock: clock.clone(),
        };
        SocketOptions::new(endpoint, Arc::new(tokens), device, clock).with_slot(slot)
    }
}

/// Opens the folder of this device of an AID. It is made once: its id and its keys outlive logins.
pub(crate) fn open_device_store(
    dir: &ConfigDir,
    aid: &Aid,
    settings: &LoginSettings,
    key: Arc<EcKey>,
) -> Result<(MessengerIdentity, DeviceStore)> {
    let server = settings.server_trust()?;
    let identity = MessengerIdentity::new(aid.clone(), &settings.certificate, key, server)?;
    let store = DeviceStore::open(&dir.file(DEVICES_DIR).join(aid.to_string()), &identity)?;
    Ok((identity, store))
}
