//! The id of this device, which servers keep read positions for.

use anyhow::Result;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::dir::ConfigDir;

const FILE: &str = "device.json";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Device {
    id: String,
}

/// Returns the id of this device. It is made once, and survives logins.
pub(crate) async fn device_id(dir: &ConfigDir) -> Result<String> {
    if let Some(known) = known(dir)? {
        return Ok(known);
    }
    let lock = dir.lock().await?;
    // Another process may have made it since.
    if let Some(known) = known(dir)? {
        return Ok(known);
    }
    let device = Device { id: format!("cli-{}", Uuid::now_v7().simple()) };
    dir.write(FILE, &device, &lock)?;
    Ok(device.id)
}

fn known(dir: &ConfigDir) -> Result<Option<String>> {
    let device: Device = dir.read(FILE)?;
    Ok((!device.id.is_empty()).then_some(device.id))
}
