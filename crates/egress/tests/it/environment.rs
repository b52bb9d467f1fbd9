//! Effects of environment variables. The environment is per process, so these tests run themselves in a child process.

use std::ffi::OsStr;
use std::process::{Command, Output};

use guildhall_egress::{Egress, EgressError, Request};

use crate::support::{ScriptedResponse, Server, dev_options, egress, options};

/// The URL to call, in the child process.
const CHILD_URL: &str = "GUILDHALL_EGRESS_TEST_URL";

/// Runs one test of this binary in a child process.
pub(crate) fn run_in_child(test: &str, url: &str, environment: &[(&str, &OsStr)]) -> Output {
    let this = std::env::current_exe().expect("this binary");
    let mut command = Command::new(this);
    command.args([test, "--exact", "--nocapture"]).env(CHILD_URL, url);
    for (name, value) in environment {
        command.env(name, value);
    }
    command.output().expect("it starts")
}

/// Returns the URL that the parent passed, in the child process.
pub(crate) fn child_url() -> Option<String> {
    std::env::var_os(CHILD_URL).map(|url| url.into_string().expect("text"))
}

pub(crate) fn assert_passed(output: &Output) {
    let text = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.contains("1 passed"), "{text}\n{errors}");
}

#[tokio::test(flavor = "multi_thread")]
async fn proxy_variables_are_ignored() {
    if let Some(url) = child_url() {
        return call_with_and_without_proxy(&url).await;
    }
    let proxy = Server::start(ScriptedResponse::Text("proxied")).await;
    let server = Server::start(ScriptedResponse::Text("direct")).await;
    let address = proxy.url("");
    let names = ["http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"];
    let environment: Vec<_> = names.iter().map(|name| (*name, OsStr::new(&address))).collect();
    let url = server.url("/");
    let output = run_in_child("environment::proxy_variables_are_ignored", &url, &environment);
    assert_passed(&output);
    // One connection each: the control used the proxy, egress connected directly.
    assert_eq!((proxy.connections().await, server.connections().await), (1, 1));
}

async fn call_with_and_without_proxy(url: &str) {
    let _first = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let control = reqwest::Client::builder().build().expect("a client");
    let control = control.get(url).send().await.expect("a response").text().await.expect("text");
    assert_eq!(control, "proxied", "control: the environment must set a proxy");
    let response = egress(&dev_options()).send(Request::get(url).expect("a URL")).await.expect("a response");
    assert_eq!(response.body, b"direct");
}

#[test]
fn missing_root_certificates_error_names_the_package() {
    if child_url().is_some() {
        let error = Egress::new(&options()).expect_err("there are none");
        assert!(matches!(error, EgressError::Setup(_)), "{error:?}");
        assert!(error.to_string().contains("ca-certificates"), "{error}");
        return;
    }
    let empty = tempfile::tempdir().expect("a folder");
    let nothing = empty.path().join("none.pem");
    let environment = [("SSL_CERT_FILE", nothing.as_os_str()), ("SSL_CERT_DIR", empty.path().as_os_str())];
    let test = "environment::missing_root_certificates_error_names_the_package";
    assert_passed(&run_in_child(test, "none", &environment));
}
