use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;

use crate::App;

/// Returns the metrics of the process in the Prometheus text format. Not JSON, hence not in the API document.
pub(crate) async fn get(State(app): State<App>) -> impl IntoResponse {
    app.ops.gauges.refresh().await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], app.metrics.render())
}
