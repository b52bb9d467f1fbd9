//! The page on which a person grants scopes to an agent, changes that, or takes it back. It needs no script.
//!
//! A GET never decides. The form has the version and hash of the manifest that was shown, and the CSRF token of the session.

mod changes;
mod forms;
mod offer;
mod withdrawn;
mod words;

use std::collections::BTreeSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::{CACHE_CONTROL, LOCATION};
use axum::response::{IntoResponse, Response};
use guildhall_domain::FailureKind;
use guildhall_domain::access::caller::{AccessDenied, Caller};
use guildhall_domain::ids::AgentId;
use guildhall_domain::relations::{Consent, ConsentPage, GrantError, RelationState, ShownManifest};
use guildhall_service::ServiceError;
use guildhall_service::relations::ConsentOffer;
use guildhall_service::relations::error::RelationError;
use secrecy::SecretString;

use crate::App;
use crate::edge::browser_caller::{FormFields, FormPerson, PageRejection, SessionPerson};
use crate::edge::error::ApiError;
use crate::edge::html::{Html, HtmlPage, Language, STYLE};
use crate::edge::input::{PathIds, parse};
use crate::edge::page_target::PageTarget;
use crate::http::access::sign_in_form::sign_in_page;
use crate::http::error_page::{add_account_link, error_page, with_error};

pub(super) const CONSENT_PAGE_PATH: &str = "/consent/{agent}";
pub(super) const CONSENT_SIGN_IN_PATH: &str = "/consent/{agent}/sign-in";

/// Who reads a page, and about which agent.
struct PageView<'a> {
    language: Language,
    agent: AgentId,
    csrf_token: &'a SecretString,
    /// Why the decision of the reader was not taken.
    notice: Option<&'static str>,
}

/// What a page shows.
enum PageContent {
    Offer(Box<ConsentOffer>),
    /// What the reader granted to an agent that cannot be offered any more.
    Withdrawn(Box<RelationState>),
}

/// Shows what an agent asks for, and what the reader has granted.
pub(crate) async fn show(
    State(app): State<App>,
    person: Result<SessionPerson, PageRejection>,
    language: Language,
    id: Result<PathIds<AgentId>, ApiError>,
) -> Response {
    let id = match id {
        Ok(PathIds(id)) => id,
        Err(error) => return error_page(language, error, None),
    };
    let person = match person {
        Ok(person) => person,
        Err(rejection) => return rejected(&app, language, id, rejection),
    };
    match find(&app, &person.caller, id).await {
        Ok(content) => {
            let view = PageView { language, agent: id, csrf_token: &person.csrf_token, notice: None };
            page(&view, &content).into_response(StatusCode::OK)
        }
        Err(error) => error_page(language, error.into(), Some(PageTarget::Consent(id))),
    }
}

/// Finds what the page shows. Without a relation, an agent that the reader cannot see looks like a missing one.
async fn find(app: &App, caller: &Caller, agent: AgentId) -> Result<PageContent, ServiceError> {
    let relations = &app.relations.relations;
    let error = match relations.offer(caller, agent).await {
        Ok(offer) => return Ok(PageContent::Offer(Box::new(offer))),
        Err(error) => error,
    };
    let cannot_be_offered = matches!(
        error,
        ServiceError::Denied(AccessDenied::NotFound)
            | ServiceError::Relation(RelationError::Grant(GrantError::NoManifest))
    );
    if !cannot_be_offered {
        return Err(error);
    }
    match relations.active_with(caller, agent).await? {
        Some(state) => Ok(PageContent::Withdrawn(Box::new(state))),
        None => Err(error),
    }
}

/// Takes a decision with the rules of the API, and leads back to the page, which shows the outcome.
pub(crate) async fn submit(
    State(app): State<App>,
    language: Language,
    id: Result<PathIds<AgentId>, ApiError>,
    person: Result<FormPerson, PageRejection>,
) -> Response {
    let id = match id {
        Ok(PathIds(id)) => id,
        Err(error) => return error_page(language, error, None),
    };
    let sent = match person {
        Ok(sent) => sent,
        Err(rejection) => return rejected(&app, language, id, rejection),
    };
    let decision = match Decision::parse(&sent.form) {
        Ok(decision) => decision,
        Err(error) => return error_page(language, error, Some(PageTarget::Consent(id))),
    };
    match decide(&app, &sent.caller, id, decision).await {
        // The next GET finds nothing.
        Ok(Some(ended)) if ended.agent.manifest.is_none() => {
            let view = PageView { language, agent: id, csrf_token: &sent.csrf_token, notice: None };
            page(&view, &PageContent::Withdrawn(Box::new(ended))).into_response(StatusCode::OK)
        }
        Ok(Some(_) | None) => back_to_page(id, language),
        Err(ServiceError::Relation(error)) => refused(&app, language, id, &sent, error).await,
        Err(error) => error_page(language, error.into(), Some(PageTarget::Consent(id))),
    }
}

/// What a form says.
#[derive(Debug, PartialEq, Eq)]
enum Decision {
    Grant(Consent),
    Revoke,
}

