//! A primary and a synchronous standby behind one address.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use guildhall_testkit::{EarlierConnections, Forwarder};

use super::postgres_node::PostgresNode;
use crate::support::cluster::run_blocking;

pub(super) struct PostgresPair {
    nodes: [Arc<PostgresNode>; 2],
    primary: AtomicUsize,
    pub(super) forwarder: Forwarder,
}

impl PostgresPair {
    /// Creates both servers, the role of Guildhall, and waits until commits are replicated.
    pub(super) async fn start(folder: &Path) -> Self {
        let nodes = ["first", "second"].map(|name| Arc::new(PostgresNode::new(folder, name)));
        let first = Arc::clone(&nodes[0]);
        run_blocking(move || {
            first.create();
            first.set_synchronous(false);
            first.start();
        })
        .await;
        nodes[0].sql().await.execute("CREATE ROLE guildhall LOGIN CREATEDB").await;
        let forwarder = Forwarder::start(nodes[0].port).await;
        let pair = Self { nodes, primary: AtomicUsize::new(0), forwarder };
        pair.rebuild_standby().await;
        pair
    }

    pub(super) fn primary(&self) -> Arc<PostgresNode> {
        Arc::clone(&self.nodes[self.primary.load(Ordering::SeqCst)])
    }

    pub(super) fn standby(&self) -> Arc<PostgresNode> {
        Arc::clone(&self.nodes[1 - self.primary.load(Ordering::SeqCst)])
    }

    /// Returns the URL of the forwarder for a role.
    pub(super) fn url(&self, role: &str) -> secrecy::SecretString {
        format!("postgres://{role}@127.0.0.1:{}/postgres", self.forwarder.port()).into()
    }

    /// Kills the primary and promotes the standby. The killed server becomes the standby of [`Self::rebuild_standby`].
    pub(super) async fn fail_over(&self, earlier: EarlierConnections) {
        let (primary, standby) = (self.primary(), self.standby());
        if earlier == EarlierConnections::Silent {
            self.forwarder.sever(earlier);
        }
        self.forwarder.set_target(standby.port);
        let new_primary = Arc::clone(&standby);
        run_blocking(move || {
            primary.kill();
            new_primary.set_synchronous(false);
        })
        .await;
        standby.sql().await.execute("SELECT pg_promote()").await;
        self.primary.fetch_xor(1, Ordering::SeqCst);
    }

    /// Takes a base backup, and after a pause loses the data of the primary and its standby. The backup and the
    /// write-ahead log since then are restored.
    pub(super) async fn restore_backup(&self, pause: Duration) {
        let (primary, standby) = (self.primary(), self.standby());
        let restored = Arc::clone(&primary);
        run_blocking(move || {
            let backup = restored.back_up();
            std::thread::sleep(pause);
            // Commits that wait for the standby are not confirmed any more.
            standby.kill();
            restored.kill();
            restored.restore(&backup);
        })
        .await;
        wait_until_writable(&primary).await;
    }

    /// Writes while the standby is down, and fails over. Commits wait for the standby only if it is synchronous.
    pub(super) async fn fail_over_behind(&self, is_synchronous: bool, write: impl AsyncFnOnce()) {
        let (primary, standby) = (self.primary(), self.standby());
        primary.set_synchronous(is_synchronous);
        let stopped = Arc::clone(&standby);
        run_blocking(move || stopped.kill()).await;
        write().await;
        run_blocking(move || {
            primary.kill();
            standby.start();
        })
        .await;
        self.fail_over(EarlierConnections::Closed).await;
    }

    /// Makes the other server a standby. Until it has caught up, commits are on the primary only.
    pub(super) async fn rebuild_standby(&self) {
        let (primary, standby) = (self.primary(), self.standby());
        let copied = Arc::clone(&primary);
        run_blocking(move || {
            standby.kill();
            standby.copy_from(&copied);
            standby.set_synchronous(false);
            standby.start();
            copied.set_synchronous(true);
        })
        .await;
        self.wait_synchronous().await;
    }

    /// Waits until the standby confirms commits.
    pub(super) async fn wait_synchronous(&self) {
        let deadline = Instant::now() + Duration::from_secs(60);
        let mut sql = self.primary().sql().await;
        while sql.number("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'").await == 0 {
            assert!(Instant::now() < deadline, "the standby does not follow");
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

/// Waits until a restored server has replayed the write-ahead log.
async fn wait_until_writable(node: &PostgresNode) {
    let deadline = Instant::now() + Duration::from_secs(60);
    let mut sql = node.sql().await;
    while sql.number("SELECT pg_is_in_recovery()::int::bigint").await == 1 {
        assert!(Instant::now() < deadline, "PostgreSQL does not finish the restore");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
