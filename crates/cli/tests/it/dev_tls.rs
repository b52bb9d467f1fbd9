//! `guildhall dev --tls`: which clients trust it, and what `guildhall doctor` says.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::process::Signal;
use serde_json::json;

use crate::support::user::{CliUser, stderr};
use crate::support::{ChildProcess, guildhall, http_get};

fn start(state: &std::path::Path) -> ChildProcess {
    let mut command = guildhall();
    command.args(["dev", "--tls", "--json", "--listen", "127.0.0.1:0", "--state"]).arg(state);
    // Tests run at the same time: not the default port.
    ChildProcess::start(command.env("GUILDHALL_HTTP_TLS_LISTEN", "127.0.0.1:0"))
}

// covers: A27
#[test]
fn dev_with_tls_is_trusted_by_clients_that_have_its_root() {
    let folder = tempfile::Builder::new().prefix("guildhall-cli-").tempdir().expect("a folder");
    let mut dev = start(folder.path());
    let ready = dev.wait_ready();
    let (plain, tls) = (ready["url"].as_str().expect("a url"), ready["tls"]["url"].as_str().expect("a url"));
    let root = PathBuf::from(ready["tls"]["root"].as_str().expect("a file"));
    let address = tls.strip_prefix("https://").expect("https");

    let (status, found) = http_get(&format!("{plain}/.well-known/aun-gateway"), &[]);
    let gateways = json!({ "gateways": [{ "url": format!("wss://{address}/aun"), "priority": 1 }] });
    assert_eq!((status, found), (200, gateways));

    let openssl = Command::new("openssl")
        .args(["s_client", "-connect", address, "-verify_return_error", "-x509_strict"])
        .args(["-servername", "gateway.guildhall.test", "-verify_hostname", "gateway.guildhall.test"])
        .arg("-CAfile")
        .arg(&root)
        .stdin(Stdio::null())
        .output()
        .expect("openssl");
    assert!(openssl.status.success(), "{}", stderr(&openssl));

    let user = CliUser::new();
    let password = std::fs::read_to_string(folder.path().join("admin.password")).expect("a password");
    let login = ["login", "--url", tls, "--name", "admin", "--password-stdin"];
    let refused = user.run_with_stdin(&login, &password);
    assert_ne!(refused.status.code(), Some(0), "a root that nobody trusts");
    let mut command = user.command(&login);
    command.env("GUILDHALL_CA_FILE", &root);
    let signed_in = CliUser::run_with_input(command, &password);
    assert_eq!(signed_in.status.code(), Some(0), "{}", stderr(&signed_in));
    let whoami =
        user.command(&["whoami"]).env("GUILDHALL_CA_FILE", &root).output().expect("the command runs");
    assert_eq!(whoami.status.code(), Some(0), "{}", stderr(&whoami));

    let doctor = guildhall().args(["doctor", "--json", "--state"]).arg(folder.path()).output().expect("ran");
    let report: serde_json::Value = serde_json::from_slice(&doctor.stdout).expect("JSON");
    let tls_check = report["checks"].as_array().expect("checks").iter().find(|check| check["id"] == "tls");
    let tls_check = tls_check.expect("a check of TLS");
    assert_eq!(tls_check["status"], "ok", "{tls_check}");
    let detail = tls_check["detail"].as_str().expect("a detail");
    assert!(detail.contains(&format!("SSL_CERT_FILE={}", root.display())), "{detail}");

    let text = || std::fs::read_to_string(&root).expect("a root");
    let first = text();
    dev.signal(Signal::INT);
    assert!(dev.wait().success());
    start(folder.path()).wait_ready();
    assert_eq!(text(), first, "clients trust the next server too");
}
