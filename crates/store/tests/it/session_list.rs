//! The default list of sessions: what it lists, and what it costs.

use guildhall_domain::ids::{PrincipalId, SessionId};
use guildhall_domain::sessions::{SessionFilter, SessionVersion};
use guildhall_store::sessions::Reader;
use guildhall_store::{Store, session_readers};
use guildhall_testkit::{Rounds, SqlConnection, TestDb};
use uuid::Uuid;

use crate::flat_reads::buffers;
use crate::store_with_timeout;

const TENANTS: [&str; 3] = [
    "00000000-0000-7000-8000-000000000001",
    "00000000-0000-7000-8000-000000000002",
    "00000000-0000-7000-8000-000000000003",
];

/// A reader and the database that it reads.
struct Fixture {
    db: TestDb,
    store: Store,
    sql: SqlConnection,
    principal: PrincipalId,
}

impl Fixture {
    /// A principal that is a member of the first two of three tenants.
    async fn new() -> Self {
        let db = TestDb::new().await;
        let store = store_with_timeout(db.url(), std::time::Duration::from_secs(60));
        let mut sql = db.sql().await;
        let principal = PrincipalId::generate();
        let id = principal.as_uuid();
        let [first, second, other] = TENANTS;
        sql.execute(format!(
            "INSERT INTO principals (id, kind, name) VALUES ('{id}', 'person', 'p');
             INSERT INTO tenants (id, slug, name) VALUES
                 ('{first}', 'first', 'first'), ('{second}', 'second', 'second'), ('{other}', 'other', 'other');
             INSERT INTO memberships (tenant, principal, role) VALUES
                 ('{first}', '{id}', 'owner'), ('{second}', '{id}', 'owner')"
        ))
        .await;
        Self { db, store, sql, principal }
    }

    fn reader<'a>(&self, name: &'a str) -> Reader<'a> {
        Reader { principal: self.principal, name }
    }

    async fn insert_session(&mut self, tenant: &str, session: Uuid) {
        self.sql
            .execute(format!(
                "INSERT INTO sessions (id, tenant, project, backend_profile, created_by)
                 VALUES ('{session}', '{tenant}', 'p', 'demo', '{}')",
                self.principal.as_uuid()
            ))
            .await;
    }

    /// Inserts sessions of the first tenant, in version 1, that "cli" has read except for every `unread_every`th.
    async fn insert_history(&mut self, sessions: u32, unread_every: u32) {
        let (tenant, principal) = (TENANTS[0], self.principal.as_uuid());
        self.sql
            .execute(format!(
                "INSERT INTO sessions (id, tenant, project, backend_profile, created_by, version, changed_in)
                 SELECT ('00000000-0000-7000-8001-' || lpad(to_hex(n), 12, '0'))::uuid, '{tenant}', 'p', 'demo',
                     '{principal}', 1, 0
                 FROM generate_series(1, {sessions}) AS n;
                 INSERT INTO session_reads (session, principal, reader, version)
                 SELECT id, '{principal}', 'cli', 1
                 FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM sessions) AS numbered
                 WHERE n % {unread_every} <> 1"
            ))
            .await;
        self.sql.execute("VACUUM ANALYZE sessions, session_reads").await;
    }

    async fn mark(&self, session: Uuid, reader: &str, version: i64) {
        let (session, version) = (SessionId::from_uuid(session), SessionVersion::new(version));
        let marked = session_readers::mark_read(&self.store, session, self.reader(reader), version).await;
        assert!(marked.expect("marked").is_some(), "{session} does not exist");
    }

    /// Lists by pages.
    async fn list(&self, reader: &str, page: u32) -> Vec<Uuid> {
        let mut listed: Vec<Uuid> = Vec::new();
        loop {
            let before = listed.last().map(|id| SessionId::from_uuid(*id));
            let filter = SessionFilter { before, ..SessionFilter::default() };
            let found = session_readers::list_unread(&self.store, self.reader(reader), &filter, page)
                .await
                .expect("a list");
            listed.extend(found.iter().map(|session| session.id.as_uuid()));
            if found.len() < page as usize {
                return listed;
            }
        }
    }

    /// Lists by the definition: running or unread, and no canary turn.
    async fn list_by_definition(&mut self, reader: &str) -> Vec<Uuid> {
        let principal = self.principal.as_uuid();
        let listed = self
            .sql
            .texts(format!(
                "SELECT session.id::text FROM sessions AS session
                 INNER JOIN memberships AS membership
                     ON membership.tenant = session.tenant AND membership.principal = '{principal}'
                 LEFT JOIN session_reads AS mark
                     ON mark.session = session.id AND mark.principal = '{principal}' AND mark.reader = '{reader}'
                 WHERE (session.running OR session.version > coalesce(mark.version, 0))
                     AND NOT EXISTS (SELECT FROM profile_validations WHERE run = session.last_run)
                 ORDER BY session.id DESC"
            ))
            .await;
        listed.iter().map(|id| id.parse().expect("an id")).collect()
    }

    async fn assert_lists_by_definition(&mut self, reader: &str, page: u32, when: &str) {
        let expected = self.list_by_definition(reader).await;
        assert_eq!(self.list(reader, page).await, expected, "{reader} {when}");
    }

    /// Returns the blocks that a page of the default list reads, with a plan that does not know the parameters.
    async fn blocks_of_list(&mut self, reader: &str) -> u64 {
        let statement = include_str!("../../queries/sessions/list_unread.sql");
        let max = Uuid::max();
        self.sql
            .execute(format!(
                "SET plan_cache_mode = force_generic_plan;
                 PREPARE list (uuid, text, uuid, uuid, text, bigint, bigint) AS {statement}"
            ))
            .await;
        let principal = self.principal.as_uuid();
        let execute = format!("EXECUTE list ('{principal}', '{reader}', '{max}', NULL, NULL, 50, 1000)");
        let blocks = buffers(&mut self.sql, &execute).await;
        self.sql.execute("DEALLOCATE list").await;
        blocks
    }
}

