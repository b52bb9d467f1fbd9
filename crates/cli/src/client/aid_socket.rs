//! Arguments that commands of the socket share, and the connection of the AID that is logged in.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use guildhall_domain::identity::Aid;
use guildhall_runtime::{Clock, Tasks};
use guildhall_sdk::socket::{SocketClient, SocketEndpoint, SocketOptions};

use crate::config_dir::{AidLogins, ConfigDir, StoredAidTokens, device_id};
use crate::server_client::socket_endpoint;

#[derive(Args)]
pub(crate) struct AidSocketArgs {
    /// AID to use; without it the current one, which `guildhall aid login` sets
    #[arg(long = "as", value_name = "AID", env = "GUILDHALL_AID")]
    aid: Option<Aid>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// An AID that is logged in, and its socket.
pub(crate) struct LoggedInAid {
    pub(crate) aid: Aid,
    dir: ConfigDir,
    endpoint: SocketEndpoint,
}

impl AidSocketArgs {
    /// Finds the login. Sends no request.
    pub(crate) fn login(&self) -> Result<LoggedInAid> {
        let dir = ConfigDir::find()?;
        let logins = AidLogins::load(&dir)?;
        let (aid, login) = logins.find(self.aid.as_ref())?;
        Ok(LoggedInAid { aid, endpoint: socket_endpoint(&login.settings.url)?, dir })
    }
}

impl LoggedInAid {
    /// Connects one of the clients of this device. Fails where the first attempt fails.
    pub(crate) async fn connect(&self, slot: &str, tasks: &Tasks) -> Result<SocketClient> {
        let (device, clock) = (device_id(&self.dir).await?, Clock::system());
        let tokens = StoredAidTokens {
            dir: self.dir.clone(),
            aid: self.aid.clone(),
            endpoint: self.endpoint.clone(),
            clock: clock.clone(),
        };
        let options = SocketOptions::new(self.endpoint.clone(), Arc::new(tokens), device, clock);
        Ok(SocketClient::connect(options.with_slot(slot), tasks).await?)
    }

    pub(crate) fn endpoint(&self) -> &SocketEndpoint {
        &self.endpoint
    }
}
