//! What an agent and its commands cannot access.

use std::fs;

use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::{ThreadStart, TurnOutcome};
use tokio::net::TcpListener;

use super::harness::DENIED_CONTENT;
use super::{BackendFixture, Harness};

pub(crate) async fn files_and_ports_outside_are_inaccessible(fixture: &BackendFixture) {
    let outside = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
    let port = outside.local_addr().expect("bound").port();
    let mut harness = Harness::new(fixture).await;
    // The widest policy lifts nothing of the sandbox.
    harness.config.sandbox = Sandbox::DangerFullAccess;
    harness.config.network = Network::Enabled;
    harness.start(ThreadStart::New).await.expect("start a thread");
    let attack = [
        "run:cat ../secrets/key; cat $PWD/../secrets/key; ls ../secrets; ln -s ../secrets way; cat way/key"
            .to_owned(),
        "touch ../secrets/new; mv ../secrets ../taken; cat /proc/$PPID/root$PWD/../secrets/key".to_owned(),
        "umount -l ../secrets; for p in /proc/[0-9]*; do cat $p/root$PWD/../secrets/key; done".to_owned(),
        "cat /root/.bashrc /etc/shadow /etc/gshadow; ls -d /home/* /root/* /var/* /sys/*".to_owned(),
        format!("bash -c 'exec 3<>/dev/tcp/127.0.0.1/{port}' && echo reached"),
        "touch made; echo tried".to_owned(),
    ];
    let report = harness.turn(&attack.join("; ")).await;
    assert_eq!(report.outcome, TurnOutcome::Completed, "{report:?}");
    let output = report.tool_output().0;
    assert!(output.contains("tried"), "it ran: {output}");
    assert!(harness.path("made").exists(), "its own directory is writable");
    let is_private = |word: &str| output.contains(word);
    assert!(![DENIED_CONTENT, "reached", "root:"].into_iter().any(is_private), "{output}");
    let left: Vec<_> = fs::read_dir(harness.path("../secrets")).expect("read directory").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    harness.finish();
}
