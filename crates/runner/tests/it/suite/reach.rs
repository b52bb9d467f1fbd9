//! What an agent, and the commands that it runs, cannot get at.

use std::fs;

use guildhall_domain::runs::policy::{Network, Sandbox};
use guildhall_runner::backend::{Begin, TurnEnd};
use tokio::net::TcpListener;

use super::desk::OUT_OF_REACH;
use super::{Bench, Desk};

pub(crate) async fn what_is_out_of_reach_is_not_read_written_or_connected_to(bench: &Bench) {
    let engine = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let other = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = |of: &TcpListener| of.local_addr().expect("bound").port();
    let mut desk = Desk::set(bench).await;
    // Whatever the sandbox allows: these bounds lie outside of it.
    desk.setting.sandbox = Sandbox::DangerFullAccess;
    desk.setting.network = Network::Enabled;
    desk.setting.out_of_reach.ports = vec![port(&engine)];
    desk.begin(Begin::New).await.expect("a new thread");
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
    let report = desk.turn(&attack.join("; ")).await;
    assert_eq!(report.end, TurnEnd::Completed, "{report:?}");
    let printed = report.printed().0;
    assert!(
        printed.contains("tried") && printed.contains("elsewhere"),
        "it ran, and reaches other ports: {printed}"
    );
    assert!(desk.path("made").exists(), "its own folder is open");
    assert!(!printed.contains(OUT_OF_REACH) && !printed.contains("reached"), "{printed}");
    let left: Vec<_> = fs::read_dir(desk.path("../secrets")).expect("it stayed").flatten().collect();
    assert_eq!(left.len(), 1, "{left:?}");
    desk.leave();
}
