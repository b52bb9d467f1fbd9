//! The transparency log on real PostgreSQL, verified by `ct-merkle`, which knows none of our code.

use std::time::Instant;

use ct_merkle::{ConsistencyProof, InclusionProof, RootHash};
use futures::future::join_all;
use guildhall_domain::FailureKind;
use guildhall_domain::identity::{
    LogContent, LogEntry, LoggedCertificate, RegistrationMode, TreeHash, TreeHead,
};
use guildhall_identity::transparency::{Frontier, ProofPlan, verify_certificate};
use guildhall_runtime::Clock;
use guildhall_service::identity::transparency::{Transparency, backfill, leaf_hash};
use guildhall_testkit::{Rounds, SqlConnection};
use sha2::Sha256;

use crate::aids::{IssuerFixture, Replica, name, new_key};
use crate::store;

/// Removes the log, as if it had not existed when the certificates were issued.
const FORGET_LOG: &str = "TRUNCATE transparency_entries, transparency_nodes, agent_manifests, relations, relation_changes, relation_notices;
    UPDATE transparency_log SET size = 0, head_size = NULL, head_root = NULL, head_at = NULL, head_signature = NULL";

/// Certificates of one AID, which only differ in their serial number.
const CERTIFICATES: &str = "
    INSERT INTO principals (id, kind, name) VALUES ('00000000-0000-8000-8000-00000000abcd', 'agent', 'many');
    INSERT INTO aids (aid, principal) VALUES ('many.guild.example', '00000000-0000-8000-8000-00000000abcd');
    INSERT INTO aid_certificates (serial, aid, der, fingerprint, key_fingerprint, not_before, not_after, replaced_at)
    SELECT '\\x40' || int8send(number), 'many.guild.example', sha256(int8send(number)) || '\\x00',
        sha256(int8send(number)), sha256('key'), at, at + interval '90 days', at
    FROM generate_series(1, $SIZE$) AS number, LATERAL (SELECT now() + number * interval '1 second' AS at) AS times";

async fn create(replica: &Replica, fixture: &IssuerFixture, count: usize, prefix: &str) {
    let names = (0..count).map(|number| name(&format!("{prefix}-{number}")));
    let keys: Vec<String> = (0..count).map(|_| new_key()).collect();
    let operator = fixture.operator();
    let created = names.zip(&keys).map(|(name, key)| replica.aids.create(&operator, name, key, None));
    for created in join_all(created).await {
        created.expect("created");
    }
}

/// The root of a log, for ct-merkle.
fn root_of(head: &TreeHead) -> RootHash<Sha256> {
    RootHash::new((*head.root.as_bytes()).into(), head.size)
}

fn bytes(hashes: &[TreeHash]) -> Vec<u8> {
    hashes.iter().flat_map(|hash| *hash.as_bytes()).collect()
}

/// A leaf as ct-merkle hashes it: the data of RFC 6962, section 3.4, written out here again.
fn leaf_data(entry: &LogEntry) -> Vec<u8> {
    let der = &certificate_of(entry).der;
    let length = u32::try_from(der.len()).expect("short").to_be_bytes();
    let at = entry.logged_at.as_millisecond().to_be_bytes();
    [&[0, 0], at.as_slice(), &[0, 0], &length[1..], der, &[0, 0]].concat()
}

fn certificate_of(entry: &LogEntry) -> &LoggedCertificate {
    match &entry.content {
        LogContent::Certificate(certificate) => certificate,
        LogContent::Manifest(manifest) => panic!("{manifest:?}"),
    }
}

async fn all_entries(log: &Transparency) -> Vec<LogEntry> {
    let mut entries: Vec<LogEntry> = Vec::new();
    loop {
        let page = log.entries(entries.len() as u64, 1000).await.expect("listed");
        if page.is_empty() {
            return entries;
        }
        entries.extend(page);
    }
}

/// Verifies with ct-merkle that an entry is in the log of a head.
async fn check_inclusion(log: &Transparency, head: &TreeHead, entry: &LogEntry) {
    let proof = log.prove_inclusion(head.size, entry.index).await.expect("a proof");
    assert_eq!(proof.leaf, leaf_hash(entry));
    let hashes = InclusionProof::try_from_bytes(bytes(&proof.hashes)).expect("a proof");
    let accepted = root_of(head).verify_inclusion(&leaf_data(entry), entry.index, &hashes);
    accepted.unwrap_or_else(|error| panic!("entry {}: {error}", entry.index));
}

async fn check_consistency(log: &Transparency, first: &TreeHead, second: &TreeHead) {
    let hashes = log.prove_consistency(first.size, second.size).await.expect("a proof");
    let proof = ConsistencyProof::try_from_bytes(bytes(&hashes)).expect("a proof");
    root_of(second).verify_consistency(&root_of(first), &proof).expect("accepted");
}

fn kind<T: std::fmt::Debug>(result: Result<T, guildhall_service::ServiceError>) -> FailureKind {
    result.expect_err("a failure").failure().kind
}

