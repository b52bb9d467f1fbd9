//! The page on which a person answers a question of an agent. It needs no script.
//!
//! A GET never decides. The form of an answer has the digest of what was shown and the CSRF token of the session.

mod answer_form;
mod form_fields;
mod question;
mod text;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, LOCATION};
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_domain::access::role::rights::{RunsRead, RunsWrite};
use guildhall_domain::approvals::approval::QuestionPage;
use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::approvals::rule::RuleScopeKind;
use guildhall_domain::approvals::state::DecidedBy;
use guildhall_domain::approvals::voter::ClientConnection;
use guildhall_domain::ids::{ApprovalId, PrincipalId};
use guildhall_service::ServiceError;
use guildhall_service::approvals::details::QuestionDetails;
use guildhall_service::approvals::error::ApprovalError;
use guildhall_service::approvals::votes::Answer;
use secrecy::SecretString;
use url::form_urlencoded;

use crate::App;
use crate::edge::browser_caller::{FormCaller, FormFields, PageRejection, SessionCaller};
use crate::edge::client_address::DirectConnection;
use crate::edge::error::ApiError;
use crate::edge::html::{Html, HtmlPage, Language, STYLE};
use crate::edge::input::PathIds;
use crate::edge::page_target::PageTarget;
use crate::http::access::sign_in_form::sign_in_page;
use crate::http::error_page::{add_account_link, error_page, with_error};

pub(super) const QUESTION_PAGE_PATH: &str = "/approve/{approval}";

/// What a page shows, and to whom.
struct PageView<'a> {
    language: Language,
    details: &'a QuestionDetails,
    reader: PrincipalId,
    csrf_token: &'a SecretString,
    /// Why the answer of the reader was not taken.
    notice: Option<String>,
    /// What the reader has filled in, if it was not taken.
    draft: Option<&'a FormFields>,
}

/// Shows a question: whole and with its options, or with its outcome.
pub(crate) async fn show(
    State(app): State<App>,
    caller: Result<SessionCaller<RunsRead>, PageRejection>,
    language: Language,
    DirectConnection(peer): DirectConnection,
    id: Result<PathIds<ApprovalId>, ApiError>,
) -> Response {
    let id = match id {
        Ok(PathIds(id)) => id,
        Err(error) => return error_page(language, error, None),
    };
    let session = match caller {
        Ok(session) => session,
        Err(rejection) => return rejected(&app, language, id, rejection),
    };
    match app.approvals.approvals.details(&session.caller, id, peer).await {
        Ok(details) => {
            let view = PageView {
                language,
                details: &details,
                reader: session.caller.principal,
                csrf_token: &session.csrf_token,
                notice: None,
                draft: None,
            };
            page(&view).into_response(StatusCode::OK)
        }
        Err(error) => error_page(language, error.into(), Some(PageTarget::Question(id))),
    }
}

/// Answers a question with the rules of the API, and leads back to the page, which shows the outcome.
pub(crate) async fn answer(
    State(app): State<App>,
    language: Language,
    DirectConnection(peer): DirectConnection,
    id: Result<PathIds<ApprovalId>, ApiError>,
    caller: Result<FormCaller<RunsWrite>, PageRejection>,
) -> Response {
    let id = match id {
        Ok(PathIds(id)) => id,
        Err(error) => return error_page(language, error, None),
    };
    let sent = match caller {
        Ok(sent) => sent,
        Err(rejection) => return rejected(&app, language, id, rejection),
    };
    let mut answer = match parse_answer(&sent.form, peer) {
        Ok(answer) => answer,
        Err(error) => return error_page(language, error, Some(PageTarget::Question(id))),
    };
    match read_content(&app, id, peer, &sent).await {
        Ok(content) => answer.content = content,
        Err(ServiceError::Approval(error)) => return refused(&app, language, id, peer, &sent, error).await,
        Err(error) => return error_page(language, error.into(), Some(PageTarget::Question(id))),
    }
    match app.approvals.votes.vote(&sent.caller, id, &answer).await {
        Ok(_) => back_to_page(id),
        Err(ServiceError::Approval(error)) if is_own_decision(&error, sent.caller.principal, &answer) => {
            back_to_page(id)
        }
        Err(ServiceError::Approval(error)) => refused(&app, language, id, peer, &sent, error).await,
        Err(error) => error_page(language, error.into(), Some(PageTarget::Question(id))),
    }
}

/// Reads the values of a form by the fields of its question; none if the form has none.
async fn read_content(
    app: &App,
    id: ApprovalId,
    peer: ClientConnection,
    sent: &FormCaller<RunsWrite>,
) -> Result<Option<AnswerContent>, ServiceError> {
    if sent.form.get(form_fields::VALUES).is_none() {
        return Ok(None);
    }
    let details = app.approvals.approvals.details(&sent.authorize()?, id, peer).await?;
    let Ok(Some(form)) = details.approval.question.form() else { return Ok(None) };
    let content = form_fields::read_values(&form, &sent.form).map_err(ApprovalError::from)?;
    Ok(Some(content))
}

fn rejected(app: &App, language: Language, id: ApprovalId, rejection: PageRejection) -> Response {
    match rejection {
        PageRejection::SignInNeeded => sign_in_page(app, language, PageTarget::Question(id)),
        PageRejection::Failed(error) => error_page(language, error, Some(PageTarget::Question(id))),
    }
}

