//! Questions of agents, asked on a terminal and answered with commands.

use std::path::PathBuf;
use std::time::Duration;

use guildhall_testkit::{NodeProcess, NodeScript};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::ChildProcess;
use crate::support::agent::{start_demo_runner, stop_runner};
use crate::support::runner::{TenantFixture, WatchedCommand, string_field};
use crate::support::terminal::TerminalSession;
use crate::support::user::{CliUser, DevServer, stderr, stdout};

/// The end of the prompt of a question that is allowed or denied.
const PROMPT: &str = "d shows details: ";

/// A server with one run, whose agent asks, and a runner that serves it.
struct AskingRun {
    run: String,
    /// Not in the process of the test: a runner kills the children of its process that are in another session.
    runner: ChildProcess,
    fixture: TenantFixture,
    server: DevServer,
    _folder: TempDir,
}

impl AskingRun {
    fn start() -> Self {
        let server = DevServer::ephemeral();
        let fixture = TenantFixture::new(&server);
        let folder = tempfile::tempdir().expect("a folder");
        let runner = start_demo_runner(&server, &fixture, &folder, &[]);
        let created = fixture.user.json(&["runs", "create", "--approval", "on-request"]);
        let run = string_field(&created["run"], "runId");
        Self { run, runner, fixture, server, _folder: folder }
    }

    /// Sends a turn whose agent asks, and watches it on a terminal.
    fn watch_on_terminal(&self, prompt: &str) -> TerminalSession {
        TerminalSession::start(&self.fixture.user.command(&["runs", "send", &self.run, prompt, "--watch"]))
    }

    fn only_question(&self) -> Value {
        let listed = self.fixture.user.json(&["approvals", "ls"]);
        let approvals = listed["approvals"].as_array().expect("a list");
        assert_eq!(approvals.len(), 1, "{listed}");
        approvals[0].clone()
    }

    fn stop(self) {
        stop_runner(self.runner);
    }
}

#[test]
fn question_is_shown_and_answered_on_the_command_line() {
    let asking = AskingRun::start();
    let (fixture, run) = (&asking.fixture, asking.run.as_str());
    for (verb, reply, said) in [
        ("allow", "I asked, and did it.", "allowed: shell: touch made"),
        ("deny", "I asked, and was not allowed to.", "denied: shell: touch made"),
    ] {
        let watched =
            WatchedCommand::start(&fixture.user, &["runs", "send", run, "ask:touch made", "--watch"]);
        let approval = loop {
            let line = watched.read_line();
            if let Some((_, rest)) = line.split_once("guildhall approvals show ") {
                break rest.split('`').next().expect("an id").to_owned();
            }
        };
        let listed = stdout(&fixture.user.run(&["approvals", "ls"]));
        assert!(listed.contains(&approval) && listed.contains("shell: touch made"), "{listed}");
        let shown = stdout(&fixture.user.run(&["approvals", "show", &approval]));
        assert!(shown.contains("allow (allow), deny (deny)") && shown.ends_with("touch made\n"), "{shown}");
        let answered = stdout(&fixture.user.run(&["approvals", verb, &approval]));
        assert_eq!(answered.trim_end(), said);
        let output = watched.wait();
        assert_eq!(output.code, Some(0), "{}", output.stderr);
        let waits =
            format!("the agent waits for an answer: `guildhall approvals allow {approval}` allows it once");
        assert!(output.stderr.contains(&waits), "{}", output.stderr);
        let lines = output.remaining_lines.join("\n");
        assert!(lines.contains(&format!("answered: {verb}")) && lines.contains(reply), "{lines}");
        let late = fixture.user.run(&["approvals", "deny", &approval]);
        assert!(stderr(&late).contains("already answered"), "{}", stderr(&late));
    }
    let none = stdout(&fixture.user.run(&["approvals", "ls"]));
    assert!(none.contains("no agent waits for an answer"), "{none}");
    asking.stop();
}

#[test]
fn question_is_asked_on_the_terminal_and_answered_with_a_key() {
    let asking = AskingRun::start();
    for (keys, answered, reply) in [
        ("y\n", "answered: allow by you", "I asked, and did it."),
        ("n\n", "answered: deny by you", "I asked, and was not allowed to."),
    ] {
        let mut terminal = asking.watch_on_terminal("ask:touch 'made\u{202e}'");
        let question = terminal.wait_for(PROMPT);
        assert!(question.contains("\r\ntouch 'made\\u{202e}'\r\n"), "{question}");
        assert!(!question.contains("digest"), "{question}");
        terminal.type_keys("x\n");
        terminal.wait_for("this is not one of the answers");
        terminal.wait_for(PROMPT);
        terminal.type_keys("d\n");
        let details = terminal.wait_for(PROMPT);
        let digest = string_field(&asking.only_question(), "shownDigest");
        assert!(details.contains(&digest) && details.contains("allow (allow), deny (deny)"), "{details}");
        terminal.type_keys(keys);
        terminal.wait_for(answered);
        let (code, output) = terminal.wait();
        assert_eq!(code, Some(0), "{output}");
        assert!(output.contains(reply), "{output}");
    }
    asking.stop();
}

