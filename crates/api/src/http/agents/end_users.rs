//! Limits of end users in requests and responses.

use guildhall_domain::agents::end_users::{EndUserSettings, EndUserSettingsChange};
use guildhall_protocol::rest::agents::end_users::{EndUsersBody, EndUsersView};
use serde_json::Value;

use crate::edge::error::ApiError;
use crate::edge::input::parse_part;

/// Parses the change that a request names. Its bounds are checked by the service.
pub(super) fn parse(value: Option<Value>) -> Result<EndUserSettingsChange, ApiError> {
    let body: Option<EndUsersBody> = value.map(|value| parse_part("endUsers", value)).transpose()?;
    let body = body.unwrap_or_default();
    Ok(EndUserSettingsChange {
        answer_approvals: body.answer_approvals,
        turns_per_minute: body.turns_per_minute,
        open_threads: body.open_threads,
        tokens_per_day: body.tokens_per_day,
    })
}

pub(super) fn view(settings: EndUserSettings) -> EndUsersView {
    let EndUserSettings { answer_approvals, turns_per_minute, open_threads, tokens_per_day } = settings;
    EndUsersView { answer_approvals, turns_per_minute, open_threads, tokens_per_day }
}
