//! The caps of a run, and what it used of them.

use std::sync::{Mutex, OnceLock, PoisonError};

use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::usage::TokenUsage;

/// What a run may use; `None` is no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelCaps {
    /// Input and output tokens.
    pub tokens: Option<u64>,
    /// Requests to the provider.
    pub requests: Option<u64>,
    /// Bytes of all bodies and tunnels, in both directions.
    pub bytes: Option<u64>,
}

/// What a run used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ModelUsage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub requests: u64,
    pub bytes: u64,
}

/// The cap that a run passed first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExceededCap {
    Tokens,
    Requests,
    Bytes,
}

/// The budget is exhausted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the budget of this run is exhausted")]
pub(super) struct BudgetExceeded;

/// The shared counters of a proxy.
#[derive(Debug)]
pub(super) struct Budget {
    caps: ModelCaps,
    usage: Mutex<ModelUsage>,
    exceeded_cap: OnceLock<ExceededCap>,
    exceeded: CancellationToken,
}

impl Budget {
    pub(super) fn new(caps: ModelCaps) -> Self {
        Self {
            caps,
            usage: Mutex::default(),
            exceeded_cap: OnceLock::new(),
            exceeded: CancellationToken::new(),
        }
    }

    pub(super) fn usage(&self) -> ModelUsage {
        *self.usage.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a request. The one that passes the cap is neither counted nor allowed.
    pub(super) fn take_request(&self) -> Result<(), BudgetExceeded> {
        self.check()?;
        let is_taken = {
            let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            let is_free = self.caps.requests.is_none_or(|cap| usage.requests < cap);
            usage.requests += u64::from(is_free);
            is_free
        };
        if is_taken { Ok(()) } else { Err(self.exceed(ExceededCap::Requests)) }
    }

    /// Counts bytes of a body or tunnel.
    pub(super) fn add_bytes(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let total = {
            let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            usage.bytes = usage.bytes.saturating_add(u64::try_from(bytes).unwrap_or(u64::MAX));
            usage.bytes
        };
        if self.caps.bytes.is_some_and(|cap| total > cap) {
            return Err(self.exceed(ExceededCap::Bytes));
        }
        self.check()
    }

    /// Counts tokens of a response.
    pub(super) fn add_tokens(&self, tokens: TokenUsage) -> Result<(), BudgetExceeded> {
        let total = {
            let mut usage = self.usage.lock().unwrap_or_else(PoisonError::into_inner);
            usage.input_tokens = usage.input_tokens.saturating_add(tokens.input);
            usage.output_tokens = usage.output_tokens.saturating_add(tokens.output);
            usage.input_tokens.saturating_add(usage.output_tokens)
        };
        if self.caps.tokens.is_some_and(|cap| total > cap) {
            return Err(self.exceed(ExceededCap::Tokens));
        }
        self.check()
    }

    /// Fails once any cap was passed.
    pub(super) fn check(&self) -> Result<(), BudgetExceeded> {
        if self.exceeded.is_cancelled() { Err(BudgetExceeded) } else { Ok(()) }
    }

    /// Returns a future that resolves when a cap is passed.
    pub(super) fn wait_until_exceeded(&self) -> WaitForCancellationFutureOwned {
        self.exceeded.clone().cancelled_owned()
    }

    /// Waits until a cap is passed, and returns it.
    pub(super) async fn exceeded(&self) -> ExceededCap {
        loop {
            self.exceeded.cancelled().await;
            if let Some(cap) = self.exceeded_cap.get() {
                return *cap;
            }
        }
    }

    fn exceed(&self, cap: ExceededCap) -> BudgetExceeded {
        // The first cap is reported.
        self.exceeded_cap.get_or_init(|| cap);
        self.exceeded.cancel();
        BudgetExceeded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn request_that_passes_the_cap_is_refused() {
        let budget = Budget::new(ModelCaps { requests: Some(2), ..ModelCaps::default() });
        assert_eq!([budget.take_request(), budget.take_request(), budget.check()], [Ok(()); 3]);
        assert_eq!(budget.take_request(), Err(BudgetExceeded));
        assert_eq!(budget.exceeded().await, ExceededCap::Requests);
        assert_eq!(budget.usage(), ModelUsage { requests: 2, ..ModelUsage::default() });
    }

    #[tokio::test]
    async fn first_passed_cap_is_reported() {
        let caps = ModelCaps { tokens: Some(10), bytes: Some(100), requests: None };
        let budget = Budget::new(caps);
        assert_eq!(budget.add_bytes(100), Ok(()));
        assert_eq!(budget.add_tokens(TokenUsage { input: 6, output: 4 }), Ok(()));
        assert_eq!(budget.add_tokens(TokenUsage { input: 0, output: 1 }), Err(BudgetExceeded));
        assert_eq!(budget.add_bytes(1), Err(BudgetExceeded));
        assert_eq!(budget.take_request(), Err(BudgetExceeded));
        assert_eq!(budget.exceeded().await, ExceededCap::Tokens);
    }

    #[test]
    fn counters_do_not_overflow() {
        let budget = Budget::new(ModelCaps { tokens: Some(u64::MAX - 1), ..ModelCaps::default() });
        assert_eq!(budget.add_tokens(TokenUsage { input: 1, output: 1 }), Ok(()));
        assert_eq!(budget.add_tokens(TokenUsage { input: u64::MAX, output: 1 }), Err(BudgetExceeded));
    }
}
