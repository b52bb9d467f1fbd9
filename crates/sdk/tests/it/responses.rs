use guildhall_domain::FailureKind;
use guildhall_sdk::ClientError;
use secrecy::SecretString;

use crate::support::{client, response, scripted_server};

const LOCKED: &str = r#"{"type":"urn:guildhall:error:sign-in-locked","title":"t","status":429,"detail":"too many",
    "failureKind":"sign-in-locked","message":"too many","retry":"later","traceId":"4bf9"}"#;

const LIMITED: &str = r#"{"type":"urn:guildhall:error:rate-limited","title":"t","status":429,"detail":"too many",
    "failureKind":"rate-limited","message":"too many","retry":"later","retryAfterMs":11001,"traceId":"4bf9"}"#;

async fn sign_in_at(text: String) -> ClientError {
    let (url, _heads) = scripted_server(vec![text]);
    client(&url).sign_in("ada", &SecretString::from("hunter2")).await.expect_err("refused")
}

#[tokio::test]
async fn problem_has_a_kind_and_a_next_step() {
    let error = sign_in_at(response(429, LOCKED)).await;
    assert_eq!((error.kind(), error.is_transient()), (Some(FailureKind::SignInLocked), true));
    assert_eq!(error.to_string(), "too many");
    assert_eq!(error.next_step(), "wait a few minutes, then sign in with the correct password (trace 4bf9)");
}

#[tokio::test]
async fn rate_limit_error_says_how_long_to_wait() {
    let error = sign_in_at(response(429, LIMITED)).await;
    assert_eq!((error.kind(), error.is_transient()), (Some(FailureKind::RateLimited), true));
    assert_eq!(error.retry_after(), Some(std::time::Duration::from_millis(11_001)));
    assert_eq!(
        error.next_step(),
        "wait 12 s, then retry the request, and send fewer requests per minute (trace 4bf9)"
    );
}

#[tokio::test]
async fn unexpected_response_is_an_error_that_prints_no_secret() {
    let invalid =
        sign_in_at(response(200, r#"{"principal":"p","accessToken":["s3cret"],"refreshToken":"s3cret"}"#))
            .await;
    assert!(
        matches!(invalid, ClientError::InvalidResponse { .. })
            && !format!("{invalid:?} {invalid}").contains("s3cret"),
        "{invalid:?}"
    );
    let proxy = sign_in_at(response(502, "<html>bad gateway</html>")).await;
    assert!(
        matches!(proxy, ClientError::InvalidResponse { status: Some(502), .. }) && proxy.is_transient(),
        "{proxy:?}"
    );
    let redirect =
        "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".to_owned();
    let redirect = sign_in_at(redirect).await;
    assert!(matches!(redirect, ClientError::InvalidResponse { status: Some(302), .. }), "{redirect:?}");
}

#[tokio::test]
async fn unreachable_server_and_missing_token_are_distinct_errors() {
    let client = client("http://127.0.0.1:1");
    let away = client.sign_in("ada", &SecretString::from("hunter2")).await.expect_err("nobody is there");
    assert!(matches!(away, ClientError::Unreachable { .. }) && away.is_transient(), "{away:?}");
    assert!(matches!(client.whoami().await, Err(ClientError::NoToken(_))));
}
