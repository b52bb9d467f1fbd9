//! A question as text: everything that would be executed, with hidden characters made visible.

use guildhall_domain::approvals::form::AnswerForm;
use guildhall_domain::approvals::question::{QuestionKind, arguments_text, is_diff, show_hidden_characters};
use guildhall_protocol::rest::approvals::ApprovalView;
use guildhall_protocol::rest::approvals::question::{ActionBody, FileChangeBody, OptionBody};

use super::form_text::format_form;
use crate::output::{Colour, format_fields, format_time, sanitize_line};

/// Characters of an action in a list.
const MAX_SUMMARY: usize = 60;

/// Which fields are shown above the action. The action is always shown whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum QuestionDetail {
    /// What matters for the answer.
    Question,
    /// Also ids, options, digest and state.
    All,
}

/// Formats a question with everything that would be executed.
pub(crate) fn format_question(approval: &ApprovalView, detail: QuestionDetail, colour: Colour) -> String {
    let question = &approval.question;
    let action = &question.action;
    let mut fields = Vec::new();
    if detail == QuestionDetail::All {
        fields.push(("approval", approval.approval_id.clone()));
        fields.push(("status", approval.status.clone()));
        fields.push(("run", approval.run_id.clone()));
    }
    fields.push(("tool", shown_line(&action.tool)));
    fields.extend(link_host(action).map(|host| ("opens", shown_line(host))));
    fields.extend(action.working_dir.as_ref().map(|dir| ("directory", shown_line(dir))));
    fields.extend(action.environment.as_ref().map(|environment| ("environment", shown_line(environment))));
    let lifts = action.lifts.iter().map(|lifted| shown_line(lifted)).collect::<Vec<_>>();
    fields.extend((!lifts.is_empty()).then(|| ("lifts", lifts.join(", "))));
    fields.extend(question.reason.as_ref().map(|reason| ("the agent says", shown_line(reason))));
    if detail == QuestionDetail::All {
        let options =
            question.options.iter().map(|option| format!("{} ({})", shown_line(&option.id), option.effect));
        fields.push(("options", options.collect::<Vec<_>>().join(", ")));
        fields.extend(approval.option_id.as_ref().map(|option| ("answer", shown_line(option))));
        fields.extend((!approval.decided_by.is_empty()).then(|| ("by", approval.decided_by.join(", "))));
        fields.push(("digest", approval.shown_digest.clone()));
        fields.push(("asked", format_time(approval.created_at)));
    }
    fields.push(("denied at", format_time(approval.expires_at)));
    let form = question.answer_schema.as_ref().and_then(|schema| AnswerForm::parse(schema).ok());
    let form = form.map(|form| format!("\n\n{}", format_form(&form))).unwrap_or_default();
    format!("{}\n\n{}{form}", format_fields(&fields), executed(action, colour))
}

/// Returns the host of the link that a person is asked to open.
fn link_host(action: &ActionBody) -> Option<&str> {
    let is_link = action.kind == QuestionKind::ElicitationUrl.as_str();
    action.arguments.as_ref().filter(|_| is_link)?["host"].as_str()
}

/// Says how a question ended that was read again: who answered it, or why nobody can any more.
pub(super) fn format_end(approval: &ApprovalView) -> String {
    let (by, reason) = (approval.decided_by.join(", "), approval.end_reason.as_deref());
    match &approval.effect {
        Some(_) if approval.decided_by == ["expiry"] => "denied: nobody answered in time".to_owned(),
        Some(effect) => shown_line(&format!("answered: {effect} by {by}")),
        None => shown_line(&format!(
            "question {}: {}",
            approval.status,
            reason.unwrap_or("the agent does not wait")
        )),
    }
}

/// Formats an option for people who choose by its number.
pub(super) fn format_option(option: &OptionBody) -> String {
    let label = if option.label.is_empty() { &option.id } else { &option.label };
    let mode = if option.changes_mode { "; also changes the mode of the agent's session" } else { "" };
    format!("{} ({}{mode})", shown_line(label), shown_line(&option.effect))
}

/// Returns one line for a list; `show` prints the whole action.
pub(crate) fn summary(action: &ActionBody) -> String {
    let paths = action.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ");
    let what = if paths.is_empty() { executed(action, Colour::No) } else { paths };
    let line = shown_line(&format!("{}: {what}", action.tool));
    let cut = line.floor_char_boundary(MAX_SUMMARY);
    if cut < line.len() { format!("{}…", &line[..cut]) } else { line }
}

