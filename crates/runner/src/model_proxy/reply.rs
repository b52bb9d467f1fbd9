//! Responses of the proxy itself. Their form is the error form that all model providers share.

use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use serde_json::json;

use super::metered_body::BodyError;

pub(super) type ProxyBody = UnsyncBoxBody<Bytes, BodyError>;

/// Why the proxy does not pass on a request or a response. Messages contain no address, path or header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    RouteNotAllowed,
    HostNotAllowed,
    BudgetExceeded,
    BodyTooLarge,
    ProviderUnreachable,
    ProviderErrorTooLong,
    HostUnreachable,
}

impl Rejection {
    pub(super) fn response(self) -> Response<ProxyBody> {
        let (status, code, message) = self.parts();
        let error_type = code.replace('-', "_");
        let body = json!({ "error": { "message": message, "type": error_type, "code": code } });
        let mut response = Response::new(full_body(body.to_string().into()));
        *response.status_mut() = status;
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        response
    }

    fn parts(self) -> (StatusCode, &'static str, &'static str) {
        match self {
            Self::RouteNotAllowed => {
                (StatusCode::FORBIDDEN, "route-not-allowed", "agents may not use this route of the provider")
            }
            Self::HostNotAllowed => (
                StatusCode::FORBIDDEN,
                "host-not-allowed",
                "the network policy of this run does not allow this host",
            ),
            Self::BudgetExceeded => {
                (StatusCode::FORBIDDEN, "budget-exceeded", "the budget of this run is exhausted")
            }
            Self::BodyTooLarge => {
                (StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "the request body is larger than 64 MiB")
            }
            Self::ProviderUnreachable => {
                (StatusCode::BAD_GATEWAY, "provider-unreachable", "cannot reach the model provider")
            }
            Self::ProviderErrorTooLong => {
                (StatusCode::BAD_GATEWAY, "provider-error", "the model provider returned an error")
            }
            Self::HostUnreachable => (StatusCode::BAD_GATEWAY, "host-unreachable", "cannot reach the host"),
        }
    }
}

pub(super) fn full_body(bytes: Bytes) -> ProxyBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}
