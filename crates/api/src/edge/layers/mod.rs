//! What every request passes through, outermost first: trace and failure bodies, the standing in a rate, overload, time
//! limit, tokens in addresses, access, panics, body size.

mod access;
mod address;
mod failures;
mod limits;
mod meter;
mod panics;
mod trace;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::limit::RequestBodyLimitLayer;

use crate::App;
use limits::Gate;

pub(crate) fn apply(router: Router, app: &App) -> Router {
    router
        .layer(RequestBodyLimitLayer::new(app.limits.body_bytes))
        .layer(CatchPanicLayer::custom(panics::answer))
        .layer(from_fn_with_state(app.clone(), access::check))
        .layer(from_fn_with_state(app.clone(), address::check))
        .layer(from_fn_with_state(app.limits.request_timeout, limits::time))
        .layer(from_fn_with_state(Gate::new(app.limits.concurrent_requests), limits::overload))
        .layer(from_fn(meter::show))
        .layer(from_fn(failures::write))
        .layer(from_fn(trace::join))
}
