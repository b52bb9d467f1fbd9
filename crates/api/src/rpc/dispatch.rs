//! Finds the handler of a method. Authorization and rate limits are those of the method table.

use guildhall_domain::FailureKind;
use guildhall_domain::ops::rate::RateKey;
use guildhall_protocol::rpc::{Access, Method, RpcError, RpcMethod, typed};
use guildhall_runtime::telemetry::trace::TraceContext;
use guildhall_service::messages::SignedCall;
use metrics::counter;
use serde_json::Value;

use super::call_error::CallError;
use super::session::{ClientSession, not_connected};
use super::{auth, h2a, keys, message, message_v2, meta};
use crate::edge::body_error::part_message;
use crate::edge::error::ApiError;

/// Calls a method and returns its result, or an error with the trace id of the call. `signed_params` is the text of parameters
/// that are signed.
pub(super) async fn dispatch(
    session: &mut ClientSession,
    name: &str,
    params: Value,
    signed_params: Option<&str>,
) -> Result<Value, RpcError> {
    let Some(method) = Method::from_name(name) else { return Err(RpcError::unknown_method()) };
    let trace_id = TraceContext::from_traceparent(&tracing::Span::none(), None).trace_id();
    let outcome = call(session, method, params, signed_params).await.map_err(|error| match error {
        CallError::Rpc(error) => *error,
        CallError::Failed(error) => {
            error.log(&trace_id, name);
            RpcError::new(&error.failure)
        }
    });
    let label = if outcome.is_ok() { "ok" } else { "error" };
    counter!("guildhall_rpc_calls_total", "method" => method.spec().name, "outcome" => label).increment(1);
    outcome.map_err(|error| error.with_trace_id(trace_id))
}

/// Parses the parameters, calls the handler and encodes its result.
macro_rules! handle {
    ($method:ident, $handler:path, $session:expr, $params:expr) => {{
        let params = parse::<typed::$method>($params)?;
        encode::<typed::$method>($handler($session, params).await?)
    }};
}

async fn call(
    session: &mut ClientSession,
    method: Method,
    params: Value,
    signed_params: Option<&str>,
) -> Result<Value, CallError> {
    let spec = method.spec();
    let key = match (spec.access, &session.client) {
        (Access::Public, _) => RateKey::from_address(session.address),
        (Access::Connected, Some(client)) => client.identity.rate_key(&session.app),
        (Access::Connected, None) => return Err(not_connected().into()),
    };
    if spec.access == Access::Connected {
        session.check_authority().await?;
    }
    let _permit = session.app.sockets.call_permit()?;
    if let Some(tier) = spec.tier {
        session.app.ops.rates.count(tier, key).await?;
    }
    if let Some(params) = signed_params {
        session.verify_signature(SignedCall { method: spec.name, params }).await?;
    }
    match method {
        Method::CreateAid => handle!(CreateAid, auth::create_aid, session, params),
        Method::AidLogin1 => handle!(AidLogin1, auth::login1, session, params),
        Method::AidLogin2 => handle!(AidLogin2, auth::login2, session, params),
        Method::RefreshToken => handle!(RefreshToken, auth::refresh_token, session, params),
        Method::RenewCert => handle!(RenewCert, auth::renew_cert, session, params),
        Method::Rekey => handle!(Rekey, auth::rekey, session, params),
        Method::Connect => handle!(Connect, auth::connect, session, params),
        Method::Ping => {
            parse::<typed::Ping>(params)?;
            encode::<typed::Ping>(meta::ping(session))
        }
        Method::Status => {
            parse::<typed::Status>(params)?;
            encode::<typed::Status>(meta::status(session)?)
        }
        Method::TrustRoots => {
            parse::<typed::TrustRoots>(params)?;
            encode::<typed::TrustRoots>(meta::trust_roots(session).await?)
        }
        Method::Relations => {
            parse::<typed::Relations>(params)?;
            encode::<typed::Relations>(h2a::relations(session).await?)
        }
        Method::Send => handle!(Send, message::send, session, params),
        Method::Pull => handle!(Pull, message::pull, session, params),
        Method::Ack => handle!(Ack, message::ack, session, params),
        Method::Recall => handle!(Recall, message::recall, session, params),
        Method::QueryOnline => handle!(QueryOnline, message::query_online, session, params),
        Method::Peers => handle!(Peers, message_v2::peers, session, params),
        Method::PullV2 => handle!(PullV2, message_v2::pull, session, params),
        Method::AckV2 => handle!(AckV2, message_v2::ack, session, params),
        Method::PutPeerKey => handle!(PutPeerKey, keys::put_peer_key, session, params),
        Method::Bootstrap => handle!(Bootstrap, keys::bootstrap, session, params),
        Method::PutPrekey => handle!(PutPrekey, keys::put_prekey, session, params),
        Method::GetPrekey => handle!(GetPrekey, keys::get_prekey, session, params),
    }
}

/// Parses the parameters. The message names the member, but repeats no value: it may be a secret.
fn parse<M: RpcMethod>(params: Value) -> Result<M::Params, CallError> {
    serde_json::from_value(params)
        .map_err(|error| RpcError::invalid_params(format!("params: {}", part_message(&error))).into())
}

fn encode<M: RpcMethod>(result: M::Result) -> Result<Value, CallError> {
    serde_json::to_value(result).map_err(|error| {
        let failed = ApiError::new(FailureKind::Internal, "the result cannot be written");
        CallError::Failed(failed.with_cause(error))
    })
}
