//! What is written down about a call: how it ended and whom it went to, no more.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use guildhall_egress::{EgressOptions, Request};
use metrics_exporter_prometheus::PrometheusBuilder;
use tracing_subscriber::fmt::MakeWriter;

use crate::environment::{again, assert_passed, handed_over};
use crate::support::{Answer, Server, dev_options, egress};

#[tokio::test]
async fn every_call_is_counted_by_its_outcome() {
    let recorder = PrometheusBuilder::new().build_recorder();
    let scrape = recorder.handle();
    // The runtime of this test has one thread, so that all is counted here.
    let _counting = metrics::set_default_local_recorder(&recorder);
    let egress = egress(&EgressOptions { max_response_bytes: 10, ..dev_options() });
    let (small, large) = (Server::start(Answer::Text("ok")).await, Server::start(Answer::Bytes(11)).await);
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
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("no panic inside").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_call_is_logged_with_its_host_and_without_its_secrets() {
    // Whether a line is wanted is remembered for the whole process, so other tests must not be in it.
    if handed_over().is_none() {
        let test = "logs::a_call_is_logged_with_its_host_and_without_its_secrets";
        return assert_passed(&again(test, "alone", &[]));
    }
    let lines = Lines::default();
    let subscriber = tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::TRACE)
        .with_writer(lines.clone())
        .finish();
    let _logging = tracing::subscriber::set_default(subscriber);
    let server = Server::start(Answer::Text("hunter2")).await;
    let request = Request::post(&server.url("/hunter2?token=hunter2"), "hunter2")
        .and_then(|request| request.header("authorization", "Bearer hunter2"))
        .expect("a request");
    let response = egress(&dev_options()).send(request).await.expect("answered");
    tracing::debug!(?response, "the answer itself, should somebody print it");
    let text = String::from_utf8(lines.0.lock().expect("no panic inside").clone()).expect("text");
    assert!(text.contains("DEBUG") && text.contains("called 127.0.0.1"), "{text}");
    assert!(text.contains("egress.outcome=\"answered\""), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
