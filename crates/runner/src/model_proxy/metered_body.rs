//! Bodies that pass the proxy frame by frame, are counted, and are cut when the budget is exhausted.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::budget::{Budget, BudgetExceeded};
use super::usage::{BodyFormat, TokenUsage, UsageScanner};

type BoxError = Box<dyn Error + Send + Sync>;

/// A body broke off: its sender failed, it is too long, or the budget is exhausted.
#[derive(Debug, thiserror::Error)]
#[error("the body broke off")]
pub(super) struct BodyError(#[source] BoxError);

/// Bytes of text per token, for responses without a usage record.
const BYTES_PER_TOKEN: u64 = 4;

/// The body of a request or response. Trailers are dropped.
pub(super) struct MeteredBody<B> {
    inner: B,
    budget: Arc<Budget>,
    exceeded: Pin<Box<WaitForCancellationFutureOwned>>,
    observer: Observer,
}

/// What else a body is read for.
pub(super) enum Observer {
    None,
    /// Counts the bytes of a request, for the estimate of its tokens.
    Request(Arc<AtomicU64>),
    Response(TokenMeter),
}

impl<B> MeteredBody<B> {
    pub(super) fn new(inner: B, budget: Arc<Budget>, observer: Observer) -> Self {
        let exceeded = Box::pin(budget.wait_until_exceeded());
        Self { inner, budget, exceeded, observer }
    }

    fn count(&mut self, data: &[u8]) -> Result<(), BudgetExceeded> {
        match &mut self.observer {
            Observer::None => {}
            Observer::Request(bytes) => {
                bytes.fetch_add(byte_count(data), Ordering::Relaxed);
            }
            Observer::Response(meter) => meter.push(data)?,
        }
        self.budget.add_bytes(data.len())
    }

    fn finish(&mut self) -> Result<(), BudgetExceeded> {
        match &mut self.observer {
            Observer::None | Observer::Request(_) => Ok(()),
            Observer::Response(meter) => meter.settle(),
        }
    }
}

impl<B> Body for MeteredBody<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = self.get_mut();
        loop {
            let Poll::Ready(frame) = Pin::new(&mut this.inner).poll_frame(context) else {
                ready!(this.exceeded.as_mut().poll(context));
                return Poll::Ready(Some(Err(BudgetExceeded.into())));
            };
            match frame.map(|frame| frame.map(Frame::into_data)) {
                Some(Ok(Ok(data))) => {
                    this.count(&data)?;
                    if this.inner.is_end_stream() {
                        this.finish()?;
                    }
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
                Some(Ok(Err(_trailers))) => {}
                Some(Err(error)) => return Poll::Ready(Some(Err(BodyError(error.into())))),
                None => {
                    this.finish()?;
                    return Poll::Ready(None);
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

impl From<BudgetExceeded> for BodyError {
    fn from(error: BudgetExceeded) -> Self {
        Self(error.into())
    }
}

/// Counts the tokens of one request. If it ends without a usage record (the provider sends none, or the agent hangs up
/// before the last event), an estimate is counted, so that no request is free.
pub(super) struct TokenMeter {
    budget: Arc<Budget>,
    scanner: UsageScanner,
    format: BodyFormat,
    counted: TokenUsage,
    request_bytes: Arc<AtomicU64>,
    response_bytes: u64,
    is_settled: bool,
}

impl TokenMeter {
    /// Creates a meter for a request that is about to be sent.
    pub(super) fn new(budget: Arc<Budget>, request_bytes: Arc<AtomicU64>) -> Self {
        let format = BodyFormat::Other;
        Self {
            budget,
            scanner: UsageScanner::new(format),
            format,
            counted: TokenUsage::default(),
            request_bytes,
            response_bytes: 0,
            is_settled: false,
        }
    }

    /// Sets the format of the response.
    pub(super) fn with_format(mut self, format: BodyFormat) -> Self {
        self.format = format;
        self.scanner = UsageScanner::new(format);
        self
    }

    /// Counts nothing: the provider refused the request.
    pub(super) fn discard(mut self) {
        self.is_settled = true;
    }

    fn push(&mut self, data: &[u8]) -> Result<(), BudgetExceeded> {
        self.response_bytes += byte_count(data);
        self.scanner.push(data);
        self.count(self.scanner.usage())
    }

    /// Counts the rest at the end of the response.
    fn settle(&mut self) -> Result<(), BudgetExceeded> {
        if std::mem::replace(&mut self.is_settled, true) {
            return Ok(());
        }
        self.scanner.finish();
        let usage = self.scanner.usage();
        self.count(if self.scanner.has_final_record() { usage } else { self.estimate(usage) })
    }

    fn estimate(&self, reported: TokenUsage) -> TokenUsage {
        let output = match self.format {
            BodyFormat::Events => self.scanner.events(),
            BodyFormat::Json | BodyFormat::Other => self.response_bytes / BYTES_PER_TOKEN,
        };
        let input = self.request_bytes.load(Ordering::Relaxed) / BYTES_PER_TOKEN;
        TokenUsage { input: reported.input.max(input), output: reported.output.max(output) }
    }

    /// Adds what was not counted before.
    fn count(&mut self, total: TokenUsage) -> Result<(), BudgetExceeded> {
        let new = TokenUsage {
            input: total.input.saturating_sub(self.counted.input),
            output: total.output.saturating_sub(self.counted.output),
        };
        if new == TokenUsage::default() {
            return Ok(());
        }
        self.counted = total;
        self.budget.add_tokens(new)
    }
}

impl Drop for TokenMeter {
    fn drop(&mut self) {
        let _exceeded = self.settle();
    }
}

fn byte_count(data: &[u8]) -> u64 {
    u64::try_from(data.len()).unwrap_or(u64::MAX)
}
