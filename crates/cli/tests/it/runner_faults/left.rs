//! What a runner could not send stays on disk, and the run says so.

use std::fs;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::world::{World, phases};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_an_earlier_runner_left_is_named_once_and_never_appended() {
    let world = World::start().await;
    let run = world.run().await;
    let spool = world.state().join("spool");
    fs::create_dir_all(&spool).expect("a folder");
    let event = json!({ "id": "0-1", "type": "assistant_message", "payload": { "text": "from before" } });
    let (unsent, refused) = (format!("{}-0.jsonl", run.id), format!("{}-0-refused.jsonl", run.id));
    fs::write(spool.join(&unsent), format!("{event}\n{event}\n{{\"cut")).expect("written");
    fs::write(spool.join(&refused), format!("{event}\n")).expect("written");
    // Another run's is not this run's.
    fs::write(spool.join("run_01920000000070008000000000000000-0.jsonl"), "{}\n").expect("written");
    for _ in 0..2 {
        let mut runner = world.runner(&run, &[]);
        world.works(&run, "run:true").await;
        runner.running.signal(Signal::TERM);
        assert!(runner.running.wait().success(), "{}", runner.said());
    }
    let events = world.events(&run).await;
    let host = fs::read_to_string("/proc/sys/kernel/hostname").expect("a name");
    let named = |file: &str, events: u32, reason: &str| {
        json!({
            "phase": "events-left-behind", "host": host.trim(), "file": file, "events": events, "epoch": 0,
            "reason": reason,
        })
    };
    let expected: Vec<Value> = vec![named(&unsent, 3, "unsent"), named(&refused, 1, "refused")];
    assert_eq!(phases(&events, "events-left-behind"), expected);
    assert!(events.iter().all(|event| event["payload"]["text"] != "from before"), "{events:#?}");
    assert!(spool.join(&unsent).is_file() && spool.join(&refused).is_file(), "they stay on disk");
    assert!(!spool.join(format!("{}-1.jsonl", run.id)).exists(), "who sent everything leaves nothing");
}
