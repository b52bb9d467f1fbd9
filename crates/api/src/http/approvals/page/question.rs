//! The question on its page: everything that would be executed, the words of the agent, and where it comes from.

use guildhall_domain::approvals::answerability::Answerability;
use guildhall_domain::approvals::policy::Mediation;
use guildhall_domain::approvals::question::{FileChange, arguments_text, is_diff};
use guildhall_domain::ids::PrincipalId;
use jiff::Timestamp;

use super::{PageView, text};
use crate::edge::html::Html;

/// Adds what would be executed, whole.
pub(super) fn add_action(html: &mut Html, view: &PageView<'_>) {
    let (language, action) = (view.language, &view.details.approval.question.action);
    let pick = |english, chinese| language.pick(english, chinese);
    html.element(
        ["<section>\n<h2>", "</h2>\n<dl>\n"],
        pick("What the agent wants to do", "智能体想要执行的操作"),
    );
    add_field(html, pick("Kind", "类型"), text::kind(language, action.kind));
    add_code_field(html, pick("Tool", "工具"), &action.tool);
    if let Some(folder) = &action.working_dir {
        add_code_field(html, pick("Working directory", "工作目录"), folder);
    }
    if let Some(environment) = &action.environment {
        add_code_field(html, pick("Environment", "环境"), environment);
    }
    for lifted in &action.lifts {
        add_code_field(html, pick("If you allow it, the agent leaves", "如果允许，智能体将脱离"), lifted);
    }
    if let Some((_, host)) = action.link() {
        add_code_field(html, pick("Site that the link opens", "链接打开的网站"), host);
    }
    html.markup("</dl>\n");
    if let Some((link, _)) = action.link() {
        add_link(html, view, link);
    }
    match &action.arguments {
        Some(arguments) => add_lines(html, &arguments_text(arguments)),
        None if action.changes.is_empty() => {
            let missing = pick(
                "The agent did not say what exactly it would execute.",
                "智能体没有说明将要执行的具体内容。",
            );
            html.element(["<p class=\"notice\">", "</p>\n"], missing);
        }
        None => {}
    }
    action.changes.iter().for_each(|change| add_change(html, view, change));
    html.markup("</section>\n");
}

/// Adds a link that the reader can open. The site that it leads to does not learn from where.
fn add_link(html: &mut Html, view: &PageView<'_>, link: &str) {
    html.markup("<p><a rel=\"noopener noreferrer\" target=\"_blank\" href=\"").value(link).markup("\">");
    html.text(view.language.pick("Open the link", "打开链接")).markup("</a></p>\n");
}

/// Adds a change of a file. Signs as well as colours tell added from removed lines.
fn add_change(html: &mut Html, view: &PageView<'_>, change: &FileChange) {
    html.markup("<h3>").text(view.language.pick("Change of ", "更改文件 "));
    html.element(["<code>", "</code></h3>\n"], &change.path);
    if !is_diff(&change.text) {
        return add_lines(html, &change.text);
    }
    // A line end directly after `<pre>` is dropped by browsers.
    html.markup("<pre tabindex=\"0\">\n");
    for line in change.text.split('\n') {
        let tags = match line.as_bytes().first() {
            Some(b'+') => ["<ins class=\"line\">", "\n</ins>"],
            Some(b'-') => ["<del class=\"line\">", "\n</del>"],
            _ => ["<span class=\"line\">", "\n</span>"],
        };
        html.element(tags, line);
    }
    html.markup("</pre>\n");
}

/// Adds a text in which every line is an element of its own, so that a wrapped line cannot look like two.
fn add_lines(html: &mut Html, text: &str) {
    html.markup("<pre tabindex=\"0\">\n");
    for line in text.split('\n') {
        html.element(["<span class=\"line\">", "\n</span>"], line);
    }
    html.markup("</pre>\n");
}

