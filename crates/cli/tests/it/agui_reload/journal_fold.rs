//! The frames of a conversation, computed from the rows of its journal without a server.

use guildhall_domain::ids::RunId;
use guildhall_domain::runs::event::EventBody;
use guildhall_protocol::agui::event::AguiVersion;
use guildhall_protocol::agui::fold::{AguiFold, JournalEvent, StreamMode};
use guildhall_testkit::SqlConnection;
use serde_json::Value;

pub(super) async fn frames_of_thread(sql: &mut SqlConnection, thread: &str) -> Vec<Value> {
    let query = format!(
        "SELECT json_build_object('run', run.id, 'ordinal', run.ordinal, 'seq', entry.seq, 'kind', entry.kind, \
         'body', entry.body::json, 'at', entry.recorded_at)::text \
         FROM threads JOIN runs AS run ON run.session = threads.session \
         JOIN journal_entries AS entry ON entry.journal = 2 AND entry.owner = run.id \
         WHERE threads.thread = '{thread}' ORDER BY run.ordinal, entry.seq"
    );
    let mut fold = AguiFold::new(thread, AguiVersion::V1, StreamMode::Thread);
    let rows = sql.texts(query).await;
    let frames = rows.iter().flat_map(|row| fold.push(journal_event(row)));
    frames.map(|frame| serde_json::from_str(&frame.to_json()).expect("JSON")).collect()
}

fn journal_event(row: &str) -> JournalEvent {
    let row: Value = serde_json::from_str(row).expect("JSON");
    let body: EventBody = serde_json::from_value(row["body"].clone()).expect("the body of an event");
    let run = row["run"].as_str().and_then(|run| run.parse().ok()).expect("a run");
    JournalEvent {
        run: RunId::from_uuid(run),
        ordinal: row["ordinal"].as_i64().and_then(|ordinal| i32::try_from(ordinal).ok()).expect("an ordinal"),
        seq: row["seq"].as_i64().expect("a number"),
        kind: row["kind"].as_str().expect("a kind").to_owned(),
        command: body.command_id,
        payload: Some(body.payload),
        recorded_at: row["at"].as_str().and_then(|at| at.parse().ok()).expect("a timestamp"),
        late: body.late,
    }
}