// covers: A13
#[tokio::test]
async fn certificates_of_two_replicas_are_in_one_log_before_they_are_handed_out() {
    let fixture = IssuerFixture::new().await;
    let replicas = [fixture.replica(RegistrationMode::Closed), fixture.replica(RegistrationMode::Closed)];
    let empty = replicas[0].transparency.head().await.expect("a head").head;
    assert_eq!((empty.size, empty.root), (0, Frontier::empty().root()));
    let issued =
        replicas[0].aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    let log = &replicas[1].transparency;
    let entry = log.find(&issued.serial).await.expect("it is in the log");
    let logged = certificate_of(&entry);
    assert_eq!((entry.index, &logged.der, &logged.aid), (0, &issued.der, &issued.aid));
    assert_eq!(verify_certificate(logged), Ok(()));
    let first = log.head().await.expect("a head");
    assert_eq!((first.head.size, log.key().expect("a key").verify(&first)), (1, Ok(())));
    check_inclusion(log, &first.head, &entry).await;

    let both =
        tokio::join!(create(&replicas[0], &fixture, 9, "left"), create(&replicas[1], &fixture, 9, "right"));
    assert_eq!(both, ((), ()));
    let heads = [log.head().await.expect("a head"), replicas[0].transparency.head().await.expect("a head")];
    assert_eq!(heads[0], heads[1], "all replicas show the same head");
    assert_eq!(heads[0].head.size, 19);
    let entries = all_entries(log).await;
    assert_eq!(entries.len(), 19);
    for entry in &entries {
        check_inclusion(log, &heads[0].head, entry).await;
    }
    check_consistency(log, &first.head, &heads[0].head).await;
}

// covers: A13
#[tokio::test]
async fn certificate_that_is_not_issued_has_no_entry() {
    let fixture = IssuerFixture::new().await;
    let replica = fixture.replica(RegistrationMode::Closed);
    replica.aids.create(&fixture.operator(), name("alice"), &new_key(), None).await.expect("created");
    // The audit entry is written after the one of the log: the transaction fails late.
    fixture.db.sql().await.execute("ALTER TABLE journal_entries ADD CHECK (false) NOT VALID").await;
    let failed = replica.aids.create(&fixture.operator(), name("bobby"), &new_key(), None).await;
    assert!(failed.is_err(), "{failed:?}");
    assert_eq!(replica.transparency.head().await.expect("a head").head.size, 1);
    assert_eq!(all_entries(&replica.transparency).await.len(), 1);
    let beyond = replica.transparency.prove_inclusion(2, 0).await;
    assert_eq!(kind(beyond), FailureKind::NotFound);
    assert_eq!(kind(replica.transparency.prove_inclusion(u64::MAX, 1).await), FailureKind::NotFound);
    assert_eq!(kind(replica.transparency.prove_consistency(1, 2).await), FailureKind::NotFound);
    assert_eq!(kind(replica.transparency.entry(1).await), FailureKind::NotFound);
}

#[tokio::test]
async fn older_certificates_are_appended_once_by_replicas_that_start_together() {
    let fixture = IssuerFixture::new().await;
    let replica = fixture.replica(RegistrationMode::Closed);
    create(&replica, &fixture, 5, "older").await;
    let mut sql = fixture.db.sql().await;
    sql.execute(
        "UPDATE aid_certificates SET not_before = not_before - interval '1 second' * (get_byte(serial, 3))",
    )
    .await;
    sql.execute(FORGET_LOG).await;
    let (stores, clock) = ([store(fixture.db.url()), store(fixture.db.url())], Clock::system());
    let (first, second) = tokio::join!(backfill(&stores[0], &clock), backfill(&stores[1], &clock));
    assert_eq!(first.expect("appended") + second.expect("appended"), 5);
    let entries = all_entries(&replica.transparency).await;
    let order =
        sql.texts("SELECT encode(serial, 'hex') FROM aid_certificates ORDER BY not_before, serial").await;
    let serial = |entry: &LogEntry| hex::encode(certificate_of(entry).serial.as_bytes());
    let logged: Vec<String> = entries.iter().map(serial).collect();
    assert_eq!(logged, order, "in the order in which they were issued");
    let head = replica.transparency.head().await.expect("a head").head;
    for entry in &entries {
        check_inclusion(&replica.transparency, &head, entry).await;
    }
}

// covers: A13
#[tokio::test]
async fn log_that_was_changed_in_the_database_gets_no_new_head() {
    for change in [
        "UPDATE transparency_nodes SET hash = set_byte(hash, 7, get_byte(hash, 7) # 1) WHERE level = 1",
        "UPDATE transparency_log SET head_root = set_byte(head_root, 31, get_byte(head_root, 31) # 1)",
        "UPDATE transparency_log SET head_size = 1",
        "DELETE FROM transparency_nodes WHERE level = 1",
    ] {
        let fixture = IssuerFixture::new().await;
        let replica = fixture.replica(RegistrationMode::Closed);
        create(&replica, &fixture, 2, "alice").await;
        replica.transparency.head().await.expect("a head");
        fixture.db.sql().await.execute(change).await;
        let created = replica.aids.create(&fixture.operator(), name("bobby"), &new_key(), None).await;
        let is_refused = created.is_err() || replica.transparency.head().await.is_err();
        assert!(is_refused, "{change}");
    }
}

