//! The state of a question, and the forms that answer it.

use guildhall_domain::approvals::answerability::Answerability;
use guildhall_domain::approvals::approval::QuestionPage;
use guildhall_domain::approvals::policy::Mediation;
use guildhall_domain::approvals::question::{AnswerOption, OptionEffect};
use guildhall_domain::approvals::rule::check_rememberable;
use guildhall_domain::approvals::state::{DecidedBy, Decision};
use secrecy::ExposeSecret;

use super::question::{add_person, add_time};
use super::{PageView, encode_option, form_fields, text};
use crate::edge::html::Html;

/// Adds the state of the question: that it waits, or how it ended and who decided.
pub(super) fn add_state(html: &mut Html, view: &PageView<'_>) {
    let (language, state) = (view.language, &view.details.approval.state);
    html.markup("<p class=\"state\" role=\"status\">");
    if let Some(decision) = state.decision() {
        add_decision(html, view, decision);
    }
    // Still pending, because nobody has denied it yet.
    let is_over = view.details.answerability == Answerability::Expired;
    let over = language.pick("The time for an answer is over.", "回应期限已过。");
    html.text(if is_over { over } else { text::state(language, state) }).markup("</p>\n");
    // Apart from the state: the label is text of the agent.
    let chosen =
        state.decision().and_then(|decision| view.details.approval.question.option(decision.option()));
    if let Some(option) = chosen {
        add_label(html, view, option);
    }
}

/// Adds what was decided, by whom and when.
fn add_decision(html: &mut Html, view: &PageView<'_>, decision: &Decision) {
    let language = view.language;
    html.element(["<strong>", "</strong>"], text::decided(language, decision.effect()));
    html.text(language.pick(", decided by ", "，决定者："));
    match decision.by() {
        DecidedBy::People(people) => {
            for (number, person) in people.iter().enumerate() {
                html.text(if number == 0 { "" } else { ", " });
                add_person(html, view, *person);
            }
        }
        DecidedBy::Rule(rule) => {
            html.text(language.pick("a remembered answer ", "已记住的回应 "));
            html.element(["<code>", "</code>"], &rule.to_string());
        }
        DecidedBy::EarlierApproval(earlier) => {
            html.text(language.pick("the answer to an earlier question ", "对先前请求的回应 "));
            html.element(["<code>", "</code>"], &earlier.to_string());
        }
        DecidedBy::Expiry => {
            html.text(language.pick("nobody: nobody answered in time", "无：无人及时回应"));
        }
        DecidedBy::UnreachableQuorum => {
            html.text(language.pick(
                "the policy: enough equal answers were not possible any more",
                "策略：已不可能得到足够的相同回应",
            ));
        }
        DecidedBy::DisabledTool => {
            html.text(language.pick("the agent: the tool is not enabled", "智能体设置：该工具未启用"));
        }
    }
    html.text(language.pick(", ", "，"));
    add_time(html, decision.at());
    html.text(language.pick(". ", "。"));
}

/// Adds a form for each option, or why the reader cannot answer.
pub(super) fn add_answers(html: &mut Html, view: &PageView<'_>) {
    let (language, details) = (view.language, view.details);
    let title = language.pick("Your answer", "您的回应");
    let explanation = match &details.answerability {
        Answerability::Ended | Answerability::Expired => return,
        Answerability::NotAllowed(error) => Some(text::voter_error(language, *error)),
        Answerability::Answered { .. } => Some(
            language.pick("You have answered. Others have to answer too.", "您已回应。还需要其他人回应。"),
        ),
        Answerability::Open => None,
    };
    html.element(["<section>\n<h2>", "</h2>\n"], title);
    add_votes(html, view);
    if let Answerability::Answered { option } = &details.answerability
        && let Some(option) = details.approval.question.option(option)
    {
        html.element(["<p><strong>", "</strong></p>\n"], text::effect(language, option.effect));
        add_label(html, view, option);
    }
    match explanation {
        Some(explanation) => {
            html.element(["<p>", "</p>\n"], explanation);
        }
        None => details.approval.question.options.iter().for_each(|option| add_form(html, view, option)),
    }
    html.markup("</section>\n");
}

/// Adds how many answers there are, where several are needed.
fn add_votes(html: &mut Html, view: &PageView<'_>) {
    let Mediation::Consensus { quorum, veto } = view.details.policy.mediation else { return };
    html.markup("<p>").text(&text::votes(view.language, view.details.votes, quorum.get()));
    if veto {
        html.text(view.language.pick(" One denial is enough to deny.", "一次拒绝即可否决。"));
    }
    html.markup("</p>\n");
}

fn add_form(html: &mut Html, view: &PageView<'_>, option: &AnswerOption) {
    let (language, approval) = (view.language, &view.details.approval);
    html.markup("<form method=\"post\" action=\"").value(&QuestionPage(approval.id).to_string());
    html.markup("\">\n");
    for (name, value) in [
        ("csrf", view.csrf_token.expose_secret()),
        ("digest", approval.shown.to_string().as_str()),
        ("option", encode_option(&option.id).as_str()),
    ] {
        html.markup("<input type=\"hidden\" name=\"").markup(name).markup("\" value=\"").value(value);
        html.markup("\">\n");
    }
    add_label(html, view, option);
    if let (OptionEffect::Answer, Ok(Some(form))) = (option.effect, approval.question.form()) {
        form_fields::add_fields(html, view, &form);
    }
    if check_rememberable(&approval.question, option, view.details.policy.mediation).is_ok() {
        html.markup("<label class=\"choice\"><input type=\"checkbox\" name=\"remember\" value=\"session\">");
        html.markup("<span>").text(language.pick(
            "Remember this answer for exactly the same action in this session",
            "在此会话中对完全相同的操作记住此回应",
        ));
        html.markup("</span></label>\n");
    }
    html.markup("<button class=\"").markup(option.effect.as_str()).markup("\">");
    html.text(text::effect(language, option.effect)).markup("</button>\n</form>\n");
}

/// Adds the label that the agent gave to an option, or its id.
fn add_label(html: &mut Html, view: &PageView<'_>, option: &AnswerOption) {
    let label = if option.label.is_empty() { &option.id } else { &option.label };
    html.markup("<p>").text(view.language.pick("Option of the agent: ", "智能体的选项："));
    html.element(["<bdi>", "</bdi>"], label);
    if option.changes_mode {
        html.text(
            view.language
                .pick(". It also changes the mode of the agent's session.", "。它还会更改智能体会话的模式。"),
        );
    }
    html.markup("</p>\n");
}
