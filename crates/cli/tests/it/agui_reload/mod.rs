//! Reloads of AG-UI pages in mid-stream: two replicas, real runners with the demo agent, and pages that drop their stream
//! at random places and continue at the other replica, while replicas are killed with SIGKILL. CI does a few reloads;
//! `cargo xtask long agui-reload` does all.
//!
//! A page continues after its last event, or loads the conversation or the run again. Every frame that it gets must be the
//! one that it had at this place before. At the end, what the pages have must be the fold of the journal, and their
//! message lists must have every message once.

mod expected_messages;
mod frame_stream;
mod journal_fold;
mod message_list;
mod page;

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use futures::future::try_join_all;
use guildhall_testkit::Rounds;
use serde_json::json;
use tempfile::TempDir;

use self::frame_stream::FrameStream;
use self::page::{Opening, Page, PageStats};
use crate::support::agent::write_private;
use crate::support::cluster::Cluster;
use crate::support::proxy::{self, ProxyAction};
use crate::support::runner_process::RunnerProcess;

/// Pages at a time, each in a conversation of its own.
const PAGES: usize = 4;

/// More than pages: a runner keeps the run of a conversation for a while after its last turn.
const RUNNERS: usize = 6;

/// Runs of a conversation; then the page opens a new one.
const RUNS_PER_THREAD: usize = 5;

/// There is at least one kill for this many reloads.
const RELOADS_PER_KILL: u32 = 8;

/// A killed replica stays down for at most this long.
const MAX_OUTAGE: Duration = Duration::from_millis(800);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reloaded_pages_miss_and_double_nothing_while_replicas_are_killed() {
    let mut rounds = Rounds::from_env(8);
    let started = Instant::now();
    let fixture = Arc::new(ReloadFixture::start(rounds.size()).await);
    let pages: Vec<_> = (0..PAGES)
        .map(|number| {
            let (fixture, rounds) = (Arc::clone(&fixture), rounds.fork());
            guildhall_testkit::spawn_task(async move { browse(&fixture, number, rounds).await })
        })
        .collect();
    while !fixture.has_reloaded_enough() {
        fixture.kill_and_restart_replica(&mut rounds).await;
    }
    let browsed = try_join_all(pages).await.expect("the pages do not panic");
    let (mut stats, mut frames) = (PageStats::default(), 0);
    for thread in browsed.into_iter().flatten() {
        assert_page_is_the_journal(&fixture, &thread).await;
        frames += thread.frames().len();
        stats.add(&thread.stats);
    }
    assert!(stats.threads > 1 && stats.cut_by_kills + stats.refused > 0, "too little: {stats:?}");
    let kills = fixture.kills.load(Ordering::SeqCst);
    rounds.report(&report(&stats, frames, kills, started.elapsed()));
}

/// Uses one conversation after the other until enough reloads are done.
async fn browse(fixture: &ReloadFixture, number: usize, mut rounds: Rounds) -> Vec<Page> {
    let mut threads = Vec::new();
    while !fixture.has_reloaded_enough() {
        let mut page = Page::new(format!("thread-{number}-{}", threads.len()), number);
        for _ in 0..RUNS_PER_THREAD {
            page.run(fixture, &mut rounds).await;
            page.assert_messages();
        }
        threads.push(page);
    }
    threads
}

/// Compares what a page has with the journal, and with what both replicas send to a new page.
async fn assert_page_is_the_journal(fixture: &ReloadFixture, page: &Page) {
    let folded = journal_fold::frames_of_thread(&mut fixture.cluster.db.sql().await, &page.thread).await;
    let data: Vec<_> = page.frames().iter().map(|frame| frame.data.clone()).collect();
    assert_eq!(data, folded, "{} and the fold of its journal", page.thread);
    for replica in 0..2 {
        let request = page.request(fixture, replica, Opening::Thread);
        let mut stream = FrameStream::open(request).await.expect("a stream");
        let mut replayed = Vec::new();
        while let Some(frame) = stream.next().await.expect("a frame") {
            replayed.push(frame);
        }
        assert_eq!(page.frames(), replayed, "{} and a new page at replica {replica}", page.thread);
    }
}

