//! Tests of the workspace as a whole, and of the engines and the model that tests rely on.
#![expect(
    clippy::expect_used,
    reason = "a helper that fails shall fail its test; clippy knows only the tests themselves"
)]

mod engines;
mod fake_model;
mod layers;
