//! Finds the handler of a method. Authorization and rate limits are those of the method table.

use guildhall_domain::FailureKind;
use guildhall_domain::ops::rate::RateKey;
use guildhall_protocol::rpc::{Access, Method, RpcError, RpcMethod, typed};
use guildhall_runtime::telemetry::trace::TraceContext;
use metrics::counter;
use serde_json::Value;

use super::call_error::CallError;
use super::session::{ClientSession, not_connected};
use super::{auth, keys, message, message_v2, meta};
use crate::edge::body_error::part_message;
use crate::edge::error::ApiError;

/// Calls a method and returns its result, or an error with the trace id of the call.
pub(super) async fn dispatch(
    session: &mut ClientSession,
    name: &str,
    params: Value,
) -> Result<Value, RpcError> {
    let Some(method) = Method::from_name(name) else { return Err(RpcError::unknown_method()) };
    let trace_id = TraceContext::from_traceparent(&tracing::Span::none(), None).trace_id();
    let outcome = call(session, method, params).await.map_err(|error| match error {
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

async fn call(session: &mut ClientSession, method: Method, params: Value) -> Result<Value, CallError> {
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
    match method {
        Method::CreateAid => {
            let params = parse::<typed::CreateAid>(params)?;
            encode::<typed::CreateAid>(auth::create_aid(session, params).await?)
        }
        Method::AidLogin1 => {
            let params = parse::<typed::AidLogin1>(params)?;
            encode::<typed::AidLogin1>(auth::login1(session, params).await?)
        }
        Method::AidLogin2 => {
            let params = parse::<typed::AidLogin2>(params)?;
            encode::<typed::AidLogin2>(auth::login2(session, params).await?)
        }
        Method::RefreshToken => {
            let params = parse::<typed::RefreshToken>(params)?;
            encode::<typed::RefreshToken>(auth::refresh_token(session, params).await?)
        }
        Method::RenewCert => {
            let params = parse::<typed::RenewCert>(params)?;
            encode::<typed::RenewCert>(auth::renew_cert(session, params).await?)
        }
        Method::Rekey => {
            let params = parse::<typed::Rekey>(params)?;
            encode::<typed::Rekey>(auth::rekey(session, params).await?)
        }
        Method::Connect => {
            let params = parse::<typed::Connect>(params)?;
            encode::<typed::Connect>(auth::connect(session, params).await?)
        }
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
        Method::Send => {
            let params = parse::<typed::Send>(params)?;
            encode::<typed::Send>(message::send(session, params).await?)
        }
        Method::Pull => {
            let params = parse::<typed::Pull>(params)?;
            encode::<typed::Pull>(message::pull(session, params).await?)
        }
        Method::Ack => {
            let params = parse::<typed::Ack>(params)?;
            encode::<typed::Ack>(message::ack(session, params).await?)
        }
        Method::Recall => {
            let params = parse::<typed::Recall>(params)?;
            encode::<typed::Recall>(message::recall(session, params).await?)
        }
        Method::QueryOnline => {
            let params = parse::<typed::QueryOnline>(params)?;
            encode::<typed::QueryOnline>(message::query_online(session, params).await?)
        }
        Method::Peers => {
            let params = parse::<typed::Peers>(params)?;
            encode::<typed::Peers>(message_v2::peers(session, params).await?)
        }
        Method::PullV2 => {
            let params = parse::<typed::PullV2>(params)?;
            encode::<typed::PullV2>(message_v2::pull(session, params).await?)
        }
        Method::AckV2 => {
            let params = parse::<typed::AckV2>(params)?;
            encode::<typed::AckV2>(message_v2::ack(session, params).await?)
        }
        Method::PutPeerKey => {
            let params = parse::<typed::PutPeerKey>(params)?;
            encode::<typed::PutPeerKey>(keys::put_peer_key(session, params).await?)
        }
        Method::Bootstrap => {
            let params = parse::<typed::Bootstrap>(params)?;
            encode::<typed::Bootstrap>(keys::bootstrap(session, params).await?)
        }
        Method::PutPrekey => {
            let params = parse::<typed::PutPrekey>(params)?;
            encode::<typed::PutPrekey>(keys::put_prekey(session, params).await?)
        }
        Method::GetPrekey => {
            let params = parse::<typed::GetPrekey>(params)?;
            encode::<typed::GetPrekey>(keys::get_prekey(session, params).await?)
        }
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
