//! The layers of every request, outermost first: trace, error bodies, rate limit headers, concurrency limit, timeout,
//! client address, tokens in the query, access rules, panics, body size.

mod access;
mod client_address;
mod failures;
mod limits;
mod panics;
mod query_tokens;
mod rate_headers;
mod trace;

use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use tower_http::catch_panic::CatchPanicLayer;

use crate::App;
use limits::ConcurrencyLimit;

pub(crate) fn apply(router: Router, app: &App) -> Router {
    router
        .layer(from_fn_with_state(app.limits, limits::body_size))
        .layer(CatchPanicLayer::custom(panics::to_response))
        .layer(from_fn_with_state(app.clone(), access::check))
        .layer(from_fn_with_state(app.clone(), query_tokens::reject))
        .layer(from_fn(client_address::scope))
        .layer(from_fn_with_state(app.limits, limits::timeout))
        .layer(from_fn_with_state(ConcurrencyLimit::new(app.limits.concurrent_requests), limits::concurrency))
        .layer(from_fn(rate_headers::add))
        .layer(from_fn(failures::write))
        .layer(from_fn(trace::join))
}