#[test]
fn form_is_filled_in_on_the_terminal_and_a_secret_is_not_shown() {
    let asking = AskingRun::start();
    let secret = "hunter2-hunter2";
    let mut terminal = asking.watch_on_terminal("form:");
    let question = terminal.wait_for("Choose 1 to 2; d shows details: ");
    assert!(question.contains("voucher (optional, secret, a text): Voucher"), "{question}");
    for (keys, next) in [
        ("1\n", "  2  blue\r\nColour (1 to 2): "),
        ("3\n", "the value is not one of the choices\r\nColour (1 to 2): "),
        ("2\n", "How many (a whole number) [2]: "),
        ("10\n", "the value must be at most 9\r\nHow many (a whole number) [2]: "),
        ("\n", "Wrap it as a gift (yes or no, or nothing): "),
        ("y\n", "Voucher (a text, or nothing): "),
        ("short\n", "the text must have at least 6 characters\r\nVoucher (a text, or nothing): "),
    ] {
        terminal.type_keys(keys);
        terminal.wait_for(next);
    }
    terminal.type_keys(&format!("{secret}\n"));
    let review = terminal.wait_for("Send this answer? y sends it, n starts again: ");
    let shown = "Colour: blue\r\n  How many: 2\r\n  Wrap it as a gift: yes\r\n  Voucher: (hidden)";
    assert!(review.contains(shown), "{review}");
    terminal.type_keys("y\n");
    terminal.wait_for("answered: answer by you");
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(0), "{output}");
    let reply = r#"You answered: {"colour":"blue","count":2,"gift":true,"voucher":"[redacted:known]"}"#;
    assert!(output.contains(reply), "{output}");
    assert!(!output.contains(secret) && !output.contains("short\r"), "{output}");
    asking.stop();
}

/// A real browser in the size of a phone fills in the form of a real runner's agent.
#[test]
fn form_is_filled_in_on_the_page_and_the_agent_gets_the_values() {
    let asking = AskingRun::start();
    let secret = "hunter2-hunter2";
    let args = ["runs", "send", &asking.run, "form:", "--watch"];
    let watched = WatchedCommand::start(&asking.fixture.user, &args);
    while !watched.read_line().contains("guildhall approvals show ") {}
    let id = string_field(&asking.only_question(), "approvalId");
    let profile = tempfile::tempdir().expect("a folder");
    let seen = NodeProcess::run(
        NodeScript::Phone,
        &json!({
            "url": format!("{}/approve/{id}", asking.server.url), "name": "admin",
            "password": asking.server.password.trim_end(), "button": "Give this answer", "profile": profile.path(),
            "language": "en-GB", "screenshots": std::env::var_os("GUILDHALL_SCREENSHOTS").map(PathBuf::from),
            "fields": { "Colour": "blue", "How many": "7", "Wrap it as a gift": true, "Voucher": secret },
        }),
    );
    assert_eq!(seen["complaints"], json!([]), "{seen}");
    let before = seen["before"].as_str().expect("text");
    assert!(before.contains("What do you want to order?"), "{before}");
    assert!(!seen.to_string().contains(secret), "{seen}");
    for layout in seen["layouts"].as_array().expect("layouts") {
        assert!(layout["lowest"].as_f64().expect("a height") >= 44.0 && layout["overflow"] == 0, "{layout}");
    }
    let output = watched.wait();
    let lines = output.remaining_lines.join("\n");
    let reply = r#"You answered: {"colour":"blue","count":7,"gift":true,"voucher":"[redacted:known]"}"#;
    assert_eq!((output.code, lines.contains(reply)), (Some(0), true), "{lines} {}", output.stderr);
    asking.stop();
}

