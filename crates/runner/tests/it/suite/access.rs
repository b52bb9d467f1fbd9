//! What an agent and its commands cannot access.

use std::fs;

use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::{ThreadStart, TurnOutcome};
use tokio::net::TcpListener;

use super::harness::DENIED_CONTENT;
use super::{BackendFixture, Harness};

pub(crate) async fn denied_paths_and_ports_are_inaccessible(fixture: &BackendFixture) {
    let engine = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
    let other = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
    let port = |listener: &TcpListener| listener.local_addr().expect("bound").port();
    let mut harness = Harness::new(fixture).await;
    // The deny list applies even without a sandbox.
    harness.config.sandbox = Sandbox::DangerFullAccess;
    harness.config.network = Network::Enabled;
    harness.config.deny.ports = vec![port(&engine)];
    harness.start(ThreadStart::New).await.expect("start a thread");
    let connect = |to: u16, word: &str| format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{to}' && echo {word}");
    let attack = [
        "run:cat ../secrets/key; cat $PWD/../secrets/key; ls ../secrets; ln -s ../secrets way; cat way/key"
            .to_owned(),
        "touch ../secrets/new; mv ../secrets ../taken; cat /proc/$PPID/root$PWD/../secrets/key".to_owned(),
        "umount -l ../secrets; cat ../secrets/key; for p in /proc/[0-9]*; do cat $p/root$PWD/../secrets/key; done".to_owned(),
        connect(port(&engine), "reached"),
        connect(port(&other), "elsewhere"),
        "touch made; echo tried".to_owned(),
    ];
    let report = harness.turn(&attack.join("; ")).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let output = report.tool_output().0;
    assert!(
        output.contains("tried") && output.contains("elsewhere"),
        "it ran, and other ports are reachable: {output}"
    );
    assert!(harness.path("made").exists(), "its own directory is writable");
    assert!(!output.contains(DENIED_CONTENT) && !output.contains("reached"), "{output}");
    let left: Vec<_> = fs::read_dir(harness.path("../secrets")).expect("read directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    harness.finish();
}
