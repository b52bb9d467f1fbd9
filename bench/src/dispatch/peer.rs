//! The graphile-worker side: a job added over SQL, and a waiting worker.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result, bail};
use secrecy::{ExposeSecret, SecretString};
use sqlx::{Connection, PgConnection};

use super::{WorkerProcess, now};

const WORKER: &str = include_str!("../../peers/graphile.js");

/// The npm packages: the peer and its Node.js version.
const PACKAGES: [&str; 2] = ["graphile-worker@0.17.3", "node@24.21.0"];

const ADD_JOB: &str = "SELECT graphile_worker.add_job('receive', json_build_object('n', $1::bigint))";

pub(super) struct Peer {
    connection: PgConnection,
    worker: WorkerProcess,
}

impl Peer {
    pub(super) async fn start(postgres: &SecretString) -> Result<Self> {
        let modules = folder()?.join("node_modules");
        let mut command = Command::new(modules.join(".bin/node"));
        // In the environment: other processes can read arguments, and the URL contains a password.
        command.args(["-e", WORKER]).env("NODE_PATH", &modules).env("DATABASE_URL", postgres.expose_secret());
        let worker = tokio::task::block_in_place(|| WorkerProcess::start(&mut command, ""))?;
        let connection = PgConnection::connect(postgres.expose_secret()).await?;
        Ok(Self { connection, worker })
    }

    pub(super) async fn run_job(&mut self, number: usize) -> Result<i64> {
        #[expect(clippy::disallowed_methods, reason = "the SQL of the manual of graphile-worker")]
        let add = sqlx::query(ADD_JOB).bind(i64::try_from(number)?);
        add.execute(&mut self.connection).await?;
        let accepted = now();
        self.worker.wait_for_job(number, accepted).await
    }
}

/// Installs the peer into the cache folder of the tools, unless it is installed.
pub(super) fn install() -> Result<()> {
    let (folder, packages) = (folder()?, PACKAGES.join(" "));
    let marker = folder.join("installed");
    if std::fs::read_to_string(&marker).is_ok_and(|installed| installed == packages) {
        return Ok(());
    }
    std::fs::create_dir_all(&folder)?;
    let status = Command::new("npm")
        .args(["install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix"])
        .arg(&folder)
        .args(PACKAGES)
        .status()
        .context("cannot run npm: install Node.js")?;
    if !status.success() {
        bail!("npm cannot install {packages}");
    }
    Ok(std::fs::write(marker, packages)?)
}

fn folder() -> Result<PathBuf> {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")));
    Ok(cache.context("HOME or XDG_CACHE_HOME is not set")?.join("guildhall/tools/peers"))
}
