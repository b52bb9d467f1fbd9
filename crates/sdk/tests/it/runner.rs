use std::time::Duration;

use guildhall_domain::FailureKind;
use guildhall_domain::ids::{CommandId, RunId, RunnerId};
use guildhall_domain::runs::TerminalOutcome;
use guildhall_sdk::runner::{ClaimOutcome, ClaimRetry, PollCursor, RunnerClient};
use secrecy::SecretString;

use crate::support::{client, problem, response, scripted_server};

fn grant(run: RunId, runner: RunnerId, token: &str) -> String {
    let at = "2026-01-02T03:04:05Z";
    format!(
        r#"{{"runToken":"{token}","tokenExpiresAt":"{at}","epoch":3,"runnerId":"{runner}","leaseExpiresAt":"{at}",
        "leaseMs":30000,"threadId":"t-1","recoveredFrom":null,"run":{{"runId":"{run}","tenantId":"t","sessionId":"s",
        "projectId":"p","workspaceRef":{{"kind":"empty"}},"providerId":"local","backendProfile":"demo",
        "executionPolicy":{{}},"traceSink":null,"status":"claimed","terminalStatus":null,"failureKind":null,
        "message":null,"createdBy":"prn","createdAt":"{at}","endedAt":null,"lastSeq":1,"openCommandIds":[],"lease":null,
        "liveness":{{"phase":"idle","active":false,"lastSeq":1,"lastEventAgeMs":null,"nextStep":"n","nextStepAt":null,
        "recoveryActions":[],"sentence":"s"}},"usage":{{"inputTokens":0,"cachedInputTokens":0,"outputTokens":0,
        "activeMs":0,"toolCalls":0}}}}}}"#
    )
}

fn bearer(head: &str) -> String {
    head.split("authorization: bearer ")
        .nth(1)
        .and_then(|rest| rest.lines().next())
        .expect("a token")
        .to_owned()
}

#[tokio::test]
async fn leased_run_uses_its_latest_token_and_does_not_print_it() {
    let (run, runner) = (RunId::generate(), RunnerId::generate());
    let work = r#"{"commands":[],"steers":[],"cancelCommandIds":[],"runStatus":"claimed","cancelSeq":7,"nextAfterSeq":2}"#;
    let renewed = format!(r#"{{"released":false,"grant":{}}}"#, grant(run, runner, "token-two"));
    let (url, heads) = scripted_server(vec![
        response(200, &grant(run, runner, "token-one")),
        response(200, work),
        response(200, &renewed),
        response(200, work),
        response(409, &problem(409, "runner-lease-conflict", "")),
    ]);
    let client = RunnerClient::new(client(&url), SecretString::from("enrolment-token"));
    let claim = client.claim(run, runner, ClaimRetry::Yes).await.expect("granted");
    let ClaimOutcome::Granted { run: held, grant } = claim else { panic!("not granted: {claim:?}") };
    assert_eq!((grant.runner, grant.epoch, grant.lease), (runner, 3, Duration::from_secs(30)));

    let other = held.clone();
    let work = other.poll(PollCursor::default(), Duration::from_secs(3600)).await.expect("work");
    held.renew().await.expect("renewed");
    other.poll(PollCursor::after(&work), Duration::ZERO).await.expect("work");
    let lost =
        other.finish(CommandId::generate(), &TerminalOutcome::COMPLETED, None).await.expect_err("lost");
    assert_eq!((lost.kind(), lost.is_transient()), (Some(FailureKind::RunnerLeaseConflict), false));

    let heads: Vec<String> = heads.iter().take(5).collect();
    let bearers: Vec<String> = heads.iter().map(|head| bearer(head)).collect();
    assert_eq!(bearers, ["enrolment-token", "token-one", "token-one", "token-two", "token-two"]);
    assert!(heads[1].contains("afterseq=0&cancelseq=0&wait=20000 "), "{}", heads[1]);
    assert!(heads[3].contains("afterseq=2&cancelseq=7&wait=0 "), "{}", heads[3]);
    let printed = format!("{client:?} {held:?} {grant:?}");
    assert!(!printed.contains("enrolment-token") && !printed.contains("token-"), "{printed}");
}

#[tokio::test]
async fn rejected_claim_returns_the_holder_or_ended() {
    let (run, owner) = (RunId::generate(), RunnerId::generate());
    let held = format!(r#","owner":"{owner}","leaseExpiresAt":"2026-01-02T03:04:05Z""#);
    let (url, _heads) = scripted_server(vec![
        response(409, &problem(409, "runner-lease-conflict", &held)),
        response(409, &problem(409, "conflict", "")),
        response(404, &problem(404, "not-found", "")),
        // A response without the holder stays an error.
        response(409, &problem(409, "runner-lease-conflict", "")),
    ]);
    let client = RunnerClient::new(client(&url), SecretString::from("enrolment-token"));
    let claim = async || client.claim(run, RunnerId::generate(), ClaimRetry::No).await;
    let until = "2026-01-02T03:04:05Z".parse().expect("a time");
    let outcome = claim().await.expect("an outcome");
    assert!(
        matches!(&outcome, ClaimOutcome::Held { owner: by, lease_expires_at } if (*by, *lease_expires_at) == (owner, until)),
        "{outcome:?}"
    );
    assert!(matches!(claim().await, Ok(ClaimOutcome::Ended)));
    for kind in [FailureKind::NotFound, FailureKind::RunnerLeaseConflict] {
        assert_eq!(claim().await.expect_err("an error").kind(), Some(kind));
    }
}
