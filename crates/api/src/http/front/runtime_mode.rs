//! Modes of a run.

use guildhall_domain::FailureKind;
use guildhall_domain::front::RuntimeMode;

use crate::edge::error::ApiError;

/// Refuses modes that this server does not have.
pub(super) fn check_mode(mode: RuntimeMode) -> Result<(), ApiError> {
    match mode {
        RuntimeMode::Chat => Ok(()),
        RuntimeMode::Automation => {
            let message = "forwardedProps.runtime_mode: this server has no stored automations: use chat";
            Err(ApiError::new(FailureKind::InvalidInput, message))
        }
    }
}
