//! Rate limits: counts a request once its caller is known, and reports the status in the response.

use std::net::IpAddr;
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use guildhall_domain::ops::rate::{RateKey, RateStatus, Tier};
use guildhall_service::ServiceError;
use guildhall_service::ops::rates::error::RateError;

use crate::App;
use crate::edge::client_address::ClientAddress;
use crate::edge::error::ApiError;

/// Carries the rate status from the extractor to the response headers.
#[derive(Debug, Clone, Default)]
pub(crate) struct RateStatusSlot(Arc<OnceLock<RateStatus>>);

impl RateStatusSlot {
    pub(crate) fn get(&self) -> Option<RateStatus> {
        self.0.get().copied()
    }
}

/// An unauthenticated caller of a sign-in route, counted by address before the body is read and before any other work.
/// Every public route that costs something takes one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnonymousCaller {
    pub(crate) address: IpAddr,
}

impl AnonymousCaller {
    /// Counts an attempt with a user name, which need not exist, over all addresses.
    pub(crate) async fn count_account(self, app: &App, name: &str) -> Result<(), ServiceError> {
        app.ops.rates.count(Tier::Account, app.access.signing.account_key(name)).await.map(drop)
    }
}

impl FromRequestParts<App> for AnonymousCaller {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        let Ok(ClientAddress(address)) = ClientAddress::from_request_parts(parts, app).await;
        count(parts, app, Tier::SignIn, RateKey::from_address(address)).await?;
        Ok(Self { address })
    }
}

/// Counts a request, and fails when the rate limit is exceeded.
pub(crate) async fn count(parts: &Parts, app: &App, tier: Tier, key: RateKey) -> Result<(), ServiceError> {
    let counted = app.ops.rates.count(tier, key).await;
    if let Ok(Some(status)) | Err(ServiceError::Rate(RateError::Limited { status, .. })) = &counted
        && let Some(slot) = parts.extensions.get::<RateStatusSlot>()
    {
        let _already_set = slot.0.set(*status);
    }
    counted.map(drop)
}

/// Returns the tier of a request: the one that its route names in an extension, else by its method.
pub(crate) fn tier_of(parts: &Parts) -> Tier {
    let named = parts.extensions.get::<Tier>().copied();
    let reads = parts.method == Method::GET || parts.method == Method::HEAD;
    named.unwrap_or(if reads { Tier::Read } else { Tier::Mutation })
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn only_get_and_head_count_as_reads() {
        let tier =
            |method: &str| tier_of(&Request::builder().method(method).body(()).expect("fine").into_parts().0);
        for method in ["GET", "HEAD"] {
            assert_eq!(tier(method), Tier::Read, "{method}");
        }
        for method in ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"] {
            assert_eq!(tier(method), Tier::Mutation, "{method}");
        }
    }

    #[test]
    fn route_extension_overrides_the_tier() {
        let request = Request::builder().method("POST").extension(Tier::Prompt).body(()).expect("fine");
        assert_eq!(tier_of(&request.into_parts().0), Tier::Prompt);
    }
}