fn nth(n: u32) -> Uuid {
    format!("00000000-0000-7000-8001-{n:012x}").parse().expect("an id")
}

/// Every step of a random history: two readers, three tenants, and writers that commit late.
#[tokio::test]
async fn default_list_equals_its_definition_after_each_random_step() {
    let mut rounds = Rounds::from_env(150);
    let mut fixture = Fixture::new().await;
    let mut late = fixture.db.sql().await;
    let mut late_session: Option<Uuid> = None;
    let mut ids: Vec<Uuid> = Vec::new();
    for step in 0..rounds.size() {
        let tenant = TENANTS[usize::try_from(rounds.random() % 3).expect("small")];
        let any = |number: u64, ids: &[Uuid]| {
            ids.get(usize::try_from(number).expect("64 bits") % ids.len().max(1)).copied()
        };
        let session = any(rounds.random() >> 1, &ids);
        let is_free = session.filter(|session| late_session != Some(*session));
        match (rounds.random() % 12, session, is_free) {
            // Ids do not grow with time: replicas have clocks of their own.
            (0..3, _, _) | (_, None, _) => {
                let id = nth(u32::try_from(rounds.random() % 1_000_000).expect("small"));
                if !ids.contains(&id) {
                    fixture.insert_session(tenant, id).await;
                    ids.push(id);
                }
            }
            (3..6, _, Some(id)) => {
                fixture
                    .sql
                    .execute(format!("UPDATE sessions SET version = version + 1 WHERE id = '{id}'"))
                    .await;
            }
            (6, _, Some(id)) => {
                fixture
                    .sql
                    .execute(format!("UPDATE sessions SET running = NOT running WHERE id = '{id}'"))
                    .await;
            }
            (7, _, Some(id)) if late_session.is_none() => {
                late.execute(format!("BEGIN; UPDATE sessions SET version = version + 1 WHERE id = '{id}'"))
                    .await;
                late_session = Some(id);
            }
            (7 | 8, _, _) => {
                if late_session.take().is_some() {
                    late.execute(if rounds.random().is_multiple_of(4) { "ROLLBACK" } else { "COMMIT" }).await;
                }
            }
            (_, Some(id), _) => {
                let version = i64::try_from(rounds.random() % 4).expect("small");
                fixture
                    .mark(id, if rounds.random().is_multiple_of(4) { "web" } else { "cli" }, version)
                    .await;
            }
        }
        for reader in ["cli", "web"] {
            let when = format!("after step {step} of seed {}", rounds.seed());
            fixture.assert_lists_by_definition(reader, 7, &when).await;
        }
    }
}

/// A transaction that is open while the reader settles its sessions commits later, below a mark in version 1.
#[tokio::test]
async fn change_that_commits_after_a_read_marker_is_listed() {
    let mut fixture = Fixture::new().await;
    fixture.insert_history(20, 100).await;
    fixture.mark(nth(1), "cli", 1).await;
    assert_eq!(fixture.list("cli", 50).await, Vec::<Uuid>::new());
    let mut late = fixture.db.sql().await;
    late.execute(format!("BEGIN; UPDATE sessions SET version = 2 WHERE id = '{}'", nth(5))).await;
    for session in [4, 5, 6] {
        fixture.mark(nth(session), "cli", 1).await;
    }
    late.execute("COMMIT").await;
    assert_eq!(fixture.list("cli", 50).await, [nth(5)]);
    fixture.mark(nth(6), "cli", 1).await;
    assert_eq!(fixture.list("cli", 50).await, [nth(5)], "settled");
    fixture.mark(nth(5), "cli", 2).await;
    assert_eq!(fixture.list("cli", 50).await, Vec::<Uuid>::new());
}

