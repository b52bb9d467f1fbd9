use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;
use secrecy::SecretString;

use crate::support::{answer, client, scripted};

const LOCKED: &str = r#"{"type":"urn:guildhall:error:sign-in-locked","title":"t","status":429,"detail":"too many",
    "failureKind":"sign-in-locked","message":"too many","retry":"later","traceId":"4bf9"}"#;

const LIMITED: &str = r#"{"type":"urn:guildhall:error:rate-limited","title":"t","status":429,"detail":"too many",
    "failureKind":"rate-limited","message":"too many","retry":"later","retryAfterMs":11001,"traceId":"4bf9"}"#;

async fn sign_in_at(said: String) -> ClientError {
    let (url, _heads) = scripted(vec![said]);
    client(&url).sign_in("ada", &SecretString::from("hunter2")).await.expect_err("refused")
}

#[tokio::test]
async fn a_problem_keeps_its_kind_and_comes_with_a_next_step() {
    let error = sign_in_at(answer(429, LOCKED)).await;
    assert_eq!((error.kind(), error.is_passing()), (Some(FailureKind::SignInLocked), true));
    assert_eq!(error.to_string(), "too many");
    assert_eq!(error.next_step(), "wait some minutes, then sign in with the right password (trace 4bf9)");
}

#[tokio::test]
async fn a_rate_that_is_used_up_says_how_long_to_wait() {
    let error = sign_in_at(answer(429, LIMITED)).await;
    assert_eq!((error.kind(), error.is_passing()), (Some(FailureKind::RateLimited), true));
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_millis(11_001)));
    assert_eq!(
        error.next_step(),
        "wait 12 s, then send the same request again, and fewer in the same time (trace 4bf9)"
    );
}

#[tokio::test]
async fn what_is_no_answer_of_ours_is_told_apart_and_repeats_nothing() {
    let odd =
        sign_in_at(answer(200, r#"{"principal":"p","accessToken":["s3cret"],"refreshToken":"s3cret"}"#))
            .await;
    assert!(
        matches!(odd, ClientError::BadAnswer { .. }) && !format!("{odd:?} {odd}").contains("s3cret"),
        "{odd:?}"
    );
    let proxy = sign_in_at(answer(502, "<html>bad gateway</html>")).await;
    assert!(
        matches!(proxy, ClientError::BadAnswer { status: Some(502), .. }) && proxy.is_passing(),
        "{proxy:?}"
    );
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned();
    let redirect = sign_in_at(redirect).await;
    assert!(matches!(redirect, ClientError::BadAnswer { status: Some(302), .. }), "{redirect:?}");
}

#[tokio::test]
async fn nobody_there_and_no_token_are_told_apart() {
    let client = client("http://127.0.0.1:1");
    let away = client.sign_in("ada", &SecretString::from("hunter2")).await.expect_err("nobody is there");
    assert!(matches!(away, ClientError::Unreachable { .. }) && away.is_passing(), "{away:?}");
    assert!(matches!(client.whoami().await, Err(ClientError::NoToken(_))));
}
