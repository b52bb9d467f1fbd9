//! Memory of the server for each open stream: the growth of its resident set with 2,000 streams of as many runs, each with
//! a turn that waits for a runner. Each kind of stream has a server of its own.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use futures::stream::{self, StreamExt, TryStreamExt};
use guildhall_domain::ids::RunId;
use reqwest::{Method, RequestBuilder, Response};
use secrecy::ExposeSecret;
use sqlx::{Connection, PgConnection};
use uuid::Uuid;

use super::thread::{Application, open};
use crate::growth::open_streams;
use crate::installation::Installation;
use crate::memory::resident_bytes;

const STREAMS: usize = 2_000;

/// Streams that are opened and closed before the first reading, so that the server has its connections and caches.
const WARM_UP_STREAMS: usize = 200;

/// Requests at a time.
const AT_ONCE: usize = 16;

/// Time in which the allocator returns what is free.
const SETTLE: Duration = Duration::from_secs(15);

/// A conversation with a waiting turn.
struct ThreadRun {
    thread: String,
    run: RunId,
}

/// Returns the bytes of a plain stream of events and of an AG-UI stream.
pub(super) async fn measure() -> Result<[u64; 2]> {
    let plain = measure_streams(|app, turn| {
        app.request(Method::GET, &format!("/api/v1/runs/{}/events/stream", turn.run))
    });
    let plain = plain.await?;
    let agui = measure_streams(|app, turn| app.agui_request(&turn.thread, "run")).await?;
    Ok([plain, agui])
}

async fn measure_streams(request: impl Fn(&Application<'_>, &ThreadRun) -> RequestBuilder) -> Result<u64> {
    let installation = Installation::start()?;
    let app = Application::create(&installation).await?;
    let turns = start_turns(&app).await?;
    drop(open_all(&app, &turns[..WARM_UP_STREAMS], &request).await?);
    tokio::time::sleep(SETTLE).await;
    let before = resident_bytes(installation.server_pid())?;
    let streams = open_all(&app, &turns, &request).await?;
    tokio::time::sleep(SETTLE).await;
    ensure!(open_streams(&installation).await? == STREAMS, "streams were closed");
    let after = resident_bytes(installation.server_pid())?;
    println!("server: {} KiB, with {} streams {} KiB", before / 1024, streams.len(), after / 1024);
    Ok(after.saturating_sub(before) / u64::try_from(STREAMS)?)
}

/// Starts the turns and returns them with their runs.
async fn start_turns(app: &Application<'_>) -> Result<Vec<ThreadRun>> {
    let threads = stream::iter(0..STREAMS).map(async |_| {
        let thread = Uuid::now_v7().to_string();
        app.start_turn(&thread, "run").await
    });
    threads.buffer_unordered(AT_ONCE).try_collect::<()>().await?;
    let mut sql = PgConnection::connect(app.installation.postgres.url().expose_secret()).await?;
    let query = "SELECT threads.thread, runs.id FROM threads JOIN runs ON runs.session = threads.session";
    #[expect(clippy::disallowed_methods, reason = "a benchmark reads the rows that it has made")]
    let rows: Vec<(String, Uuid)> = sqlx::query_as(query).fetch_all(&mut sql).await?;
    sql.close().await?;
    ensure!(rows.len() == STREAMS, "{} runs", rows.len());
    Ok(rows.into_iter().map(|(thread, run)| ThreadRun { thread, run: RunId::from_uuid(run) }).collect())
}

/// Opens streams and waits for the first bytes of each.
async fn open_all(
    app: &Application<'_>,
    turns: &[ThreadRun],
    request: impl Fn(&Application<'_>, &ThreadRun) -> RequestBuilder,
) -> Result<Vec<Response>> {
    let opened = stream::iter(turns).map(async |turn| {
        let mut response = open(request(app, turn)).await?;
        response.chunk().await?.context("the stream has ended")?;
        anyhow::Ok(response)
    });
    opened.buffer_unordered(AT_ONCE).try_collect().await
}
