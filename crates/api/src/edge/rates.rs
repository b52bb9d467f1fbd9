//! How often a caller may ask: counted when it is known who asks, shown in the answer.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Parts;
use guildhall_domain::ops::rate::{Key, Standing, Tier};
use guildhall_service::ServiceError;

use crate::App;
use crate::edge::error::ApiError;

/// The address that a connection comes from. What a header says about it is not believed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Peer(pub(crate) IpAddr);

/// Takes the caller's standing from where a request is counted to where its answer is written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Meter(Arc<OnceLock<Standing>>);

impl Meter {
    pub(crate) fn standing(&self) -> Option<Standing> {
        self.0.get().copied()
    }
}

/// Somebody without a token who may try to get one: a handler that names this is counted by address, before anything
/// of the request is looked at.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stranger;

impl FromRequestParts<App> for Stranger {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, ApiError> {
        // Without an address, all who have none are counted together.
        let address = parts.extensions.get::<Peer>().map_or(Ipv4Addr::UNSPECIFIED.into(), |peer| peer.0);
        count(parts, app, Tier::SignIn, Key::of_address(address)).await?;
        Ok(Self)
    }
}

/// Counts a request of a caller, and refuses it when there have been too many.
pub(crate) async fn count(parts: &Parts, app: &App, tier: Tier, key: Key) -> Result<(), ServiceError> {
    let counted = app.rates.count(tier, key).await;
    if let Ok(Some(standing)) | Err(ServiceError::RateLimited { standing, .. }) = &counted
        && let Some(meter) = parts.extensions.get::<Meter>()
    {
        let _only_the_first_counts = meter.0.set(*standing);
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
    fn a_request_that_may_change_something_is_never_taken_for_one_that_looks() {
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
    fn a_route_may_name_its_tier() {
        let request = Request::builder().method("POST").extension(Tier::Prompt).body(()).expect("fine");
        assert_eq!(tier_of(&request.into_parts().0), Tier::Prompt);
    }
}
