//! Logs and metrics of calls: outcome and host only.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use guildhall_egress::{EgressOptions, Request};
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing_subscriber::fmt::MakeWriter;

use crate::environment::{assert_passed, child_url, run_in_child};
use crate::support::{ScriptedResponse, Server, dev_options, egress};

#[tokio::test]
async fn calls_are_counted_by_outcome() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let scrape = recorder.handle();
    // The runtime of this test has one thread, so all calls use the local recorder.
    let _counting = metrics::set_default_local_recorder(&recorder);
    let egress = egress(&EgressOptions { max_response_bytes: 10, ..dev_options() });
    let (small, large) =
        (Server::start(ScriptedResponse::Text("ok")).await, Server::start(ScriptedResponse::Bytes(11)).await);
    let urls = [
        small.url("/"),
        small.url("/"),
        large.url("/"),
        "http://10.0.0.1/".to_owned(),
        small.url_as("127.0.0.9", "/"),
    ];
    for url in urls {
        let _counted = egress.send(Request::get(&url).expect("a URL")).await;
    }
    let text = scrape.render();
    let mut lines: Vec<&str> =
        text.lines().filter(|line| line.contains("egress") && !line.starts_with('#')).collect();
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            "guildhall_egress_requests_total{outcome=\"answered\"} 2",
            "guildhall_egress_requests_total{outcome=\"refused\"} 1",
            "guildhall_egress_requests_total{outcome=\"too_large\"} 1",
            "guildhall_egress_requests_total{outcome=\"unreachable\"} 1",
        ]
    );
}

#[derive(Clone, Default)]
struct LogBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for LogBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic inside").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for LogBuffer {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn log_of_a_call_has_the_host_and_no_secrets() {
    // tracing caches callsite interest per process, so this test needs its own process.
    if child_url().is_none() {
        let test = "logs::log_of_a_call_has_the_host_and_no_secrets";
        return assert_passed(&run_in_child(test, "alone", &[]));
    }
    let lines = LogBuffer::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(lines.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let server = Server::start(ScriptedResponse::Text("hunter2")).await;
    let request = Request::post(&server.url("/hunter2?token=hunter2"), "hunter2")
        .and_then(|request| request.header("authorization", "Bearer hunter2"))
        .expect("a request");
    let response = egress(&dev_options()).send(request).await.expect("a response");
    tracing::debug!(?response, "the response itself");
    let text = String::from_utf8(lines.0.lock().expect("no panic inside").clone()).expect("text");
    assert!(text.contains("DEBUG") && text.contains("called 127.0.0.1"), "{text}");
    assert!(text.contains("egress.outcome=\"answered\""), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
