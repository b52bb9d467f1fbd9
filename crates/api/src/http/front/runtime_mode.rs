//! Modes of a run.

use guildhall_domain::FailureKind;
use guildhall_domain::agents::AutomationKey;
use guildhall_domain::front::RuntimeMode;
use guildhall_service::front::pipelines::PipelineSource;

use crate::edge::error::ApiError;

/// Returns where the pipeline of a run comes from. The automation is named if, and only if, the mode says so.
pub(super) fn pipeline_source(
    mode: RuntimeMode,
    automation: Option<&AutomationKey>,
) -> Result<PipelineSource<'_>, ApiError> {
    let refused = |message: &str| Err(ApiError::new(FailureKind::InvalidInput, message));
    match (mode, automation) {
        (RuntimeMode::Chat, None) => Ok(PipelineSource::Agent),
        (RuntimeMode::Automation, Some(automation)) => Ok(PipelineSource::Automation(automation)),
        (RuntimeMode::Automation, None) => {
            refused("forwardedProps.runtime_mode: name the automation with the query parameter automationId")
        }
        (RuntimeMode::Chat, Some(_)) => refused("automationId: the runtime_mode is chat, not automation"),
    }
}