/// Shows the question as it is now, and why the answer was not taken.
async fn refused(
    app: &App,
    language: Language,
    id: ApprovalId,
    peer: ClientConnection,
    sent: &FormCaller<RunsWrite>,
    error: ApprovalError,
) -> Response {
    let details = match sent.authorize() {
        Ok(reader) => app.approvals.approvals.details(&reader, id, peer).await,
        Err(denied) => Err(denied),
    };
    let form = details.as_ref().ok().and_then(|details| details.approval.question.form().ok().flatten());
    let notice = text::refusal(language, &error, form.as_ref());
    let error = ApiError::from(ServiceError::from(error));
    let Ok(details) = details else { return error_page(language, error, Some(PageTarget::Question(id))) };
    let view = PageView {
        language,
        details: &details,
        reader: sent.caller.principal,
        csrf_token: &sent.csrf_token,
        notice: Some(notice),
        draft: sent.form.get(form_fields::VALUES).map(|_| &sent.form),
    };
    with_error(page(&view), error)
}

/// Returns whether the same answer of the same person has decided: the form was sent twice.
fn is_own_decision(error: &ApprovalError, caller: PrincipalId, answer: &Answer) -> bool {
    let ApprovalError::AlreadyDecided(state) = error else { return false };
    state.decision().is_some_and(|decision| match decision.by() {
        DecidedBy::People(people) => people.contains(&caller) && decision.option() == answer.option,
        DecidedBy::Rule(_)
        | DecidedBy::EarlierApproval(_)
        | DecidedBy::Expiry
        | DecidedBy::UnreachableQuorum
        | DecidedBy::DisabledTool => false,
    })
}

fn back_to_page(id: ApprovalId) -> Response {
    let headers = [(LOCATION, QuestionPage(id).to_string()), (CACHE_CONTROL, "no-store".to_owned())];
    (StatusCode::SEE_OTHER, headers).into_response()
}

fn parse_answer(form: &FormFields, peer: ClientConnection) -> Result<Answer, ApiError> {
    let invalid = |message| ApiError::new(FailureKind::SchemaInvalid, message);
    let option = form.get("option").ok_or_else(|| invalid("the form needs an option"))?;
    let shown_digest = form.get("digest").ok_or_else(|| invalid("the form needs a digest"))?;
    let remember = match form.get("remember") {
        Some("session") => Some(RuleScopeKind::Session),
        None => None,
        Some(_) => return Err(invalid("remember: only for the session")),
    };
    Ok(Answer {
        option: decode_option(option),
        shown_digest: shown_digest.to_owned(),
        peer,
        remember,
        content: None,
    })
}

/// Encodes the id of an option, which agents choose freely: a browser changes the line ends of a form's values.
fn encode_option(id: &str) -> String {
    form_urlencoded::byte_serialize(id.as_bytes()).collect()
}

fn decode_option(encoded: &str) -> String {
    form_urlencoded::parse(encoded.as_bytes()).next().map(|(id, _)| id.into_owned()).unwrap_or_default()
}

fn page(view: &PageView<'_>) -> HtmlPage {
    let title = view.language.pick("An agent asks for your permission", "智能体请求您的许可");
    let mut body = Html::default();
    body.markup("<main>\n").element(["<h1>", "</h1>\n"], title);
    if let Some(notice) = &view.notice {
        body.element(["<p class=\"notice\" role=\"alert\">", "</p>\n"], notice);
    }
    answer_form::add_state(&mut body, view);
    question::add_action(&mut body, view);
    question::add_reason(&mut body, view);
    question::add_context(&mut body, view);
    answer_form::add_answers(&mut body, view);
    body.markup("</main>\n<footer>\n<p class=\"soft\">");
    body.text(view.language.pick("Signed in as ", "已登录："));
    question::add_person(&mut body, view, view.reader);
    body.markup("</p>\n");
    add_account_link(&mut body, view.language, PageTarget::Question(view.details.approval.id));
    body.markup("</footer>");
    HtmlPage { language: view.language, title, body, style: Some(STYLE), cli_port: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn option_id_of_an_agent_survives_the_form() {
        for id in ["yes", "", "a b+c&d=e%2B", "line\nbreak\r\n", "世界\u{202e}\0\"<'"] {
            let encoded = encode_option(id);
            assert!(encoded.is_ascii() && !encoded.contains(['"', '\n', '\r', '&', '=']), "{encoded}");
            assert_eq!(decode_option(&encoded), id);
        }
    }

    #[test]
    fn answer_needs_an_option_and_the_shown_digest() {
        let parse = |form: &str| {
            parse_answer(&FormFields::parse(form.as_bytes()).expect("a form"), ClientConnection::Other)
        };
        let answer = |remember| Answer {
            option: "yes".to_owned(),
            shown_digest: "5aa4".to_owned(),
            peer: ClientConnection::Other,
            remember,
            content: None,
        };
        assert_eq!(parse("option=yes&digest=5aa4&csrf=x").expect("valid"), answer(None));
        let remembered = parse("option=yes&digest=5aa4&remember=session").expect("valid");
        assert_eq!(remembered, answer(Some(RuleScopeKind::Session)));
        for invalid in ["option=yes", "digest=5aa4", "", "option=yes&digest=5aa4&remember=agent-and-project"]
        {
            assert!(parse(invalid).is_err(), "{invalid}");
        }
    }
}
