//! Clients that wait: followers, runners without a run, and runners whose run is idle.

use anyhow::{Context, Result, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use reqwest::Method;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::installation::{Installation, Tenant, text};

/// Requests at a time while clients are made.
const AT_ONCE: usize = 16;

/// Longer than the server lets a request wait.
const WAIT_MS: u64 = 60_000;

/// Makes values with some requests at a time.
async fn make<T, F: Future<Output = Result<T>>>(count: usize, make: impl Fn() -> F) -> Result<Vec<T>> {
    stream::iter((0..count).map(|_| make())).buffer_unordered(AT_ONCE).try_collect().await
}

/// Opens streams of one run, each with a service key of its own. Returns the responses, which keep them open.
pub(super) async fn follow(
    installation: &Installation,
    tenant: &Tenant,
    run: &str,
    count: usize,
) -> Result<Vec<reqwest::Response>> {
    make(count, async || {
        let path = format!("/api/v1/tenants/{}/keys", tenant.id);
        let body = json!({ "name": "follower", "role": "viewer" });
        let key = text(&installation.request(Method::POST, &path, &tenant.access, body).await?, "secret")?;
        let url = format!("{}/api/v1/runs/{run}/events/stream", installation.base);
        let response = installation.client.get(url).bearer_auth(key).send().await?;
        Ok(response.error_for_status()?)
    })
    .await
}

/// Counts the streams that the server still has open.
pub(crate) async fn open_streams(installation: &Installation) -> Result<usize> {
    metric(installation, "guildhall_streams_open").await
}

pub(super) async fn metric(installation: &Installation, name: &str) -> Result<usize> {
    let text = installation.client.get(format!("{}/metrics", installation.base)).send().await?.text().await?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    Ok(line.context("no such metric")?.parse()?)
}

/// Registers runners.
pub(super) async fn register(
    installation: &Installation,
    tenant: &Tenant,
    count: usize,
) -> Result<Vec<String>> {
    make(count, async || {
        let body = json!({ "name": "bench", "backendProfiles": ["demo"] });
        text(
            &installation.request(Method::POST, "/api/v1/runners/register", &tenant.enrolment, body).await?,
            "runnerId",
        )
    })
    .await
}

/// Lets runners ask for a run, again and again, until they get one or the set is dropped.
pub(super) fn wait_for_runs(
    installation: &Installation,
    tenant: &Tenant,
    runners: &[String],
) -> JoinSet<Result<Value>> {
    let mut waiting = JoinSet::new();
    for runner in runners {
        let (client, enrolment) = (installation.client.clone(), tenant.enrolment.clone());
        let url = format!("{}/api/v1/runners/claim", installation.base);
        let body = json!({ "runnerId": runner, "wait": WAIT_MS });
        waiting.spawn(async move {
            loop {
                let response = client.post(&url).bearer_auth(&enrolment).json(&body).send().await?;
                let claimed: Value = response.error_for_status()?.json().await?;
                if !claimed["grant"].is_null() {
                    return Ok(claimed["grant"].clone());
                }
            }
        });
    }
    waiting
}

/// Claims runs without a command, and lets their runners wait for one until the set is dropped.
pub(super) async fn hold_runs(
    installation: &Installation,
    tenant: &Tenant,
    count: usize,
) -> Result<JoinSet<Result<()>>> {
    let runners = register(installation, tenant, count).await?;
    let mut holding = JoinSet::new();
    for runner in runners {
        let run = installation.create_run(tenant).await?;
        let claim = format!("/api/v1/runs/{run}/claim");
        let body = json!({ "runnerId": runner });
        let granted = installation.request(Method::POST, &claim, &tenant.enrolment, body).await?;
        let (client, token) = (installation.client.clone(), text(&granted, "runToken")?);
        let url =
            format!("{}/api/v1/runs/{run}/commands?afterSeq=0&cancelSeq=0&wait={WAIT_MS}", installation.base);
        holding.spawn(async move {
            loop {
                let work: Value =
                    client.get(&url).bearer_auth(&token).send().await?.error_for_status()?.json().await?;
                ensure!(
                    work["commands"].as_array().is_some_and(Vec::is_empty),
                    "an idle run has work: {work}"
                );
            }
        });
    }
    Ok(holding)
}
