//! What every backend must do, in the words of the fake model. A backend is tried on all of it by naming its bench:
//!
//! ```ignore
//! behaviours!(crate::codex::bench());
//! ```
//!
//! What a backend says that it cannot do must be a typed refusal, and is tested as such.

mod bench;
pub(crate) mod control;
pub(crate) mod desk;
pub(crate) mod limits;
pub(crate) mod provider;
pub(crate) mod threads;
pub(crate) mod turns;

pub(crate) use bench::{Bench, Model};
pub(crate) use desk::Desk;

/// Makes a test of each behaviour for one backend.
macro_rules! behaviours {
    ($bench:expr) => {
        $crate::suite::behaviours! { @each $bench;
            turns: a_text_turn_streams_its_answer,
            turns: a_long_turn_is_watched_while_it_runs,
            turns: a_tool_call_is_reported_with_what_it_printed,
            turns: a_second_turn_knows_the_first,
            turns: a_declined_approval_is_reported_and_nothing_is_done,
            control: words_put_into_a_turn_are_taken_or_refused,
            control: words_after_the_end_are_refused,
            control: an_interrupt_ends_the_turn_and_the_thread_goes_on,
            control: an_interrupt_ends_a_running_tool,
            provider: a_refused_credential_is_told_without_an_address,
            provider: a_provider_that_asks_to_wait_is_unavailable,
            provider: a_provider_that_fails_is_unavailable,
            provider: an_answer_that_breaks_off_is_no_answer,
            provider: a_provider_that_is_away_is_unavailable,
            threads: an_agent_killed_in_a_turn_is_dead_and_resumed_by_another,
            threads: a_thread_is_resumed_by_a_new_process,
            threads: a_lost_thread_is_a_failure_and_never_a_new_one,
            threads: what_an_agent_started_ends_with_it,
            limits: an_endless_tool_loop_is_cut_off,
            limits: a_turn_that_takes_too_long_is_interrupted,
            limits: ten_megabytes_of_output_are_bounded_and_marked,
        }
    };
    (@each $bench:expr; $($part:ident: $behaviour:ident,)+) => {
        $(
            #[tokio::test]
            async fn $behaviour() {
                $crate::suite::$part::$behaviour(&$bench).await;
            }
        )+
    };
}
pub(crate) use behaviours;
