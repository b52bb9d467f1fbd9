//! Logs, traces and metrics of a process.

pub mod metrics;
pub mod trace;

use std::io::IsTerminal;
use std::time::Duration;

use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::level_filters::LevelFilter;
use tracing::{Level, Metadata, Subscriber};
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer};

/// How long exporting the last spans may take at shutdown.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(3);

/// The format of log lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One readable line per event.
    #[default]
    Text,
    /// One JSON object per event.
    Json,
}

/// Options of logging and tracing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TelemetryOptions {
    /// The service name of spans.
    pub service_name: &'static str,
    /// A filter such as `info,guildhall_api=debug`.
    pub log_filter: String,
    pub log_format: LogFormat,
    /// The OTLP/HTTP endpoint for spans; `None` disables the export.
    pub otlp_endpoint: Option<String>,
}

impl TelemetryOptions {
    /// Checks the options without starting anything.
    pub fn check(&self) -> Result<(), TelemetryError> {
        self.filter()?;
        self.exporter().map(drop)
    }

    fn filter(&self) -> Result<EnvFilter, TelemetryError> {
        EnvFilter::try_new(&self.log_filter)
            .map_err(|source| TelemetryError::Filter { filter: self.log_filter.clone(), source })
    }

    fn exporter(&self) -> Result<Option<SpanExporter>, TelemetryError> {
        let build = |endpoint| SpanExporter::builder().with_http().with_endpoint(endpoint).build();
        Ok(self.otlp_endpoint.as_deref().map(build).transpose()?)
    }
}

/// Telemetry could not be started.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    #[error("invalid log filter `{filter}`")]
    Filter {
        filter: String,
        #[source]
        source: tracing_subscriber::filter::ParseError,
    },
    #[error("cannot create the span exporter")]
    Exporter(#[from] opentelemetry_otlp::ExporterBuildError),
    #[error("telemetry is already started")]
    AlreadyStarted(#[from] tracing_subscriber::util::TryInitError),
}

/// Keeps telemetry alive; flushes it when dropped.
#[must_use]
#[derive(Debug)]
pub struct Telemetry(Option<SdkTracerProvider>);

/// Starts telemetry for this process. Call it before the async runtime starts: the exporter has its own thread.
pub fn start(options: &TelemetryOptions) -> Result<Telemetry, TelemetryError> {
    let (filter, exporter) = (options.filter()?, options.exporter()?);
    let provider = exporter.map(|exporter| provider(options.service_name, exporter));
    let spans = provider.as_ref().map(|provider| {
        tracing_opentelemetry::layer()
            .with_tracer(provider.tracer(options.service_name))
            .with_filter(LevelFilter::INFO)
    });
    tracing_subscriber::registry()
        .with(log_layer(options.log_format).with_filter(filter.and(filter_fn(is_without_content))))
        .with(spans)
        .try_init()?;
    Ok(Telemetry(provider))
}

/// Returns whether a line may be logged where the log filter asks for it. At `trace`, tungstenite writes whole messages of
/// sockets, with the tokens in them.
fn is_without_content(metadata: &Metadata<'_>) -> bool {
    *metadata.level() != Level::TRACE || !metadata.target().starts_with("tungstenite")
}

fn log_layer<S>(format: LogFormat) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    let colours = std::io::stderr().is_terminal();
    let lines = tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(colours);
    match format {
        LogFormat::Text => lines.with_target(false).boxed(),
        LogFormat::Json => lines.json().flatten_event(true).boxed(),
    }
}

fn provider(service_name: &'static str, exporter: SpanExporter) -> SdkTracerProvider {
    let resource = Resource::builder().with_service_name(service_name).build();
    SdkTracerProvider::builder().with_resource(resource).with_batch_exporter(exporter).build()
}

impl Drop for Telemetry {
    fn drop(&mut self) {
        if let Some(provider) = &self.0
            && let Err(error) = provider.shutdown_with_timeout(FLUSH_TIMEOUT)
        {
            tracing::warn!(%error, "cannot export the last spans");
        }
    }
}
