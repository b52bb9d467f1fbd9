//! Approvals: an agent asks before it acts, and a person or a remembered rule answers.
//!
//! - [`question`]: what is asked, as people see it, and what would be executed.
//! - [`form`]: questions that are answered with values, and the check of those.
//! - [`link`]: links that a person is asked to open.
//! - [`approval`]: a question with its state, as readers see it.
//! - [`filter`]: which of them a list shows.
//! - [`answerability`]: whether a person can answer it now.
//! - [`policy`]: the rules of a tenant.
//! - [`voter`]: who may answer, and who may withdraw.
//! - [`vote`]: how answers are counted.
//! - [`state`]: from the question to its answer in the agent's process, at most once.
//! - [`rule`]: answers that are remembered for the same action.
//!
//! An agent's process is always answered with an option that lasts once. "Always" is a rule of this server, so it can be
//! listed and revoked. Nothing but a person or a rule that a person made can allow an action: a missing answer, an
//! unknown option or an impossible quorum denies it.

pub mod answerability;
pub mod approval;
pub mod digest;
mod field_check;
pub mod field_problem;
mod field_schema;
pub mod filter;
pub mod form;
pub mod form_field;
#[cfg(test)]
mod form_tests;
pub mod link;
pub mod policy;
pub mod question;
pub mod rule;
pub mod state;
#[cfg(test)]
mod state_tests;
mod text_format;
pub mod vote;
pub mod voter;
