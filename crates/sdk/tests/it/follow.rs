use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use guildhall_domain::FailureKind;
use guildhall_domain::ids::TenantId;
use guildhall_sdk::{Followed, TokenFuture, TokenSource};

use crate::support::{answer, client, scripted};

const OVER: &str = r#"{"type":"t","title":"t","status":401,"detail":"no","failureKind":"unauthenticated","message":"no",
    "retry":"after-change","traceId":"0"}"#;

/// Hands out a new token each time.
#[derive(Debug, Default)]
struct Numbered(AtomicU32);

impl TokenSource for Numbered {
    fn token(&self) -> TokenFuture<'_> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        Box::pin(async move { Ok(format!("token-{number}").into()) })
    }
}

fn stream(events: &[String]) -> String {
    let events = events.concat();
    format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n{events}")
}

fn entry(life: u8, seq: i64) -> String {
    format!(
        "event: entry\ndata: {{\"v\":1,\"seq\":{seq},\"id\":\"ent_1\",\"action\":\"a.b\",\"body\":{{\"b\":1,\"a\":2}},\
         \"recordedAt\":\"2026-01-02T03:04:05.100Z\",\"new\":true,\"bodyHash\":null,\"hash\":null}}\nid: {life}-{seq}\n\n"
    )
}

fn closed() -> String {
    "event: closed\ndata: {\"v\":1}\n\n".to_owned()
}

fn gap() -> String {
    "event: gap\ndata: {\"v\":1,\"recovered\":false}\n\n".to_owned()
}

#[tokio::test]
async fn no_entry_comes_twice_whatever_happens_to_the_connection() {
    let (url, heads) = scripted(vec![
        // Begins before what was asked for, and breaks off within an event.
        stream(&[entry(1, 1), entry(1, 2), entry(1, 3), "event: entry\ndata: {".to_owned()]),
        // Another server that forgot the cursor.
        stream(&[entry(1, 2), entry(1, 3), entry(1, 4), closed()]),
        answer(502, "a proxy"),
        // A database that was restored.
        stream(&[gap(), entry(2, 1), "event: newer\ndata: ?\n\n".to_owned(), entry(2, 2)]),
        answer(401, OVER),
    ]);
    let client = client(&url).with_tokens(Arc::new(Numbered::default()));
    let mut follow = client.audit_follow(TenantId::generate(), 1);
    let mut seen = Vec::new();
    let error =
        loop {
            match follow.next().await {
                Ok(Followed::Entry(entry)) => {
                    assert!(entry.text().contains(
                        r#""body":{"b":1,"a":2},"recordedAt":"2026-01-02T03:04:05.100Z","new":true"#
                    ));
                    seen.push(entry.view.seq.to_string());
                }
                Ok(Followed::Restored) => seen.push("restored".to_owned()),
                Ok(Followed::Away(_)) => seen.push("away".to_owned()),
                Err(error) => break error,
            }
        };
    assert_eq!(error.kind(), Some(FailureKind::Unauthenticated));
    seen.retain(|it| it != "away");
    assert_eq!(seen, ["2", "3", "4", "restored", "1", "2"]);

    let heads: Vec<String> = heads.iter().take(5).collect();
    let cursors: Vec<Option<&str>> =
        heads.iter().map(|head| head.split("last-event-id: ").nth(1)?.lines().next()).collect();
    assert_eq!(cursors, [None, Some("1-3"), Some("1-4"), Some("1-4"), Some("2-2")]);
    for (number, head) in heads.iter().enumerate() {
        assert!(head.contains(&format!("authorization: bearer token-{}\r\n", number + 1)), "{head}");
    }
}

#[tokio::test]
async fn a_follower_waits_as_long_as_the_server_asks_it_to() {
    let limited =
        OVER.replace("after-change", "later").replace("\"traceId\"", "\"retryAfterMs\":900,\"traceId\"");
    let (url, _heads) = scripted(vec![answer(429, &limited), stream(&[entry(1, 1)])]);
    let client = client(&url).with_tokens(Arc::new(Numbered::default()));
    let mut follow = client.audit_follow(TenantId::generate(), 0);
    assert!(matches!(follow.next().await, Ok(Followed::Away(_))));
    let began = std::time::Instant::now();
    assert!(matches!(follow.next().await, Ok(Followed::Entry(_))));
    assert!(began.elapsed() >= std::time::Duration::from_millis(900), "waited {:?}", began.elapsed());
}
