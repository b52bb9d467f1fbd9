//! The methods `auth.*`.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use guildhall_domain::FailureKind;
use guildhall_domain::identity::{Aid, AidSession, ClientSlot};
use guildhall_domain::ids::ConnectionId;
use guildhall_domain::ops::rate::{RateKey, Tier};
use guildhall_protocol::rpc::auth::{
    ConnectOptions, ConnectParams, ConnectResult, ConnectedIdentity as IdentityView, ConnectionInfo,
    CreateAidParams, CreateAidResult, IssuedCertResult, Login1Params, Login1Result, Login2Params,
    Login2Result, ProtocolRange, RefreshTokenParams, RefreshTokenResult, RefreshedTokens, RefusedRefresh,
    RekeyParams, RenewCertParams, ServerCapabilities,
};
use guildhall_protocol::rpc::{MAX_FRAME_BYTES, Method, RpcError};
use guildhall_service::ServiceError;
use guildhall_service::identity::logins::SignedChallenge;
use guildhall_service::identity::pki::certificate_pem;
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::call_error::CallError;
use super::close::CloseReason;
use super::events::EventStyle;
use super::message;
use super::session::{ClientSession, ConnectedIdentity, PROTOCOL, TOKEN_METHODS};
use crate::edge::error::ApiError;
use crate::edge::input::parse;

/// The only curve of AIDs.
const CURVE: &str = "P-256";

/// The official word for a refresh token that is not accepted. Clients then log in again.
const INVALID_REFRESH_TOKEN: &str = "invalid_or_expired_refresh_token";

/// How many tokens a client may try on one session.
const MAX_REFUSED_CONNECTS: u32 = 5;

/// The longest life that a short connection can ask for.
const MAX_SHORT_TTL: Duration = Duration::from_secs(3600);

pub(super) async fn create_aid(
    session: &ClientSession,
    params: CreateAidParams,
) -> Result<CreateAidResult, CallError> {
    if params.curve.is_some_and(|curve| curve != CURVE) {
        return Err(RpcError::invalid_params("curve: expected P-256").into());
    }
    let aid: Aid = parse("aid", &params.aid)?;
    let aids = session.app.identity.aids()?;
    let issued = aids.register(&aid, &params.public_key, session.address).await?;
    Ok(CreateAidResult { aid: aid.to_string(), cert: certificate_pem(&issued) })
}

pub(super) async fn login1(session: &ClientSession, params: Login1Params) -> Result<Login1Result, CallError> {
    let aid: Aid = parse("aid", &params.aid)?;
    let logins = session.app.identity.logins()?;
    let started = logins.start(&aid, &params.cert, &params.client_nonce).await?;
    Ok(Login1Result {
        request_id: started.request_id,
        nonce: started.nonce,
        auth_cert: started.auth_certificate,
        client_nonce_signature: base64(&started.server_signature),
    })
}

pub(super) async fn login2(session: &ClientSession, params: Login2Params) -> Result<Login2Result, CallError> {
    // The signature covers the text: a number would be written in another way here.
    let Value::String(client_time) = params.client_time else {
        return Err(RpcError::invalid_params("client_time: expected a string").into());
    };
    let aid: Aid = parse("aid", &params.aid)?;
    let signed = SignedChallenge {
        aid: aid.clone(),
        request_id: params.request_id,
        nonce: params.nonce,
        signature: params.signature,
    };
    let completed = session.app.identity.logins()?.complete(&signed, &client_time).await?;
    Ok(Login2Result {
        aid: aid.to_string(),
        access_token: completed.tokens.access.expose_secret().to_owned(),
        refresh_token: completed.tokens.refresh.expose_secret().to_owned(),
        expires_in: completed.tokens.expires_in.as_secs(),
        new_cert: completed.newer_certificate.as_ref().map(certificate_pem),
    })
}

