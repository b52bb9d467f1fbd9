//! Signing in through a browser: the command waits on a port of this machine for the code that the browser brings.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use guildhall_identity::derived;
use guildhall_sdk::{Client, Tokens, Waiting};
use secrecy::SecretString;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Instant, timeout, timeout_at};
use url::Url;

/// How long the command waits: as long as the server keeps a sign-in open.
const WAIT: Duration = Duration::from_mins(10);

/// A browser sends its request at once. Somebody who does not must not hold up the others.
const REQUEST_WITHIN: Duration = Duration::from_secs(2);

/// The largest head of a request that is read: browsers send many headers, all of them small.
const HEAD_BYTES: usize = 16 * 1024;

/// Lets a browser sign in, and fetches the tokens.
pub(super) async fn sign_in(client: &Client, invitation: Option<&SecretString>) -> Result<Tokens> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("cannot listen on this machine")?;
    let port = listener.local_addr()?.port();
    let verifier = derived::verifier();
    let challenge = derived::challenge(&verifier);
    let address = client.oidc_address(&Waiting { port, challenge: &challenge, invitation });
    eprintln!("Open this address in a browser on this machine, and sign in there:\n\n  {address}\n");
    let (mut browser, code) = wait_for_code(&listener, &challenge).await?;
    let tokens = client.exchange_handoff(&code, &verifier).await;
    let words = match &tokens {
        Ok(_) => "You are signed in. Go back to the terminal; this page can be closed.",
        Err(_) => "The sign-in was refused. The terminal says why.",
    };
    answer(&mut browser, "200 OK", words).await;
    Ok(tokens?)
}

/// Waits for the browser that brings this sign-in's code; whatever else comes by is sent away.
async fn wait_for_code(listener: &TcpListener, challenge: &str) -> Result<(TcpStream, SecretString)> {
    let deadline = Instant::now() + WAIT;
    loop {
        let Ok(accepted) = timeout_at(deadline, listener.accept()).await else {
            bail!("no browser came back within {} minutes\n  next: try again", WAIT.as_secs() / 60);
        };
        let (mut browser, _) = accepted.context("cannot listen on this machine")?;
        let head = timeout(REQUEST_WITHIN, read_head(&mut browser)).await.unwrap_or_default();
        match code_in(&head, challenge) {
            Some(code) => return Ok((browser, code)),
            None => answer(&mut browser, "404 Not Found", "There is nothing here.").await,
        }
    }
}

/// Reads the head of a request, as far as it is one.
async fn read_head(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut piece = [0; 1024];
    while head.len() < HEAD_BYTES && !head.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(0) | Err(_) => break,
            Ok(length) => head.extend_from_slice(&piece[..length]),
        }
    }
    String::from_utf8_lossy(&head).into_owned()
}

/// Finds the code in a request that is the answer to our own: it repeats the challenge, which no other page knows.
fn code_in(head: &str, challenge: &str) -> Option<SecretString> {
    let target = head.strip_prefix("GET ")?.split(' ').next()?;
    let url = Url::parse("http://127.0.0.1").ok()?.join(target).ok()?;
    let value =
        |name: &str| url.query_pairs().find(|(found, _)| found == name).map(|(_, value)| value.into_owned());
    let ours = url.path() == "/callback" && value("challenge").as_deref() == Some(challenge);
    value("code").filter(|_| ours).map(SecretString::from)
}

/// Shows a page. A browser that has gone away misses nothing.
async fn answer(browser: &mut TcpStream, status: &str, words: &str) {
    let page = format!("<!doctype html><meta charset=utf-8><title>Guildhall</title><p>{words}</p>\n");
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/html; charset=utf-8\r\ncontent-length: {}\r\ncache-control: no-store\r\n\
         referrer-policy: no-referrer\r\ncontent-security-policy: default-src 'none'\r\nconnection: close\r\n\r\n{page}",
        page.len()
    );
    let written = async {
        browser.write_all(answer.as_bytes()).await?;
        browser.shutdown().await
    };
    let _gone = timeout(REQUEST_WITHIN, written).await;
}

#[cfg(test)]
mod tests {
    use secrecy::ExposeSecret;

    use super::*;

    #[test]
    fn only_the_answer_to_our_own_sign_in_brings_a_code() {
        let found = |head: &str| code_in(head, "ours").map(|code| code.expose_secret().to_owned());
        let fine = "GET /callback?code=ghh_1&challenge=ours HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n";
        assert_eq!(found(fine).as_deref(), Some("ghh_1"));
        for stray in [
            "",
            "GET /favicon.ico HTTP/1.1\r\n\r\n",
            "GET /callback?code=ghh_1 HTTP/1.1\r\n\r\n",
            "GET /callback?code=ghh_1&challenge=another HTTP/1.1\r\n\r\n",
            "GET /elsewhere?code=ghh_1&challenge=ours HTTP/1.1\r\n\r\n",
            "POST /callback?code=ghh_1&challenge=ours HTTP/1.1\r\n\r\n",
            "GET /callback?challenge=ours HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(found(stray), None, "{stray}");
        }
    }
}