/// Returns everything that would be executed, whole, with hidden characters made visible.
fn executed(action: &ActionBody, colour: Colour) -> String {
    let arguments = match &action.arguments {
        None if action.changes.is_empty() => "the agent did not give its arguments".to_owned(),
        None => String::new(),
        Some(arguments) => arguments_text(arguments),
    };
    let changes = action.changes.iter().map(|change| format_change(change, colour));
    let parts = std::iter::once(show_hidden_characters(&arguments)).chain(changes);
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

fn format_change(change: &FileChangeBody, colour: Colour) -> String {
    let (path, text) = (show_hidden_characters(&change.path), show_hidden_characters(&change.text));
    if colour == Colour::No || !is_diff(&text) {
        return format!("{path}\n{text}");
    }
    let lines: Vec<String> = text.lines().map(colour_diff_line).collect();
    format!("{path}\n{}", lines.join("\n"))
}

fn colour_diff_line(line: &str) -> String {
    let code = match line.as_bytes().first() {
        Some(b'+') => "32",
        Some(b'-') => "31",
        Some(b'@') => "36",
        _ => return line.to_owned(),
    };
    format!("\u{1b}[{code}m{line}\u{1b}[0m")
}

fn shown_line(text: &str) -> String {
    sanitize_line(&show_hidden_characters(text))
}

#[cfg(test)]
pub(super) mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn action(arguments: Option<Value>) -> ActionBody {
        serde_json::from_value(json!({ "kind": "command", "tool": "shell", "arguments": arguments }))
            .expect("an action")
    }

    /// Returns a pending approval with this action and these options.
    pub(in crate::client::approvals) fn approval(
        action: Value,
        options: &[(&str, &str, &str)],
    ) -> ApprovalView {
        let options =
            options.iter().map(|(id, label, effect)| json!({ "id": id, "label": label, "effect": effect }));
        serde_json::from_value(json!({
            "approvalId": "apr_01920000000070008000000000000001", "tenantId": "ten_1", "sessionId": "ses_1",
            "runId": "run_1", "commandId": "cmd_1", "status": "pending",
            "question": { "action": action, "options": options.collect::<Vec<_>>(), "reason": "it needs\u{200b} more" },
            "shownDigest": "5aa49e43", "optionId": null, "effect": null, "decidedBy": [], "decidedAt": null,
            "endReason": null, "createdAt": "2026-01-02T03:04:05Z", "expiresAt": "2026-01-02T04:04:05Z",
            "policyVersion": 1, "mode": "first-responder", "parked": false, "escalated": false, "canAnswer": true,
        }))
        .expect("an approval")
    }

    #[test]
    fn question_shows_what_matters_and_its_details_show_all() {
        let action = json!({
            "kind": "command", "tool": "shell", "arguments": { "command": "rm -rf ~\u{202e}" },
            "workingDir": "/work", "environment": "local", "lifts": ["sandbox of codex"],
        });
        let approval = approval(action, &[("accept", "Allow once", "allow"), ("decline", "Deny", "deny")]);
        insta::assert_snapshot!(format_question(&approval, QuestionDetail::Question, Colour::Yes), @r"
        tool            shell
        directory       /work
        environment     local
        lifts           sandbox of codex
        the agent says  it needs\u{200b} more
        denied at       2026-01-02T04:04:05Z

        rm -rf ~\u{202e}
        ");
        insta::assert_snapshot!(format_question(&approval, QuestionDetail::All, Colour::Yes), @r"
        approval        apr_01920000000070008000000000000001
        status          pending
        run             run_1
        tool            shell
        directory       /work
        environment     local
        lifts           sandbox of codex
        the agent says  it needs\u{200b} more
        options         accept (allow), decline (deny)
        digest          5aa49e43
        asked           2026-01-02T03:04:05Z
        denied at       2026-01-02T04:04:05Z

        rm -rf ~\u{202e}
        ");
    }

    #[test]
    fn end_of_a_question_says_who_or_why() {
        let pending = approval(json!({ "kind": "command", "tool": "shell" }), &[]);
        let end = |status: &str, effect: Option<&str>, by: &[&str], reason: Option<&str>| {
            format_end(&ApprovalView {
                status: status.to_owned(),
                effect: effect.map(str::to_owned),
                decided_by: by.iter().map(|by| (*by).to_owned()).collect(),
                end_reason: reason.map(str::to_owned),
                ..pending.clone()
            })
        };
        assert_eq!(
            end("delivered", Some("allow"), &["prn_1", "prn_2"], None),
            "answered: allow by prn_1, prn_2"
        );
        assert_eq!(end("expired", Some("deny"), &["expiry"], None), "denied: nobody answered in time");
        assert_eq!(end("withdrawn", None, &[], Some("cancelled")), "question withdrawn: cancelled");
    }

    #[test]
    fn diff_has_colours_only_where_the_terminal_has_them() {
        let change = |text: &str| FileChangeBody { path: "a\u{1b}[2J".to_owned(), text: text.to_owned() };
        let diff = change("@@ -1 +1 @@\n-old\u{1b}[0m\n+new\n same");
        assert_eq!(format_change(&diff, Colour::No), "a\\u{1b}[2J\n@@ -1 +1 @@\n-old\\u{1b}[0m\n+new\n same");
        assert_eq!(
            format_change(&diff, Colour::Yes),
            "a\\u{1b}[2J\n\u{1b}[36m@@ -1 +1 @@\u{1b}[0m\n\u{1b}[31m-old\\u{1b}[0m\u{1b}[0m\n\u{1b}[32m+new\u{1b}[0m\n same"
        );
        let new_text = change("- a list\n+ not a diff");
        assert_eq!(format_change(&new_text, Colour::Yes), "a\\u{1b}[2J\n- a list\n+ not a diff");
    }

    #[test]
    fn whole_command_is_shown_and_a_list_has_one_line() {
        let command = format!("{}; rm -rf ~", "echo x; ".repeat(512));
        let action = action(Some(json!({ "command": command })));
        assert_eq!(executed(&action, Colour::Yes), command);
        assert!(summary(&action).ends_with('…') && !summary(&action).contains('\n'));
    }

    #[test]
    fn link_is_shown_whole_and_its_host_apart() {
        let link = "https://login.example.org/device?next=github.com";
        let action = json!({
            "kind": "elicitation_url", "tool": "tracker", "arguments": { "host": "login.example.org", "url": link },
        });
        let text = format_question(&approval(action, &[]), QuestionDetail::Question, Colour::No);
        assert!(text.contains("opens           login.example.org\n") && text.contains(link), "{text}");
    }

    #[test]
    fn unknown_and_other_arguments_are_shown_as_such() {
        assert_eq!(executed(&action(None), Colour::No), "the agent did not give its arguments");
        let shown = executed(&action(Some(json!({ "command": "ls", "timeout": 5 }))), Colour::No);
        assert!(shown.contains("\"timeout\": 5"), "{shown}");
    }
}