#[test]
fn form_is_answered_on_the_command_line_with_checked_values() {
    let asking = AskingRun::start();
    let user = &asking.fixture.user;
    let watched = WatchedCommand::start(user, &["runs", "send", &asking.run, "form:", "--watch"]);
    let mut line = watched.read_line();
    while !line.contains("guildhall approvals show ") {
        line = watched.read_line();
    }
    let id = string_field(&asking.only_question(), "approvalId");
    let shown = stdout(&user.run(&["approvals", "show", &id]));
    assert!(shown.contains("colour (required, one of red, blue): Colour"), "{shown}");
    for (args, message) in [
        (vec!["--field", "colour=green"], "colour: the value is not one of the choices"),
        (vec!["--field", "count=3"], "colour: a value is required"),
        (vec!["--content", "[]"], "--content needs a JSON object"),
        (vec![], "this is not a terminal"),
    ] {
        let refused = user.run(&[&["approvals", "answer", &id], &args[..]].concat());
        assert!(!refused.status.success() && stderr(&refused).contains(message), "{}", stderr(&refused));
    }
    let allowed = user.run(&["approvals", "allow", &id]);
    assert!(stderr(&allowed).contains("no such option with the effect allow"), "{}", stderr(&allowed));
    let values = r#"{ "colour": "red", "count": 9, "voucher": "hunter2-hunter2" }"#;
    let answered = user.run_with_stdin(&["approvals", "answer", &id, "--content", "-"], values);
    assert!(stdout(&answered).starts_with("answered: demo: "), "{} {}", stdout(&answered), stderr(&answered));
    let output = watched.wait();
    let commands = format!("`guildhall approvals answer {id}` answers it");
    assert!(output.stderr.contains(&commands), "{}", output.stderr);
    let lines = output.remaining_lines.join("\n");
    assert!(lines.contains(r#"{"colour":"red","count":9,"voucher":"[redacted:known]"}"#), "{lines}");
    let read = user.json(&["approvals", "show", &id]).to_string();
    assert!(!read.contains("hunter2"), "{read}");
    asking.stop();
}

#[test]
fn prompt_ends_when_another_person_answers_or_the_turn_is_cancelled() {
    let asking = AskingRun::start();
    let mut terminal = asking.watch_on_terminal("ask:touch made");
    terminal.wait_for(PROMPT);
    // What is typed without Enter is not an answer to a later question.
    terminal.type_keys("y");
    let id = string_field(&asking.only_question(), "approvalId");
    asking.fixture.user.json(&["approvals", "deny", &id]);
    terminal.wait_for("answered: deny by you");
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("I asked, and was not allowed to."), "{output}");

    let mut terminal = asking.watch_on_terminal("ask:touch made");
    terminal.wait_for(PROMPT);
    let turn = string_field(&asking.only_question(), "commandId");
    asking.fixture.user.json(&["runs", "cancel", &asking.run, "--command", &turn]);
    terminal.wait_for("question withdrawn: cancelled");
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(3), "{output}");
    asking.stop();
}

#[test]
fn ctrl_c_at_the_prompt_leaves_the_question_open() {
    let asking = AskingRun::start();
    let mut terminal = asking.watch_on_terminal("ask:touch made");
    terminal.wait_for(PROMPT);
    terminal.type_keys("\u{3}");
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(130), "{output}");
    assert!(output.contains(&format!("stopped to follow {}: it goes on", asking.run)), "{output}");
    assert_eq!(asking.only_question()["status"], "pending");

    // Whoever follows the run again is asked again, and can leave the question to others with Ctrl-D.
    let mut again =
        TerminalSession::start(&asking.fixture.user.command(&["runs", "events", &asking.run, "-f"]));
    again.wait_for(PROMPT);
    again.type_keys("\u{4}");
    let id = string_field(&asking.only_question(), "approvalId");
    again.wait_for(&format!("not answered; `guildhall approvals allow {id}` allows it once"));
    asking.fixture.user.json(&["approvals", "allow", &id]);
    again.wait_for("answered: allow by you");
    again.wait_for("completed");
    asking.fixture.user.json(&["runs", "close", &asking.run]);
    let (code, output) = again.wait();
    assert_eq!(code, Some(0), "{output}");
    asking.stop();
}

#[test]
fn member_who_may_not_answer_is_told_who_can() {
    let asking = AskingRun::start();
    let (admin, ada) = (&asking.fixture.user, CliUser::new());
    let password = "a password of twenty-nine chars";
    let created = admin.run_with_stdin(&["users", "create", "ada", "--password-stdin"], password);
    assert!(created.status.success(), "{}", stderr(&created));
    admin.json(&["members", "add", "ada", "--role", "developer", "--tenant", "acme"]);
    let login = ["login", "--url", &asking.server.url, "--name", "ada", "--password-stdin"];
    let login = ada.run_with_stdin(&login, password);
    assert!(login.status.success(), "{}", stderr(&login));
    let mut terminal = TerminalSession::start(&ada.command(&["runs", "events", &asking.run, "-f"]));
    admin.json(&["runs", "send", &asking.run, "ask:touch made"]);
    let shown = terminal.wait_for("the agent waits for an answer of who created the run");
    assert!(!shown.contains(PROMPT), "{shown}");
    let id = string_field(&asking.only_question(), "approvalId");
    admin.json(&["approvals", "allow", &id]);
    terminal.wait_for("answered: allow by prn_");
    asking.stop();
}

