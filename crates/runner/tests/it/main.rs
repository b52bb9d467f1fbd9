//! The backends as the runner drives them: real agents, a fake model.
#![expect(
    clippy::expect_used,
    reason = "a helper that fails shall fail its test; clippy knows only the tests themselves"
)]

mod acp;
mod acp_wire;
mod codex;
mod codex_wire;
mod script;
mod suite;
