//! What a launcher finds on its disk for a run. It is read before the run is locked, on a thread that may block.

use std::sync::Arc;

use guildhall_domain::ids::{SessionId, TenantId};
use guildhall_domain::runs::policy::BackendProfile;
use guildhall_launcher::{Launcher, ProfileUnavailable};

use crate::ServiceError;

/// The files of a launcher that a run needs.
#[derive(Debug)]
pub(crate) struct LauncherFiles {
    pub(crate) profile: Result<(), ProfileUnavailable>,
    pub(crate) has_storage: bool,
}

impl LauncherFiles {
    pub(crate) async fn find(
        launcher: &Arc<dyn Launcher>,
        tenant: TenantId,
        profile: String,
        session: SessionId,
    ) -> Result<Self, ServiceError> {
        run_blocking(launcher, move |launcher| Self {
            profile: match profile.parse::<BackendProfile>() {
                Ok(profile) => launcher.check_profile(Some(tenant), &profile),
                Err(_) => Err(ProfileUnavailable(profile)),
            },
            has_storage: launcher.has_session_storage(session),
        })
        .await
    }
}

/// Returns those profiles that the launcher can start a runner for.
pub(crate) async fn startable_profiles(
    launcher: &Arc<dyn Launcher>,
    mut profiles: Vec<(TenantId, String)>,
) -> Result<Vec<(TenantId, String)>, ServiceError> {
    run_blocking(launcher, move |launcher| {
        profiles.retain(|(tenant, profile)| {
            let profile = profile.parse::<BackendProfile>();
            profile.is_ok_and(|profile| launcher.check_profile(Some(*tenant), &profile).is_ok())
        });
        profiles
    })
    .await
}

/// Reads files of a launcher on a blocking thread. It fails only when the server shuts down, or when the read panics.
pub(crate) async fn run_blocking<T: Send + 'static>(
    launcher: &Arc<dyn Launcher>,
    read: impl FnOnce(&dyn Launcher) -> T + Send + 'static,
) -> Result<T, ServiceError> {
    let launcher = Arc::clone(launcher);
    tokio::task::spawn_blocking(move || read(launcher.as_ref())).await.map_err(|_| ServiceError::Overloaded)
}