#[tokio::test]
async fn heads_never_get_older_or_smaller() {
    let fixture = IssuerFixture::new().await;
    let replica = fixture.replica(RegistrationMode::Closed);
    let mut heads = Vec::new();
    for number in 0..3 {
        create(&replica, &fixture, 1, &format!("name-{number}")).await;
        heads.push(replica.transparency.head().await.expect("a head").head);
    }
    assert!(heads.windows(2).all(|pair| pair[0].size < pair[1].size && pair[0].at < pair[1].at), "{heads:?}");
    assert_eq!(replica.transparency.head().await.expect("a head").head, heads[2], "it is kept for a while");
    let age = "UPDATE transparency_log SET head_size = NULL, head_root = NULL, head_at = NULL, head_signature = NULL";
    fixture.db.sql().await.execute(age).await;
    let again = replica.transparency.head().await.expect("a head").head;
    assert_eq!((again.size, again.root), (heads[2].size, heads[2].root));
    assert!(again.at >= heads[2].at, "a head that is not stored is signed again");
}

/// CI makes 3,000 entries, `cargo xtask long transparency-log` a million.
#[tokio::test]
async fn proofs_of_a_long_log_read_few_nodes() {
    let rounds = Rounds::from_env(3_000);
    let (fixture, size) = (IssuerFixture::new().await, u64::from(rounds.size()));
    let replica = fixture.replica(RegistrationMode::Closed);
    let log = &replica.transparency;
    let mut sql = fixture.db.sql().await;
    sql.execute(CERTIFICATES.replace("$SIZE$", &size.to_string())).await;
    let started = Instant::now();
    let appended = backfill(&store(fixture.db.url()), &Clock::system()).await.expect("appended");
    let append_rate = rate(size, started);
    assert_eq!(appended as u64, size);
    let head = log.head().await.expect("a head").head;
    assert_eq!(head.size, size);

    // Every proof up to 100,000; of a longer log as many, evenly.
    let (step, started) = (usize::try_from(size.div_ceil(100_000)).expect("a step"), Instant::now());
    let (mut checked, mut frontier) = (0, Frontier::empty());
    while frontier.size() < size {
        let page = log.entries(frontier.size(), 1000).await.expect("listed");
        for entry in &page {
            frontier.append(leaf_hash(entry), |_, _| {});
        }
        for entry in page.iter().step_by(step) {
            check_inclusion(log, &head, entry).await;
            checked += 1;
        }
        let older = TreeHead { size: frontier.size(), root: frontier.root(), ..head };
        check_consistency(log, &older, &head).await;
    }
    assert_eq!(frontier.root(), head.root);
    let proof_rate = rate(checked, started);
    let read = blocks_of_a_proof(&mut sql, size / 3, size).await;
    let nodes = ProofPlan::inclusion(size / 3, size).expect("a plan").nodes().len();
    assert!(nodes <= 2 * levels(size), "{nodes} nodes");
    assert!(read <= 5 * nodes as u64 + 10, "{read} blocks for {nodes} nodes");
    rounds.report(&format!(
        "{size} entries appended, {append_rate:.0} a second; {checked} inclusion proofs verified by ct-merkle, {proof_rate:.0} a \
         second. A proof reads {nodes} nodes with one statement, {read} blocks.\n"
    ));
}

fn levels(size: u64) -> usize {
    size.next_power_of_two().ilog2().max(1) as usize
}

fn rate(count: u64, since: Instant) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
    let count = count as f64;
    count / since.elapsed().as_secs_f64()
}

/// Returns the blocks that PostgreSQL reads for the statement of a proof.
async fn blocks_of_a_proof(sql: &mut SqlConnection, index: u64, size: u64) -> u64 {
    let nodes = ProofPlan::inclusion(index, size).expect("a plan").nodes();
    let list = |items: Vec<String>| format!("'{{{}}}'", items.join(","));
    let levels = list(nodes.iter().map(|id| id.level.to_string()).collect());
    let indexes = list(nodes.iter().map(|id| id.index.to_string()).collect());
    let statement = include_str!("../../../store/queries/transparency_nodes/list.sql");
    let statement = statement.replace("$1", &levels).replace("$2", &indexes);
    let plan = sql.texts(format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, COSTS OFF) {statement}")).await;
    let buffers = plan.iter().find(|line| line.contains("Buffers:")).cloned().unwrap_or_default();
    let numbers = buffers.split([' ', ',']).filter_map(|part| part.split_once('='));
    let numbers = numbers.filter(|(kind, _)| ["hit", "read"].contains(kind));
    numbers.filter_map(|(_, count)| count.parse::<u64>().ok()).sum()
}