/// Adds the reason, marked as the words of the agent.
pub(super) fn add_reason(html: &mut Html, view: &PageView<'_>) {
    let Some(reason) = &view.details.approval.question.reason else { return };
    let title = view.language.pick("The agent says", "智能体的说明");
    let warning = view.language.pick(
        "These are the words of the agent. They may be wrong: what counts is what it wants to do.",
        "以下是智能体自己的说法，可能不正确：请以其想要执行的操作为准。",
    );
    html.element(["<section>\n<h2>", "</h2>\n"], title).element(["<p class=\"soft\">", "</p>\n"], warning);
    html.element(["<blockquote>", "</blockquote>\n</section>\n"], reason);
}

/// Adds where the question comes from, who may answer it, and what happens without an answer.
pub(super) fn add_context(html: &mut Html, view: &PageView<'_>) {
    let (language, details) = (view.language, view.details);
    let (approval, run) = (&details.approval, &details.run);
    let pick = |english, chinese| language.pick(english, chinese);
    html.element(["<section>\n<h2>", "</h2>\n<dl>\n"], pick("About this question", "关于此请求"));
    add_code_field(html, pick("Agent", "智能体"), &run.backend_profile);
    add_code_field(html, pick("Project", "项目"), &run.project);
    add_code_field(html, pick("Run", "运行"), &run.id.to_string());
    add_person_field(html, view, pick("Run created by", "运行创建者"), run.created_by);
    add_person_field(html, view, pick("Turn sent by", "轮次发送者"), details.sender);
    html.element(["<dt>", "</dt><dd>"], pick("Who may answer", "谁可以回应"));
    html.text(text::voters(language, details.policy.mediation));
    if let Mediation::Designated { approver: Some(approver) } = details.policy.mediation {
        html.text(pick(": ", "："));
        add_person(html, view, approver);
    }
    if approval.is_escalated {
        html.text(pick(
            " Nobody answered in time, so the owners of the tenant may answer too.",
            "由于无人及时回应，租户的所有者也可以回应。",
        ));
    }
    html.markup("</dd>\n");
    add_time_field(html, pick("Asked", "提出时间"), approval.created_at, "");
    if details.answerability != Answerability::Ended {
        let left = text::time_left(language, approval.expires_at.duration_since(details.now));
        add_time_field(html, pick("Answer needed by", "回应期限"), approval.expires_at, &left);
        let expiry = text::expiry(language, details.policy.on_expiry, approval.is_escalated);
        add_field(html, pick("Without an answer", "若无人回应"), expiry);
    }
    add_code_field(
        html,
        pick("Digest of what is shown here", "此处所示内容的摘要"),
        &approval.shown.to_string(),
    );
    html.markup("</dl>\n</section>\n");
}

fn add_field(html: &mut Html, name: &'static str, value: &str) {
    html.element(["<dt>", "</dt>"], name).element(["<dd>", "</dd>\n"], value);
}

fn add_code_field(html: &mut Html, name: &'static str, value: &str) {
    html.element(["<dt>", "</dt>"], name).element(["<dd><code>", "</code></dd>\n"], value);
}

fn add_person_field(html: &mut Html, view: &PageView<'_>, name: &'static str, person: PrincipalId) {
    html.element(["<dt>", "</dt><dd>"], name);
    add_person(html, view, person);
    html.markup("</dd>\n");
}

fn add_time_field(html: &mut Html, name: &'static str, time: Timestamp, remark: &str) {
    html.element(["<dt>", "</dt><dd>"], name);
    add_time(html, time);
    html.text(remark).markup("</dd>\n");
}

/// Adds a time to the second, in UTC: the page does not know where its reader is.
pub(super) fn add_time(html: &mut Html, time: Timestamp) {
    let second = time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    html.markup("<time datetime=\"").value(&second).markup("\">");
    html.text(&time.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()).markup("</time>");
}

/// Adds the name of a person, and the id, because names are not unique.
pub(super) fn add_person(html: &mut Html, view: &PageView<'_>, person: PrincipalId) {
    if let Some(name) = view.details.names.get(&person) {
        html.element(["<bdi>", "</bdi>"], name).text(" ");
    }
    if person == view.reader {
        html.text(view.language.pick("(you)", "（您）"));
    } else {
        html.element(["<code>", "</code>"], &person.to_string());
    }
}