fn report(stats: &PageStats, frames: usize, kills: u32, elapsed: Duration) -> String {
    let mut text = String::from("| reload | times |\n|---|---|\n");
    for (name, times) in &stats.reloads {
        let _infallible = writeln!(text, "| {name} | {times} |");
    }
    let reloads: u32 = stats.reloads.values().sum();
    let _infallible = writeln!(
        text,
        "\n{PAGES} pages at a time on 2 replicas, {RUNNERS} runners, {} s: {} conversations with {} runs and {frames} \
         frames. Each of the {reloads} reloads dropped a stream in mid-run and continued at the other replica. {kills} \
         SIGKILLs of replicas cut {} more streams, and {} requests were refused by a replica that was down and repeated.\n\n\
         Every frame that was sent again was equal to the first one, with its id. What the pages had at the end was equal to \
         the fold of the journal and to a new page at each replica: no frame missing, doubled or changed. Every message \
         was in the message lists once, with its whole text.",
        elapsed.as_secs(),
        stats.threads,
        stats.runs,
        stats.cut_by_kills,
        stats.refused,
    );
    text
}

struct ReloadFixture {
    cluster: Cluster,
    /// For streams: without a limit for a whole response.
    client: reqwest::Client,
    bearer: String,
    reloads_wanted: u32,
    reloads: AtomicU32,
    kills: AtomicU32,
    _runners: Vec<RunnerProcess>,
    _folder: TempDir,
}

impl ReloadFixture {
    async fn start(reloads_wanted: u32) -> Self {
        let environment = [("GUILDHALL_RUNS_SANDBOX", "danger-full-access"), ("GUILDHALL_RUNS_LEASE", "20s")];
        let cluster = Cluster::start(&environment).await;
        let access = cluster.create_operator().await;
        let (tenant, bearer) = cluster.create_tenant(&access, "acme").await;
        let agent = json!({
            "tenantId": tenant, "slug": "helper", "name": "Helper", "projectId": "acme/web", "default": true,
            "workspaceRef": { "kind": "empty" }, "providerId": "local", "backendProfile": "demo",
        });
        cluster.create(0, "/api/v1/agents", &access, "agent", &agent).await.expect("an agent");
        let path = format!("/api/v1/tenants/{tenant}/enrolments");
        let enrolment = cluster.create(0, &path, &access, "enrolment", &json!({ "name": "runners" })).await;
        let folder = tempfile::Builder::new().prefix("guildhall-reload-").tempdir().expect("a folder");
        let secret = enrolment.expect("an enrolment")["secret"].as_str().expect("a secret").to_owned();
        write_private(&folder.path().join("enrolment"), &secret);
        let servers = [0, 1].map(|replica| cluster.url(replica, ""));
        let url = proxy::start_on("127.0.0.1", &[&servers[0], &servers[1]], |_| ProxyAction::Forward);
        let runners = (0..RUNNERS)
            .map(|number| RunnerProcess::start_demo(&url, folder.path().join(number.to_string())));
        Self {
            _runners: runners.collect(),
            client: reqwest::Client::builder()
                .pool_max_idle_per_host(0)
                .no_proxy()
                .build()
                .expect("a client"),
            bearer,
            reloads_wanted,
            reloads: AtomicU32::new(0),
            kills: AtomicU32::new(0),
            _folder: folder,
            cluster,
        }
    }

    fn has_reloaded_enough(&self) -> bool {
        let kills_wanted = self.reloads_wanted.div_ceil(RELOADS_PER_KILL);
        !self.wants_reload() && self.kills.load(Ordering::SeqCst) >= kills_wanted
    }

    fn wants_reload(&self) -> bool {
        self.reloads.load(Ordering::SeqCst) < self.reloads_wanted
    }

    async fn kill_and_restart_replica(&self, rounds: &mut Rounds) {
        let pause = Duration::from_millis(200) + rounds.random_duration(Duration::from_millis(800));
        tokio::time::sleep(pause).await;
        let replica = rounds.random_index(2);
        self.cluster.kill_replica(replica);
        self.kills.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep(rounds.random_duration(MAX_OUTAGE)).await;
        self.cluster.restart_replica(replica).await;
    }
}
