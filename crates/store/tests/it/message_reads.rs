//! Pages of inboxes: they read no more of a long inbox than they return.

use guildhall_testkit::{SqlConnection, TestDb};

use crate::flat_reads::blocks;

/// The statement of each kind of page, with values for its parameters: the inbox 1 after the seq 1,000.
const PAGES: [(&str, &str, &[&str]); 3] = [
    (
        "page",
        include_str!("../../queries/inbox_messages/page.sql"),
        &["1", "1000", "200", "900000", "'d'", "'s'", "200", "300"],
    ),
    (
        "page of a sender",
        include_str!("../../queries/inbox_messages/page_of_sender.sql"),
        &["1", "3", "1000", "200", "900000", "ARRAY['sealed-v1']"],
    ),
    (
        "new messages of two inboxes",
        include_str!("../../queries/inbox_messages/list_new.sql"),
        &["ARRAY[1,2]::bigint[]", "ARRAY[1000,1000]::bigint[]", "100", "900000"],
    ),
];

/// Fills the inboxes 1 and 2 with messages of the senders 3 and 4. Those that a page reads have this many bytes, which do not
/// compress.
async fn fill(sql: &mut SqlConnection, messages: usize, bytes: usize) {
    let id = "'00000000-0000-7000-8000-000000000001'";
    sql.execute(format!(
        "INSERT INTO principals (id, kind, name) VALUES ({id}, 'person', 'p');
         INSERT INTO aids (aid, principal) SELECT 'aid-' || number || '.guild.example', {id} FROM generate_series(1, 4) AS number;
         INSERT INTO inboxes (aid, last_seq) SELECT aid, {messages} FROM aids ORDER BY aid;
         INSERT INTO inbox_messages (
             inbox, seq, sender, message_id, kind, envelope_type, previous_seq, sent_at, expires_at, payload
         )
         SELECT inbox, seq, 3 + seq % 2, 'm-' || seq, 'plain', '', 0, now(), now() + interval '1 day', (
             SELECT string_agg(md5(inbox * 1e9 + seq * 1000 + part || ''), '') FROM generate_series(1, CASE WHEN seq > 1000 THEN {bytes} / 32 ELSE 1 END) AS part
         )
         FROM generate_series(1, {messages}) AS seq, generate_series(1, 2) AS inbox"
    ))
    .await;
}

/// Asserts how many blocks each kind of page reads at most.
async fn assert_blocks(sql: &mut SqlConnection, max_blocks: u64) {
    sql.execute("ANALYZE inbox_messages, inboxes, ring_messages").await;
    for (name, statement, values) in PAGES {
        let read = blocks(sql, statement, values).await;
        assert!(read > 0 && read <= max_blocks, "{name}: {read} blocks");
    }
}

// covers: A4
#[tokio::test]
async fn page_of_a_long_inbox_reads_few_blocks() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    fill(&mut sql, 20_000, 320).await;
    // A table of 40,000 rows has some 2,000 blocks; 40 partitions have the roots of their indexes, and
    // each row has two names.
    assert_blocks(&mut sql, 700).await;
}

// covers: A4
#[tokio::test]
async fn page_of_large_messages_reads_only_those_that_it_returns() {
    let db = TestDb::new().await;
    let mut sql = db.sql().await;
    fill(&mut sql, 1_200, 64_000).await;
    // 200 messages have 12.8 MB in 1,600 blocks; a page returns 14 of them, in 120 blocks.
    assert_blocks(&mut sql, 900).await;
}
