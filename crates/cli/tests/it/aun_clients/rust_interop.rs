//! The Rust client and the official ones.

use std::io::Write;
use std::process::{Command, Stdio};

use guildhall_domain::identity::Aid;
use guildhall_sdk::messages::SealKind;
use guildhall_testkit::AunClient;
use serde_json::{Value, json};

use super::driver::Driver;
use super::replicas::{AunReplicas, Registration};
use super::rust_device::{RustAid, RustDevice, next_message, read_all, text};

/// Opens messages with the official code of a package.
const OPEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../interop/aun/open_sealed.py");

// covers: A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn rust_client_and_official_clients_open_each_others_messages() {
    let replicas = AunReplicas::start(Registration::Open, 2).await;
    let alice = RustAid::register(&replicas, "alice").await;
    let alice = RustDevice::start(&alice, &[replicas.url(0), replicas.url(1)]);
    let mut inbox = alice.messenger.follow().with_auto_ack();
    assert!(read_all(&mut inbox).await.is_empty());
    for (client, seal) in [(AunClient::Fastaun, SealKind::V2), (AunClient::AunCore, SealKind::V1)] {
        let mut driver = Driver::start(client, "peer", &replicas.arguments());
        let hello: Value = serde_json::from_str(&driver.wait_for("peer ")).expect("JSON");
        let peer: Aid = hello["aid"].as_str().expect("an AID").parse().expect("an AID");
        for round in 1..=3 {
            let words = format!("{round} to {client:?} €ü 你好");
            let sent = alice.send(&peer, &words).await;
            assert_eq!(sent.seal, seal, "{client:?}");
            driver.ask(&json!({ "do": "receive", "text": words }));
            let words = format!("{round} from {client:?} €ü 你好");
            driver.ask(&json!({ "do": "send", "to": alice.owner.aid.to_string(), "text": words }));
            let message = next_message(&mut inbox).await;
            assert_eq!((message.payload, message.seal, message.from), (text(&words), seal, peer.clone()));
        }
        driver.ask(&json!({ "do": "disconnect" }));
        alice.send(&peer, "while it was away").await;
        driver.ask(&json!({ "do": "connect" }));
        driver.ask(&json!({ "do": "receive", "text": "while it was away" }));
    }
    let never = RustAid::register(&replicas, "never").await;
    alice.send(&never.aid, "to an AID without a device").await;
    let device = RustDevice::start(&never, &[replicas.url(0)]);
    assert_eq!(
        next_message(&mut device.messenger.follow()).await.payload,
        text("to an AID without a device")
    );
}

/// Seals messages of each form, and opens them with the code of the packages alone.
#[test]
fn official_code_opens_what_the_rust_client_seals() {
    let sealed = super::rust_vectors::sealed_messages();
    for (client, version) in
        [(AunClient::Fastaun, "v2"), (AunClient::AunCore, "v1"), (AunClient::Fastaun02, "v1")]
    {
        let mut check = Command::new("setpriv");
        check.args(["--pdeathsig=KILL", "--"]).arg(client.python()).args(["-B", OPEN, version]);
        let mut check = check
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("started");
        let mut stdin = check.stdin.take().expect("piped");
        stdin.write_all(sealed.to_string().as_bytes()).expect("read");
        drop(stdin);
        let output = check.wait_with_output().expect("it ends");
        assert!(output.status.success(), "{client:?}: {}", String::from_utf8_lossy(&output.stderr));
        let opened: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let names = sealed["messages"].as_object().expect("messages").keys();
        let expected: serde_json::Map<String, Value> = names
            .filter(|name| name.starts_with(version))
            .map(|name| (name.clone(), sealed["payload"].clone()))
            .collect();
        assert_eq!(opened, Value::Object(expected), "{client:?}");
    }
}