#[tokio::test]
async fn session_whose_last_run_is_no_canary_any_more_is_listed() {
    let mut fixture = Fixture::new().await;
    fixture.insert_history(3, 100).await;
    let (tenant, principal, session) = (TENANTS[0], fixture.principal.as_uuid(), nth(2));
    let run = |ordinal: u32| {
        format!(
            "INSERT INTO runs (id, tenant, session, ordinal, project, provider, backend_profile, workspace_ref,
                 execution_policy, created_by)
             VALUES ('{}', '{tenant}', '{session}', {ordinal}, 'p', 'local', 'demo', '{{}}', '{{}}', '{principal}')",
            nth(ordinal)
        )
    };
    fixture
        .sql
        .execute(format!(
            "{}; UPDATE sessions SET last_run = '{first}', version = 2 WHERE id = '{session}';
             INSERT INTO profile_validations (id, tenant, profile, run, command, created_by, deadline_at)
             VALUES ('{first}', '{tenant}', 'demo', '{first}', '{first}', '{principal}', now())",
            run(1),
            first = nth(1)
        ))
        .await;
    fixture.mark(nth(1), "cli", 1).await;
    assert_eq!(fixture.list("cli", 50).await, Vec::<Uuid>::new());
    fixture
        .sql
        .execute(format!(
            "UPDATE runs SET state = 'ended', terminal_status = 'completed', ended_at = now();
             {}; UPDATE sessions SET last_run = '{}' WHERE id = '{session}'",
            run(2),
            nth(2)
        ))
        .await;
    fixture.assert_lists_by_definition("cli", 50, "with a second run").await;
    assert_eq!(fixture.list("cli", 50).await, [session]);
}

/// Transactions of another database cluster have other numbers: after a restored dump, nothing is settled.
#[tokio::test]
async fn restored_dump_lists_all_unread_sessions() {
    let mut fixture = Fixture::new().await;
    fixture.insert_history(30, 100).await;
    fixture.mark(nth(1), "cli", 1).await;
    fixture
        .sql
        .execute(format!(
            "UPDATE session_readers SET system_identifier = 1, settled_before = settled_before + 1000000;
             UPDATE sessions SET version = 2 WHERE id = '{}'",
            nth(9)
        ))
        .await;
    assert_eq!(fixture.list("cli", 50).await, [nth(9)]);
    fixture.mark(nth(3), "cli", 1).await;
    assert_eq!(fixture.list("cli", 50).await, [nth(9)]);
}

#[tokio::test]
async fn more_changes_than_a_list_reads_are_all_listed() {
    let mut fixture = Fixture::new().await;
    fixture.insert_history(3000, 1500).await;
    fixture.mark(nth(2), "cli", 1).await;
    let change = "UPDATE sessions SET version = 2 WHERE get_byte(uuid_send(id), 15) < 128";
    fixture.sql.execute(change).await;
    fixture.assert_lists_by_definition("cli", 200, "after many changes").await;
    for session in [1, 2, 3, 2999, 3000] {
        fixture.mark(nth(session), "cli", 2).await;
        fixture.assert_lists_by_definition("cli", 200, &format!("after session {session} was read")).await;
    }
}

#[tokio::test]
async fn default_list_costs_the_same_in_ten_times_the_history() {
    let mut blocks = Vec::new();
    for (sessions, unread_every) in [(10_000, 1000), (100_000, 10_000)] {
        let mut fixture = Fixture::new().await;
        fixture.insert_history(sessions, unread_every).await;
        // Each marker settles some thousand sessions.
        for session in 2..=sessions / 5000 + 4 {
            fixture.mark(nth(session), "cli", 1).await;
        }
        fixture.sql.execute(format!("UPDATE sessions SET running = true WHERE id = '{}'", nth(77))).await;
        fixture.sql.execute(format!("UPDATE sessions SET version = 2 WHERE id = '{}'", nth(78))).await;
        assert_eq!(fixture.list("cli", 50).await.len(), 12);
        fixture.assert_lists_by_definition("cli", 50, "in a long history").await;
        let new_reader = fixture.blocks_of_list("new").await;
        blocks.push((fixture.blocks_of_list("cli").await, new_reader));
    }
    let [(few, few_new), (many, many_new)] = blocks[..] else { panic!("two sizes") };
    assert!(few > 0 && many <= 400 && many * 10 <= few * 13, "{few} and {many} blocks");
    // One level of the index of read markers more, for each session of the page.
    assert!(
        many_new <= 1000 && many_new * 10 <= few_new * 15,
        "{few_new} and {many_new} blocks for a new reader"
    );
}
