//! What the proxy logs.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use tracing_subscriber::EnvFilter;

use super::fixture::{KEY, RecordingServer, TestProxy, config, response, status};

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

impl LogBuffer {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("no panic inside")).into_owned()
    }
}

#[tokio::test]
async fn logs_contain_no_body_header_value_or_query() {
    let buffer = LogBuffer::default();
    let writer = buffer.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new("trace"))
        .with_writer(move || writer.clone())
        .finish();
    // The runtime of this test has one thread.
    let _logging = tracing::subscriber::set_default(subscriber);
    let provider = RecordingServer::start(|_| response(500, &[("x-secret", "hunter2")], "hunter2")).await;
    let proxy = TestProxy::start(config(&provider.base_url())).await;
    let headers = "x-codex-turn: hunter2\r\nauthorization: Bearer hunter2\r\n";
    assert_eq!(status(&proxy.send("POST /v1/responses?key=hunter2", headers, "hunter2").await), 500);
    assert_eq!(status(&proxy.send("GET /v1/hunter2?key=hunter2", headers, "").await), 403);
    assert_eq!(status(&proxy.send("GET http://h.example/hunter2?key=hunter2", headers, "").await), 403);
    let broken = TestProxy::start(config("http://127.0.0.1:1/v1")).await;
    assert_eq!(status(&broken.send("POST /v1/responses?key=hunter2", headers, "hunter2").await), 502);
    let text = buffer.text();
    assert!(
        text.contains("forwarded a model request") && text.contains("cannot reach the model provider"),
        "{text}"
    );
    assert!(!text.contains("hunter2") && !text.contains(KEY), "{text}");
}