pub(super) async fn refresh_token(
    session: &ClientSession,
    params: RefreshTokenParams,
) -> Result<RefreshTokenResult, CallError> {
    let aid: Option<Aid> = params.aid.as_deref().map(|aid| parse("aid", aid)).transpose()?;
    let presented = SecretString::from(params.refresh_token);
    match session.app.identity.logins()?.refresh(&presented, aid.as_ref()).await {
        Ok(tokens) => Ok(RefreshTokenResult::Refreshed(RefreshedTokens {
            success: true,
            access_token: tokens.access.expose_secret().to_owned(),
            refresh_token: tokens.refresh.expose_secret().to_owned(),
            expires_in: tokens.expires_in.as_secs(),
        })),
        Err(ServiceError::Unauthenticated) => Ok(RefreshTokenResult::Refused(RefusedRefresh {
            success: false,
            error: INVALID_REFRESH_TOKEN.to_owned(),
            relogin_required: true,
        })),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn renew_cert(
    session: &ClientSession,
    params: RenewCertParams,
) -> Result<IssuedCertResult, CallError> {
    let RenewCertParams { aid, request_id, nonce, signature } = params;
    let signed = SignedChallenge { aid: parse("aid", &aid)?, request_id, nonce, signature };
    let issued = session.app.identity.logins()?.renew(&signed).await?;
    Ok(IssuedCertResult { cert: certificate_pem(&issued) })
}

pub(super) async fn rekey(
    session: &ClientSession,
    params: RekeyParams,
) -> Result<IssuedCertResult, CallError> {
    let RekeyParams { aid, request_id, nonce, new_public_key, signature } = params;
    let signed = SignedChallenge { aid: parse("aid", &aid)?, request_id, nonce, signature };
    let issued = session.app.identity.logins()?.rekey(&signed, &new_public_key).await?;
    Ok(IssuedCertResult { cert: certificate_pem(&issued) })
}

pub(super) async fn connect(
    session: &mut ClientSession,
    params: ConnectParams,
) -> Result<ConnectResult, CallError> {
    check_first_connect(session, &params)?;
    let device = params.device.map(|device| device.id).unwrap_or_default();
    let slot = params.client.map(|client| client.slot_id).unwrap_or_default();
    let slot = ClientSlot::new(&device, &slot)
        .map_err(|error| RpcError::invalid_params(format!("device.id or client.slot_id: {error}")))?;
    let (kind, ttl) = connection_kind(params.options.as_ref())?;
    let mode = message::mode(params.delivery_mode.as_ref().map(|mode| mode.mode.as_str()))?;
    let events = EventStyle::new(params.capabilities.as_ref());
    let found = authenticate(session, SecretString::from(params.auth.token)).await?;
    let inbox = session.open_inbox(&found, &slot, mode, events).await?;
    let info = ConnectionInfo {
        id: ConnectionId::generate().to_string(),
        device_id: slot.device().to_owned(),
        slot_id: slot.slot().to_owned(),
        kind: kind.to_owned(),
    };
    let aid = found.aid.to_string();
    let identity = ConnectedIdentity::Aid(found);
    let relations = match identity.owner_of_relations() {
        Some(owner) => Some(session.app.relations.relations.watch(owner, None).await?),
        None => None,
    };
    let role = identity.role().to_owned();
    session.app.ops.rates.count(Tier::Mutation, identity.rate_key(&session.app)).await?;
    session.connect(identity, &slot, ttl, Some(inbox), relations)?;
    Ok(ConnectResult {
        status: "ok".to_owned(),
        protocol: PROTOCOL.to_owned(),
        server_time: session.app.clock.now().as_millisecond(),
        authenticated: true,
        identity: IdentityView { aid, role },
        connection: info,
        capabilities: ServerCapabilities {
            namespaces: Method::namespaces(),
            p2p_peer_pull_v1: true,
            max_message_size: MAX_FRAME_BYTES,
        },
        heartbeat_interval: session.app.sockets.limits.ping_after.as_secs(),
    })
}

/// Finds the session of a token. Official clients try several tokens on one connection; refused ones are counted for the
/// address.
async fn authenticate(session: &mut ClientSession, token: SecretString) -> Result<AidSession, CallError> {
    let found = session.app.identity.logins()?.authenticate(&token).await;
    if matches!(found, Err(ServiceError::Unauthenticated)) {
        session.refused_connects += 1;
        if session.refused_connects >= MAX_REFUSED_CONNECTS {
            session.close = Some(CloseReason::AuthTimeout);
        }
        let key = RateKey::from_address(session.address);
        session.app.ops.rates.count(Tier::SignIn, key).await?;
    }
    Ok(found?)
}

/// Checks that need no query.
fn check_first_connect(session: &mut ClientSession, params: &ConnectParams) -> Result<(), CallError> {
    if session.client.is_some() {
        let message = "the connection is authenticated already: open another one";
        return Err(ApiError::new(FailureKind::Conflict, message).into());
    }
    if params.nonce != session.nonce {
        let message = "nonce: not the one of this connection's challenge";
        return Err(ApiError::new(FailureKind::Unauthenticated, message).into());
    }
    if !TOKEN_METHODS.contains(&params.auth.method.as_str()) {
        return Err(RpcError::invalid_params("auth.method: expected kite_token or aun_token").into());
    }
    let range = params.protocol.as_ref();
    if let Some(range) = range.filter(|range| !includes_own_version(range)) {
        session.close = Some(CloseReason::VersionMismatch);
        let own = format!("{PROTOCOL}-{PROTOCOL}");
        return Err(RpcError::version_mismatch(&own, &format!("{}-{}", range.min, range.max)).into());
    }
    Ok(())
}

/// Returns whether a range of versions such as `1.0` to `1.2` includes ours.
fn includes_own_version(range: &ProtocolRange) -> bool {
    let parse = |text: &str| {
        let (major, minor) = text.split_once('.')?;
        Some((major.parse::<u16>().ok()?, minor.parse::<u16>().ok()?))
    };
    match (parse(&range.min), parse(PROTOCOL), parse(&range.max)) {
        (Some(min), Some(own), Some(max)) => min <= own && own <= max,
        (_, _, _) => false,
    }
}

/// Returns the kind of a connection, and how long a short one may stay open.
fn connection_kind(options: Option<&ConnectOptions>) -> Result<(&'static str, Option<Duration>), CallError> {
    let Some(options) = options else { return Ok(("long", None)) };
    match options.kind.as_deref() {
        None | Some("long") => Ok(("long", None)),
        Some("short") => {
            let asked = options.short_ttl_ms.map_or(MAX_SHORT_TTL, Duration::from_millis);
            Ok(("short", Some(asked.min(MAX_SHORT_TTL))))
        }
        Some(_) => Err(RpcError::invalid_params("options.kind: expected long or short").into()),
    }
}

fn base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}
