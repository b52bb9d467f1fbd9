//! The behaviour that every backend must have, tested with the fake model. A backend runs the whole suite by naming its
//! fixture:
//!
//! ```ignore
//! behaviour_tests!(crate::codex::fixture());
//! ```
//!
//! or only some behaviours of it:
//!
//! ```ignore
//! behaviour_tests!(@each crate::claude::fixture(); turns: text_turn_streams_its_answer,);
//! ```
//!
//! A feature that is missing in the backend's capabilities must give a typed error, which is tested instead.

pub(crate) mod access;
pub(crate) mod control;
mod fixture;
pub(crate) mod harness;
pub(crate) mod limits;
pub(crate) mod provider;
pub(crate) mod threads;
pub(crate) mod turns;

pub(crate) use fixture::{BackendFixture, DenialReaction, ModelState};
pub(crate) use harness::Harness;

/// Defines one test per behaviour for a backend.
macro_rules! behaviour_tests {
    ($fixture:expr) => {
        $crate::suite::behaviour_tests! { @each $fixture;
            turns: text_turn_streams_its_answer,
            turns: events_arrive_while_a_long_turn_runs,
            turns: tool_call_is_reported_with_its_output,
            turns: second_turn_has_the_context_of_the_first,
            turns: declined_approval_is_reported_and_nothing_is_done,
            turns: question_is_answered_with_the_option_of_a_person,
            turns: interrupt_ends_a_turn_that_waits_for_a_person,
            control: steer_is_accepted_or_rejected,
            control: steer_after_the_end_is_rejected,
            control: interrupt_ends_the_turn_and_the_thread_continues,
            control: interrupt_ends_a_running_tool,
            provider: rejected_credential_is_reported_without_an_address,
            provider: rate_limited_provider_is_unavailable,
            provider: failing_provider_is_unavailable,
            provider: incomplete_response_is_a_failure,
            provider: unreachable_provider_is_unavailable,
            threads: killed_agent_is_dead_and_its_thread_is_resumed,
            threads: new_process_resumes_a_thread,
            threads: lost_thread_is_a_failure_and_not_replaced,
            threads: processes_of_an_agent_end_with_it,
            limits: endless_tool_loop_is_stopped,
            limits: turn_over_the_timeout_is_interrupted,
            access: files_and_ports_outside_are_inaccessible,
            limits: large_output_is_truncated_and_marked,
        }
    };
    (@each $fixture:expr; $($part:ident: $behaviour:ident,)+) => {
        $(
            #[tokio::test]
            async fn $behaviour() {
                $crate::suite::$part::$behaviour(&$fixture).await;
            }
        )+
    };
}
pub(crate) use behaviour_tests;
