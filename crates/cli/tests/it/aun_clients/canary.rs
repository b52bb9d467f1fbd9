//! The text of sealed messages is nowhere but in the clients.

use guildhall_testkit::{AunClient, nats_url};

use super::driver::Driver;
use super::replicas::{AunReplicas, Registration};
use crate::canary::{Canaries, capture_tables};
use crate::support::channels::{CapturedOutput, capture_nats, start_trace_collector};
use crate::support::user::{stderr, stdout};

// covers: A24
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn text_of_sealed_messages_appears_in_no_output() {
    let (endpoint, spans) = start_trace_collector();
    let nats_messages = capture_nats(&nats_url());
    let settings = vec![
        ("GUILDHALL_TELEMETRY_LOG_FILTER", "trace".to_owned()),
        ("GUILDHALL_TELEMETRY_OTLP_ENDPOINT", endpoint),
    ];
    let mut replicas = AunReplicas::start_with(Registration::Open, 2, settings).await;
    let (mut sealed, mut plain) = (Canaries(Vec::new()), Canaries(Vec::new()));
    let drivers = AunClient::ALL.map(|client| {
        let mut arguments = replicas.arguments();
        arguments.arg("--sealed-text").arg(sealed.generate("sealed text"));
        arguments.arg("--plain-text").arg(plain.generate("plain text"));
        Driver::start(client, "canary", &arguments)
    });
    for driver in drivers {
        driver.finish();
    }
    let mut channels = CapturedOutput::default();
    capture_tables(&mut channels, replicas.db()).await;
    tokio::task::block_in_place(|| capture_exports(&mut channels, &replicas));
    let prefix = replicas.subject_prefix().to_owned();
    channels.add("logs", replicas.stop());
    channels.add("messages", nats_messages.bytes());
    channels.add("spans", spans.bytes());

    // Names appear on each channel, so each was really captured.
    let expected = [
        ("audit", "aid.created"),
        ("exports", "aid.created"),
        ("exports", "tenant.created"),
        ("logs", "socket authenticated"),
        ("messages", &*prefix),
        ("spans", "/aun"),
        ("tables", "sealed-v2"),
    ];
    for (channel, text) in expected {
        assert!(channels.channels_containing(text).contains(&channel), "{text} is not on {channel}");
    }
    assert_eq!(sealed.leaks(&channels), []);
    // A plain text is where a sealed one would be, if the server got it: in the inbox, and nowhere else.
    let tables = |text: &(&'static str, String)| (text.0, "tables");
    assert_eq!(plain.leaks(&channels), plain.0.iter().map(tables).collect::<Vec<_>>());
}

/// Captures the audit logs as an operator gets them: of the installation, and of a tenant.
fn capture_exports(channels: &mut CapturedOutput, replicas: &AunReplicas) {
    let operator = replicas.operator();
    for arguments in [
        ["tenants", "create", "acme"].as_slice(),
        &["audit", "export", "--installation"],
        &["audit", "export", "--tenant", "acme"],
    ] {
        let output = operator.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        channels.add("exports", stdout(&output));
    }
}
