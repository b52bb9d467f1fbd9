//! `guildhall rpc` against `guildhall dev`.

use serde_json::{Value, json};

use crate::support::ChildProcess;
use crate::support::aid_user::AidUser;
use crate::support::guildhall;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

struct Fixture {
    server: DevServer,
    operator: CliUser,
    alice: AidUser,
}

impl Fixture {
    fn start() -> Self {
        let (server, operator) = (DevServer::ephemeral(), CliUser::new());
        operator.login(&server);
        let alice = AidUser::create(&operator, "alice");
        alice.log_in(&server.url);
        Self { server, operator, alice }
    }
}

#[test]
fn rpc_prints_results_and_takes_parameters_from_files_and_stdin() {
    let Fixture { operator, alice, .. } = &Fixture::start();
    let bobby = AidUser::create(operator, "bobby");
    let user = &alice.user;
    let aids = json!({ "aids": [alice.aid, bobby.aid] });
    let online = json!({ "online": { &alice.aid: true, &bobby.aid: false } });
    std::fs::write(user.home().join("aids.json"), aids.to_string()).expect("written");
    let pretty = format!("{}\n", serde_json::to_string_pretty(&online).expect("JSON"));
    assert_eq!(stdout(&user.run(&["rpc", "message.query_online", "@aids.json"])), pretty);
    assert_eq!(user.json(&["rpc", "message.query_online", &aids.to_string()]), online);
    let piped = user.run_with_stdin(&["rpc", "message.query_online", "-", "--json"], &aids.to_string());
    assert_eq!(stdout(&piped), format!("{online}\n"), "one line");
    let too_long = format!("{{\"aids\":[]{}", " ".repeat(2 * 1024 * 1024));
    let refused = user.run_with_stdin(&["rpc", "message.query_online", "-"], &too_long);
    assert_eq!(refused.status.code(), Some(2), "{}", stderr(&refused));
}

#[test]
fn rpc_errors_have_the_exit_codes_and_kinds_of_the_cli() {
    let Fixture { alice, .. } = &Fixture::start();
    let run = |args: &[&str]| {
        let output = alice.user.run(&[&["rpc"], args, &["--json"]].concat());
        let error: Value =
            serde_json::from_slice(&output.stderr).unwrap_or_else(|_| panic!("{}", stderr(&output)));
        (output.status.code(), error["failureKind"].clone(), error["next"].clone())
    };
    let (code, kind, next) = run(&["meta.pong"]);
    let suggestion = "try meta.ping; `guildhall openrpc` prints all methods";
    assert_eq!((code, kind, next), (Some(2), json!("method-not-allowed"), json!(suggestion)));
    let nobody = json!({ "to": "nobody.guildhall.test", "payload": {} }).to_string();
    for (args, expected_code, expected_kind) in [
        (["message.send", nobody.as_str()], 4, "not-found"),
        (["message.send", "{}"], 1, "schema-invalid"),
        (["message.send", "[]"], 2, "usage-error"),
        (["message.send", "@missing.json"], 1, "command-failed"),
        (["auth.renew_cert", "{}"], 1, "schema-invalid"),
    ] {
        let (code, kind, _) = run(&args);
        assert_eq!((code, kind), (Some(expected_code), json!(expected_kind)), "{args:?}");
    }
}

#[test]
fn public_methods_need_no_login() {
    let Fixture { server, operator, .. } = &Fixture::start();
    let nobody = CliUser::new();
    assert_eq!(nobody.json(&["rpc", "meta.ping", "--server", &server.url])["pong"], json!(true));
    assert_eq!(operator.json(&["rpc", "meta.ping"])["pong"], json!(true), "at the server of the context");
    let refused = nobody.run(&["rpc", "meta.status", "--server", &server.url]);
    assert_eq!(refused.status.code(), Some(5), "{}", stderr(&refused));
    let unreachable = nobody.run(&["rpc", "meta.ping", "--server", "http://127.0.0.1:1", "--json"]);
    let error: Value = serde_json::from_slice(&unreachable.stderr).expect("JSON");
    assert_eq!((unreachable.status.code(), &error["failureKind"]), (Some(1), &json!("server-unreachable")));
}

#[test]
fn followed_notifications_are_json_lines() {
    let Fixture { server, operator, alice } = &Fixture::start();
    let bobby = AidUser::create(operator, "bobby");
    bobby.log_in(&server.url);
    let mut following = ChildProcess::start(&mut bobby.user.command(&["rpc", "meta.ping", "--follow"]));
    assert!(following.read_line().starts_with(r#"{"pong":true"#));
    let message =
        json!({ "to": bobby.aid, "payload": { "type": "text", "text": "hi\u{9b}" }, "message_id": "m-1" });
    alice.user.json(&["rpc", "message.send", &message.to_string()]);
    let line = following.read_line();
    assert!(!line.contains('\u{9b}'), "{line:?}");
    let event: Value = serde_json::from_str(&line).expect("JSON");
    let found = (&event["method"], &event["params"]["message_id"], &event["params"]["payload"]);
    assert_eq!(found, (&json!("event/message.received"), &json!("m-1"), &message["payload"]));
}

#[test]
fn shells_complete_the_names_of_methods() {
    for shell in ["bash", "zsh", "fish"] {
        let output = guildhall().args(["completions", shell]).output().expect("the command runs");
        let script = stdout(&output);
        assert!(script.contains("message.v2.put_peer_pk") && script.contains("meta.trust_roots"), "{shell}");
    }
}
