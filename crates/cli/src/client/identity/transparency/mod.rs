//! `guildhall transparency`.

mod compare;
mod entries;
mod head;
mod verify;

use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use guildhall_identity::transparency::LogKey;
use guildhall_protocol::rest::identity::TreeHeadView;
use guildhall_sdk::Client;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::head::{LogFault, VerifiedHead};
use crate::async_runtime::block_on;
use crate::client::connection::CommonArgs;
use crate::output::{format_fields, format_time, print_result};

/// Longest file of a head or a key; a head has 600 bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024;

const EXAMPLES: &str = "Examples:
  guildhall transparency head --save guild.sth                    Keep the current head of the log
  guildhall transparency verify --from guild.sth --save guild.sth Later: verify that the log has only grown
  guildhall transparency verify --from guild.sth --entries        Verify every entry too
  guildhall transparency verify --from guild.sth --to other.sth   Compare with the head of somebody else
  guildhall transparency head --server https://guild.example      Without signing in";

const VERIFY_HELP: &str = "The server signs the size and the root hash of its log: the head. This command verifies the signature \
of the head that the server shows now, and:
  --from finds a log that was changed, shortened or forked since the saved head.
  --entries finds entries that are missing, are not those of the head, or do not fit their certificate.
  --to compares two saved heads, and not the one that the server shows now. With --proof, or with heads of one size, no server is asked: \
the proof is what `GET /ct/consistency/{first}/{second}` returns.
Keep heads on another machine than the server, and compare them with those of others: a server that shows different logs to \
different readers cannot continue both.

Exit codes: 0 the log is valid, 1 the log is not valid or cannot be read, 2 usage error.

Examples:
  guildhall transparency verify --from guild.sth --save guild.sth
  guildhall transparency verify --from guild.sth --entries
  guildhall transparency verify --from guild.sth --to other.sth --proof proof.json";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct TransparencyArgs {
    #[command(subcommand)]
    command: Commands,
}

#[derive(Args)]
struct LogArgs {
    /// URL of the server; without it the one of the context. No sign-in is needed
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Public key of the log, or a file that contains it; without it the key of the saved head, or any
    #[arg(long, value_name = "KEY")]
    public_key: Option<String>,
    /// Save the verified head in this file
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Subcommand)]
enum Commands {
    /// Show the current head of the log, after its signature is verified
    Head(LogArgs),
    /// Verify that a log has only grown since a saved head, and that its entries are those of its head
    #[command(after_help = VERIFY_HELP)]
    Verify {
        /// Head that was saved before
        #[arg(long, value_name = "FILE", required_unless_present = "entries")]
        from: Option<PathBuf>,
        /// Another saved head, in place of the one of the server
        #[arg(long, value_name = "FILE", requires = "from", conflicts_with_all = ["entries", "save"])]
        to: Option<PathBuf>,
        /// Proof that the larger one of the two saved heads continues the other; without it the server is asked
        #[arg(long, value_name = "FILE", requires = "to")]
        proof: Option<PathBuf>,
        /// Read all entries, and compute the root hash from them
        #[arg(long)]
        entries: bool,
        #[command(flatten)]
        log: LogArgs,
    },
}

pub(crate) fn run(args: &TransparencyArgs) -> Result<()> {
    match &args.command {
        Commands::Head(log) => block_on(show(log)),
        Commands::Verify { from: Some(from), to: Some(to), proof, log, .. } => {
            block_on(compare::run(from, to, proof.as_deref(), log))
        }
        Commands::Verify { from, entries, log, .. } => block_on(verify::run(from.as_deref(), *entries, log)),
    }
}

async fn show(args: &LogArgs) -> Result<()> {
    let key = args.key()?;
    let view = args.client()?.tree_head().await?;
    let head = VerifiedHead::new(&view, key.as_ref())?;
    args.save(&view)?;
    print_result(args.common.json, &json!(view), || {
        format_fields(&[
            ("log", view.log_id.clone()),
            ("entries", view.tree_size.to_string()),
            ("root", view.root_hash.clone()),
            ("signed", format_time(head.signed.head.at)),
            ("public key", view.public_key.clone()),
        ])
    })?;
    Ok(())
}

impl LogArgs {
    fn client(&self) -> Result<Client> {
        match &self.server {
            Some(url) => Ok(Client::new(url)?),
            None => Ok(self.common.connect()?.client),
        }
    }

    /// Reads the key that the log must have.
    fn key(&self) -> Result<Option<LogKey>> {
        let Some(text) = &self.public_key else { return Ok(None) };
        if let Ok(key) = LogKey::from_base64(text) {
            return Ok(Some(key));
        }
        let file = read_text(Path::new(text))
            .with_context(|| format!("--public-key is neither a key nor a file that can be read: {text}"))?;
        let key = LogKey::from_base64(file.trim());
        key.map(Some).with_context(|| format!("cannot use the key in {text}"))
    }

    /// Replaces the saved head at once: an interrupted command leaves the old one.
    fn save(&self, head: &TreeHeadView) -> Result<()> {
        let Some(path) = &self.save else { return Ok(()) };
        let folder = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let write = || -> std::io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            writeln!(file, "{}", json!(head))?;
            file.persist(path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot save the head in {}", path.display()))
    }
}

/// Reads a saved head, and verifies its signature.
fn read_head(path: &Path, key: Option<&LogKey>) -> Result<VerifiedHead> {
    let view: TreeHeadView = read_json(path, "tree head")?;
    VerifiedHead::new(&view, key).context("the saved head is not valid")
}

/// Reads a saved head or proof.
fn read_json<T: DeserializeOwned>(path: &Path, what: &str) -> Result<T> {
    let text = read_text(path).with_context(|| format!("cannot read {}", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{} is not a saved {what}", path.display()))
}

fn read_text(path: &Path) -> std::io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(MAX_FILE_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Prints why a log is not valid, for programs.
fn print_fault<T>(json: bool, verified: &Result<T>) -> Result<()> {
    let fault = verified.as_ref().err().and_then(|error| error.downcast_ref::<LogFault>());
    if let Some(fault) = fault.filter(|_| json) {
        let value: Value = json!({ "ok": false, "fault": fault.to_string() });
        print_result(true, &value, String::new)?;
    }
    Ok(())
}