#[test]
fn withdrawn_question_is_declined_to_the_agent() {
    let asking = AskingRun::start();
    let mut terminal = asking.watch_on_terminal("ask:touch made");
    terminal.wait_for(PROMPT);
    let id = string_field(&asking.only_question(), "approvalId");
    let withdrawn = stdout(&asking.fixture.user.run(&["approvals", "withdraw", &id]));
    assert_eq!(withdrawn.trim_end(), "withdrawn: shell: touch made");
    terminal.wait_for("question withdrawn: withdrawn-by-person");
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(0), "{output}");
    assert!(output.contains("I asked, and was not allowed to."), "{output}");
    let again = asking.fixture.user.json(&["approvals", "withdraw", &id]);
    assert_eq!(again["endReason"], "withdrawn-by-person");
    asking.stop();
}

#[test]
fn end_of_a_turn_that_a_question_blocked_is_printed_once() {
    let asking = AskingRun::start();
    let user = &asking.fixture.user;
    user.json(&["approvals", "policy", "set", "first-responder", "--hold-for", "10s"]);
    let mut terminal = asking.watch_on_terminal("ask:touch made");
    terminal.wait_for(PROMPT);
    let id = string_field(&asking.only_question(), "approvalId");
    while asking.only_question()["parked"] != true {
        std::thread::sleep(Duration::from_millis(100));
    }
    user.json(&["approvals", "withdraw", &id]);
    let (code, output) = terminal.wait();
    let ends = output.matches("the agent has stopped").count();
    assert_eq!((code, ends), (Some(1), 1), "{output}");
    asking.stop();
}

#[test]
fn json_output_has_events_only_also_on_a_terminal() {
    let asking = AskingRun::start();
    let args = ["runs", "send", &asking.run, "ask:touch made", "--watch", "--json"];
    let mut terminal = TerminalSession::start(&asking.fixture.user.command(&args));
    terminal.wait_for("\"approval_requested\"");
    let id = string_field(&asking.only_question(), "approvalId");
    asking.fixture.user.json(&["approvals", "allow", &id]);
    let (code, output) = terminal.wait();
    assert_eq!(code, Some(0), "{output}");
    assert!(!output.contains(PROMPT) && !output.contains("the agent waits"), "{output}");
    asking.stop();
}

#[test]
fn approvals_watch_prints_each_question_once_and_asks_on_a_terminal() {
    let asking = AskingRun::start();
    let user = &asking.fixture.user;
    let (lines, json) = (
        WatchedCommand::start(user, &["approvals", "watch"]),
        WatchedCommand::start(user, &["approvals", "watch", "--json"]),
    );
    let mut terminal = TerminalSession::start(&user.command(&["approvals", "watch"]));
    terminal.wait_for("waiting for questions of agents");
    for (name, answer) in [("first", "y\n"), ("second", "n\n")] {
        let prompt = format!("ask:touch {name}");
        user.json(&["runs", "send", &asking.run, &prompt]);
        let question = terminal.wait_for(PROMPT);
        assert!(question.contains(&format!("touch {name}\r\n")), "{question}");
        let asked = asking.only_question();
        let id = string_field(&asked, "approvalId");
        assert_eq!(lines.read_line(), format!("{id}  {}  shell: touch {name}", asking.run));
        assert_eq!(serde_json::from_str::<Value>(&json.read_line()).expect("JSON"), asked);
        terminal.type_keys(answer);
        terminal.wait_for("answered");
    }

    user.json(&["runs", "send", &asking.run, "ask:touch third"]);
    terminal.wait_for(PROMPT);
    let id = string_field(&asking.only_question(), "approvalId");
    user.json(&["approvals", "deny", &id]);
    terminal.wait_for("answered: deny by prn_");
    terminal.type_keys("\u{3}");
    terminal.wait();

    let newest = user.run(&["approvals", "ls", "--all", "-n", "1"]);
    assert!(stdout(&newest).contains(&id), "{}", stdout(&newest));
    assert_eq!(stderr(&newest), format!("there may be older questions: add --before {id}\n"));
    let older = user.json(&["approvals", "ls", "--all", "--before", &id]);
    assert_eq!(older["approvals"].as_array().map(Vec::len), Some(2), "{older}");
    asking.stop();
}
