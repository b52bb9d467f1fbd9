//! Events that a runner could not send stay on disk and are reported in the run.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::fixture::{RunnerFixture, phase_payloads};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leftover_events_are_reported_once_and_never_appended() {
    let fixture = RunnerFixture::start().await;
    let run = fixture.create_run().await;
    let spool = fixture.state_folder().join("spool");
    fs::create_dir_all(&spool).expect("a folder");
    let event = json!({ "id": "0-1", "type": "assistant_message", "payload": { "text": "from before" } });
    let (unsent, refused) = (format!("{}-0.jsonl", run.id), format!("{}-0-refused.jsonl", run.id));
    fs::write(spool.join(&unsent), format!("{event}\n{event}\n{{\"cut")).expect("written");
    fs::write(spool.join(&refused), format!("{event}\n")).expect("written");
    // A spool file of another run must be ignored.
    fs::write(spool.join("run_01920000000070008000000000000000-0.jsonl"), "{}\n").expect("written");
    for _ in 0..2 {
        let mut runner = fixture.start_runner(&run, &[]);
        fixture.complete_turn(&run, "run:true").await;
        runner.process.signal(Signal::TERM);
        assert!(runner.process.wait().success(), "{}", runner.log_text());
    }
    let events = fixture.events(&run).await;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let expected_payload = |file: &str, events: u32, reason: &str| {
        json!({
            "phase": "events-left-behind", "host": host.trim(), "file": file, "events": events, "epoch": 0,
            "reason": reason,
        })
    };
    let expected: Vec<Value> =
        vec![expected_payload(&unsent, 3, "unsent"), expected_payload(&refused, 1, "refused")];
    assert_eq!(phase_payloads(&events, "events-left-behind"), expected);
    assert!(events.iter().all(|event| event["payload"]["text"] != "from before"), "{events:#?}");
    assert!(spool.join(&unsent).is_file() && spool.join(&refused).is_file(), "the spool files were deleted");
    assert!(
        !spool.join(format!("{}-1.jsonl", run.id)).exists(),
        "a runner that sent everything leaves no spool file"
    );
}
