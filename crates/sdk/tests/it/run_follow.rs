use std::sync::Arc;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::RunId;
use guildhall_sdk::RunStreamItem;
use secrecy::SecretString;

use crate::support::{client, problem, response, scripted_server};

fn page(run: RunId, seqs: &[i64], last_seq: i64) -> String {
    let events = seqs.iter().map(|seq| {
        format!(
            r#"{{"v":1,"seq":{seq},"type":"assistant_message","eventId":"e{seq}","commandId":null,"payload":{{"b":1,"a":2}},"erased":false,"recordedAt":"2026-01-02T03:04:05Z","new":true}}"#
        )
    });
    let next = seqs.last().copied().unwrap_or(last_seq);
    let (events, has_more) = (events.collect::<Vec<_>>().join(","), next < last_seq);
    response(
        200,
        &format!(
            r#"{{"runId":"{run}","events":[{events}],"lastSeq":{last_seq},"nextAfterSeq":{next},"hasMore":{has_more}}}"#
        ),
    )
}

#[tokio::test]
async fn events_are_returned_once_in_order_across_server_failures() {
    let run = RunId::generate();
    let (url, heads) = scripted_server(vec![
        // Starts before the requested position.
        page(run, &[1, 2, 3], 4),
        response(502, "a proxy"),
        // A server that ignores the position.
        page(run, &[2, 3, 4], 4),
        page(run, &[], 4),
        page(run, &[5, 6], 6),
        // A restored database.
        page(run, &[], 2),
        page(run, &[1, 2], 2),
        response(401, &problem(401, "unauthenticated", "")),
    ]);
    let client = client(&url).with_tokens(Arc::new(SecretString::from("a-token")));
    let mut follow = client.follow_run(run, 1);
    let mut items = Vec::new();
    let error = loop {
        match follow.next().await {
            Ok(RunStreamItem::Event(event)) => {
                assert!(event.text().contains(r#""payload":{"b":1,"a":2}"#) && event.text().contains("new"));
                items.push(event.view.seq.to_string());
            }
            Ok(RunStreamItem::CaughtUp) => items.push("caught up".to_owned()),
            Ok(RunStreamItem::Restored) => items.push("restored".to_owned()),
            Ok(RunStreamItem::Disconnected(_)) => items.push("disconnected".to_owned()),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), Some(FailureKind::Unauthenticated));
    let expected = ["2", "3", "disconnected", "4", "caught up", "5", "6", "restored", "1", "2", "caught up"];
    assert_eq!(items, expected);
    let requested: Vec<String> = heads
        .iter()
        .take(8)
        .filter_map(|head| Some(head.split("afterseq=").nth(1)?.split('&').next()?.to_owned()))
        .collect();
    assert_eq!(requested, ["1", "3", "3", "4", "4", "6", "0", "2"]);
}
