use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::App;

/// Shows the process's metrics in Prometheus' text format. Plain text by its nature, so not in the API document.
pub(crate) async fn show(State(app): State<App>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.render())
}