impl Decision {
    fn parse(form: &FormFields) -> Result<Self, ApiError> {
        let invalid = |message| ApiError::new(FailureKind::SchemaInvalid, message);
        match form.get("action") {
            Some("revoke") => Ok(Self::Revoke),
            Some("grant") => {
                let version = form.get("version").ok_or_else(|| invalid("the form needs a version"))?;
                let hash = form.get("hash").ok_or_else(|| invalid("the form needs a hash"))?;
                let shown = ShownManifest {
                    version: Some(parse("version", version)?),
                    hash: Some(parse("hash", hash)?),
                };
                let scopes: BTreeSet<String> =
                    form.names_after(offer::SCOPE_FIELD).map(str::to_owned).collect();
                Ok(Self::Grant(Consent { scopes, shown }))
            }
            Some(_) | None => Err(invalid("the form needs an action: grant or revoke")),
        }
    }
}

/// Grants or changes, whichever is possible, or ends what there is. Returns the relation that has ended.
async fn decide(
    app: &App,
    caller: &Caller,
    agent: AgentId,
    decision: Decision,
) -> Result<Option<RelationState>, ServiceError> {
    let relations = &app.relations.relations;
    let earlier = relations.active_with(caller, agent).await?.map(|state| state.relation.id);
    match (decision, earlier) {
        (Decision::Grant(consent), None) => {
            relations.grant(caller, agent, &consent, None).await.map(|_| None)
        }
        (Decision::Grant(consent), Some(id)) => relations.change(caller, id, &consent).await.map(|_| None),
        (Decision::Revoke, Some(id)) => relations.revoke(caller, id).await.map(|ended| Some(ended.state)),
        // The form was sent twice.
        (Decision::Revoke, None) => Ok(None),
    }
}

fn rejected(app: &App, language: Language, id: AgentId, rejection: PageRejection) -> Response {
    match rejection {
        PageRejection::SignInNeeded => sign_in_page(app, language, PageTarget::Consent(id)),
        PageRejection::Failed(error) => error_page(language, error, Some(PageTarget::Consent(id))),
    }
}

/// Shows the page as it is now, and why the decision was not taken.
async fn refused(
    app: &App,
    language: Language,
    id: AgentId,
    sent: &FormPerson,
    error: RelationError,
) -> Response {
    let content = find(app, &sent.caller, id).await;
    let notice = Some(words::refusal(language, &error));
    let error = ApiError::from(ServiceError::from(error));
    let Ok(content) = content else { return error_page(language, error, Some(PageTarget::Consent(id))) };
    let view = PageView { language, agent: id, csrf_token: &sent.csrf_token, notice };
    with_error(page(&view, &content), error)
}

fn back_to_page(id: AgentId, language: Language) -> Response {
    let location = format!("{}?lang={}", ConsentPage(id), language.tag());
    (StatusCode::SEE_OTHER, [(LOCATION, location), (CACHE_CONTROL, "no-store".to_owned())]).into_response()
}

fn page(view: &PageView<'_>, content: &PageContent) -> HtmlPage {
    let title = match content {
        PageContent::Offer(_) => view.language.pick("An agent asks for permissions", "智能体请求权限"),
        PageContent::Withdrawn(_) => view.language.pick("Permissions of an agent", "智能体的权限"),
    };
    let mut body = Html::default();
    body.markup("<main>\n").element(["<h1>", "</h1>\n"], title);
    if let Some(notice) = view.notice {
        body.element(["<p class=\"notice\" role=\"alert\">", "</p>\n"], notice);
    }
    match content {
        PageContent::Offer(offer) => offer::add_offer(&mut body, view, offer),
        PageContent::Withdrawn(state) => withdrawn::add_relation(&mut body, view, state),
    }
    body.markup("</main>\n<footer>\n");
    if !matches!(content, PageContent::Withdrawn(state) if state.relation.ended_at.is_some()) {
        forms::add_language_link(&mut body, view);
    }
    add_account_link(&mut body, view.language, PageTarget::Consent(view.agent));
    body.markup("</footer>");
    HtmlPage { language: view.language, title, body, style: Some(STYLE), cli_port: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(form: &str) -> Option<Decision> {
        Decision::parse(&FormFields::parse(form.as_bytes()).expect("a form")).ok()
    }

    #[test]
    fn form_names_the_manifest_that_was_shown() {
        let hash = "a".repeat(64);
        let shown = ShownManifest { version: Some(3), hash: hash.parse().ok() };
        let scopes = ["filesystem:read", "shell:run"].map(str::to_owned).into();
        let form = format!(
            "action=grant&version=3&hash={hash}&scope.filesystem%3Aread=on&scope.shell%3Arun=on&other=on"
        );
        assert_eq!(parse(&form), Some(Decision::Grant(Consent { scopes, shown })));
        let none = Decision::Grant(Consent { scopes: BTreeSet::new(), shown });
        assert_eq!(parse(&format!("action=grant&version=3&hash={hash}")), Some(none));
        assert_eq!(parse("action=revoke"), Some(Decision::Revoke));
        for invalid in
            ["", "action=grant", "action=grant&version=3", "action=grant&version=x&hash=y", "action=x"]
        {
            assert_eq!(parse(invalid), None, "{invalid}");
        }
    }
}
