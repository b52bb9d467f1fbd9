//! Sign-in through a browser: the command listens on a local port for the callback with the sign-in code.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use guildhall_identity::derived;
use guildhall_sdk::{BrowserSignIn, Client, Tokens};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

/// How long the command waits for the callback: as long as the server accepts one.
const CALLBACK_TIMEOUT: Duration = Duration::from_mins(10);

/// A browser sends its request at once. A silent connection must not delay the next one.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// Largest request head that is read: browsers send many small headers.
const MAX_HEAD_BYTES: usize = 16 * 1024;

/// Prints the sign-in URL, waits for the callback and exchanges its code for tokens.
pub(super) async fn sign_in(client: &Client, invitation: Option<&SecretString>) -> Result<Tokens> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on a local port")?;
    let port = listener.local_addr()?.port();
    let verifier = derived::generate_verifier();
    let challenge = derived::challenge(&verifier);
    let url = client.oidc_start_url(&BrowserSignIn { port, challenge: &challenge, invitation });
    let code = derived::confirmation_code(&challenge);
    eprintln!("Open this URL in a browser on this machine and sign in:\n\n  {url}\n");
    eprintln!("Confirm on the page only if it shows this code: {code}");
    let (mut browser, code) = wait_for_code(&listener, &challenge).await?;
    let tokens = client.exchange_handoff(&code, &verifier).await;
    let message = match &tokens {
        Ok(_) => "You are signed in. You can close this page and return to the terminal.",
        Err(_) => "Sign-in failed. See the terminal for the reason.",
    };
    respond(&mut browser, "200 OK", message).await;
    Ok(tokens?)
}

/// Waits for the callback of this sign-in. Other requests get 404.
async fn wait_for_code(listener: &TcpListener, challenge: &str) -> Result<(TcpStream, SecretString)> {
    let deadline = Instant::now() + CALLBACK_TIMEOUT;
    loop {
        let Ok(accepted) = timeout_at(deadline, listener.accept()).await else {
            bail!(
                "no sign-in within {} minutes\n  next: run `guildhall login --oidc` again",
                CALLBACK_TIMEOUT.as_secs() / 60
            );
        };
        let (mut browser, _) = accepted.context("cannot listen on a local port")?;
        let head = timeout(REQUEST_TIMEOUT, read_head(&mut browser)).await.unwrap_or_default();
        match parse_callback(&head, challenge) {
            Some(code) => return Ok((browser, code)),
            None => respond(&mut browser, "404 Not Found", "Not found.").await,
        }
    }
}

/// Reads the head of a request. Returns what was received if it is incomplete.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut chunk = [0; 1024];
    while head.len() < MAX_HEAD_BYTES && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut chunk).await {
            Ok(0) | Err(_) => break,
            Ok(length) => head.extend_from_slice(&chunk[..length]),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Returns the code of a callback that repeats our challenge, which no other page knows.
fn parse_callback(head: &str, challenge: &str) -> Option<SecretString> {
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
    let value =
        |name: &str| url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned());
    let is_ours = url.path() == "/callback" && value("challenge").as_deref() == Some(challenge);
    value("code").filter(|_| is_ours).map(SecretString::from)
}

/// Sends a page. Errors are ignored: the browser may have closed the connection.
async fn respond(browser: &mut TcpStream, status: &str, message: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Guildhall</title><p>{message}</p>\n");
    let response = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    let written = async {
        browser.write_all(response.as_bytes()).await?;
        browser.shutdown().await
    };
    let _ignored = timeout(REQUEST_TIMEOUT, written).await;
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn only_a_callback_with_our_challenge_returns_a_code() {
        let found = |head: &str| parse_callback(head, "ours").map(|code| code.expose_secret().to_owned());
        let valid = "GET /callback?code=ghh_1&challenge=ours HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
        assert_eq!(found(valid).as_deref(), Some("ghh_1"));
        for invalid in [
            "",
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "GET /callback?code=ghh_1 HTTP/1.1\r\n\r\n",
            "GET /callback?code=ghh_1&challenge=another HTTP/1.1\r\n\r\n",
            "GET /elsewhere?code=ghh_1&challenge=ours HTTP/1.1\r\n\r\n",
            "POST /callback?code=ghh_1&challenge=ours HTTP/1.1\r\n\r\n",
            "GET /callback?challenge=ours HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(found(invalid), None, "{invalid}");
        }
    }
}
