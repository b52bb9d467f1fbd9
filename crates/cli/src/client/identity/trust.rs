//! `guildhall aid trust`.

use std::sync::Arc;

use anyhow::Result;
use clap::Args;
use guildhall_domain::identity::{Aid, CertificateFingerprint};
use serde_json::json;

use crate::client::aid_socket::{AidSocketArgs, open_device_store};
use crate::output::print_result;

pub(super) const HELP: &str = "The key of an AID is remembered at the first contact. Another one is refused: its owner has made \
a new key, or somebody else answers in their name. Ask the owner for the fingerprint over a channel that you trust, and compare \
it with the one of the error.

Examples:
  guildhall aid trust bobby.guild.example --fingerprint SHA256";

#[derive(Args)]
pub(super) struct TrustArgs {
    /// AID whose key has changed
    peer: Aid,
    /// SHA-256 of the new public key
    #[arg(long, value_name = "SHA256")]
    fingerprint: CertificateFingerprint,
    #[command(flatten)]
    socket: AidSocketArgs,
}

pub(super) fn run(args: &TrustArgs) -> Result<()> {
    let login = args.socket.login()?;
    let key = Arc::new(login.settings().read_key()?);
    let (_, store) = open_device_store(login.dir(), login.aid(), login.settings(), key)?;
    let earlier = store.pinned_key(&args.peer)?;
    store.pin_key(&args.peer, &args.fingerprint)?;
    let (peer, trusted) = (args.peer.to_string(), args.fingerprint.to_string());
    let value = json!({ "aid": peer, "fingerprint": trusted, "earlier": earlier.map(|key| key.to_string()) });
    print_result(args.socket.json, &value, || format!("trusting the key {trusted} of {peer}"))?;
    Ok(())
}
