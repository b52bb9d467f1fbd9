//! What the environment of the process may change, and what it may not. The environment belongs to a process, so these
//! tests start themselves again as another one.

use std::ffi::OsStr;
use std::process::{Command, Output};

use guildhall_egress::{Egress, EgressError, Request};

use crate::support::{Answer, Server, dev_options, egress, options};

/// Holds the address to call, in the process that was started again.
const AGAIN: &str = "GUILDHALL_EGRESS_TEST_URL";

/// Runs one test of this binary in a process of its own.
pub(crate) fn again(test: &str, url: &str, environment: &[(&str, &OsStr)]) -> Output {
    let this = std::env::current_exe().expect("this binary");
    let mut command = Command::new(this);
    command.args([test, "--exact", "--nocapture"]).env(AGAIN, url);
    for (name, value) in environment {
        command.env(name, value);
    }
    command.output().expect("it starts")
}

/// Returns the URL that the first process handed over, in the second one.
pub(crate) fn handed_over() -> Option<String> {
    std::env::var_os(AGAIN).map(|url| url.into_string().expect("text"))
}

pub(crate) fn assert_passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxies_of_the_environment_are_ignored() {
    if let Some(url) = handed_over() {
        return call_with_and_without_proxy(&url).await;
    }
    let proxy = Server::start(Answer::Text("proxied")).await;
    let server = Server::start(Answer::Text("direct")).await;
    let address = proxy.url("");
    let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let environment: Vec<_> = names.iter().map(|name| (*name, OsStr::new(&address))).collect();
    let url = server.url("/");
    let output = again("environment::proxies_of_the_environment_are_ignored", &url, &environment);
    assert_passed(&output);
    // One connection to each: the control went to the proxy, egress went where it was told.
    assert_eq!((proxy.connections().await, server.connections().await), (1, 1));
}

async fn call_with_and_without_proxy(url: &str) {
    let _first = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let control = reqwest::Client::builder().build().expect("a client");
    let control = control.get(url).send().await.expect("answered").text().await.expect("text");
    assert_eq!(control, "proxied", "the environment sets no proxy, so this test proves nothing");
    let response = egress(&dev_options()).send(Request::get(url).expect("a URL")).await.expect("answered");
    assert_eq!(response.body, b"direct");
}

#[test]
fn without_root_certificates_the_error_says_what_to_install() {
    if handed_over().is_some() {
        let error = Egress::new(&options()).expect_err("there are none");
        assert!(matches!(error, EgressError::Setup(_)), "{error:?}");
        assert!(error.to_string().contains("ca-certificates"), "{error}");
        return;
    }
    let empty = tempfile::tempdir().expect("a folder");
    let nothing = empty.path().join("none.pem");
    let environment = [("SSL_CERT_FILE", nothing.as_os_str()), ("SSL_CERT_DIR", empty.path().as_os_str())];
    let test = "environment::without_root_certificates_the_error_says_what_to_install";
    assert_passed(&again(test, "none", &environment));
}
