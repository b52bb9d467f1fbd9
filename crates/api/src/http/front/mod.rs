//! The front door for applications.

mod agent_inboxes;
mod agent_names;
mod agent_runs;
mod agui;
mod attachments;
mod automation_runs;
mod client_ids;
mod copilotkit;
mod history;
mod image_signer;
mod interrupt_questions;
mod runtime_mode;

use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::App;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(agent_inboxes::get, agent_inboxes::put))
        .routes(routes!(agent_runs::create))
        .routes(routes!(agent_runs::follow))
        .routes(routes!(agent_runs::stop))
        .routes(routes!(agent_runs::run_with_agui))
        .routes(routes!(automation_runs::start))
        .routes(routes!(history::get))
        .routes(routes!(copilotkit::info))
        .routes(routes!(copilotkit::run))
        .routes(routes!(copilotkit::connect))
        .routes(routes!(copilotkit::stop))
        .routes(routes!(attachments::create))
        .routes(routes!(attachments::get_content))
}
