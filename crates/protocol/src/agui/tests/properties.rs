//! What holds for every journal.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::Value;

use super::generated::{journal, steps};
use super::journal::Journal;
use super::verifier::Verifier;
use crate::agui::event::{AguiEvent, AguiVersion, Message};
use crate::agui::fold::{AguiFold, Frame, StreamMode};

/// Returns a fold for the thread, and one for each client's run.
pub(super) fn folds(journal: &Journal, version: AguiVersion) -> Vec<AguiFold> {
    let runs = journal.events.iter().filter(|event| event.kind == "client_run").filter_map(|event| {
        let run_id = event.payload.as_ref()?.get("clientRunId")?.as_str()?.to_owned();
        Some(StreamMode::Run { client_run: run_id.clone(), run_id, command: event.command? })
    });
    let modes = std::iter::once(StreamMode::Thread).chain(runs);
    modes.map(|mode| AguiFold::new("main", version, mode)).collect()
}

fn json(frame: &Frame) -> Value {
    serde_json::from_str(&frame.to_json()).expect("valid JSON")
}

/// Checks every prefix of a stream, also when the server closes it there.
fn check_prefixes(journal: &Journal, mut fold: AguiFold) -> Result<(), TestCaseError> {
    let mut verifier = Verifier::default();
    for event in journal.events.clone() {
        for frame in fold.push(event) {
            prop_assert_eq!(verifier.check(&json(&frame)), Ok(()));
            if let AguiEvent::ToolCallArgs { delta, .. } = &frame.event {
                let arguments = serde_json::from_str::<Value>(delta);
                prop_assert!(arguments.is_ok_and(|arguments| arguments.is_object()), "{}", delta);
            }
        }
        if let Some(close) = fold.close() {
            let close = serde_json::to_value(close).expect("valid JSON");
            prop_assert_eq!(verifier.clone().check(&close), Ok(()));
        }
    }
    Ok(())
}

/// Returns the ids that an event introduces into the thread.
fn new_ids(event: &AguiEvent) -> Vec<String> {
    match event {
        AguiEvent::RunStarted { run_id, input, .. } => {
            let messages = input.iter().flat_map(|input| &input.messages);
            let id = |message: &Message| match message {
                Message::User { id, .. } | Message::Assistant { id, .. } => id.clone(),
            };
            messages.map(id).chain([run_id.clone()]).collect()
        }
        AguiEvent::TextMessageStart { message_id, .. }
        | AguiEvent::ReasoningStart { message_id }
        | AguiEvent::ToolCallResult { message_id, .. }
        | AguiEvent::ActivitySnapshot { message_id, .. } => vec![message_id.clone()],
        AguiEvent::ToolCallStart { tool_call_id, .. } => vec![tool_call_id.clone()],
        AguiEvent::RunFinished { .. }
        | AguiEvent::RunError { .. }
        | AguiEvent::StepStarted { .. }
        | AguiEvent::StepFinished { .. }
        | AguiEvent::TextMessageContent { .. }
        | AguiEvent::TextMessageEnd { .. }
        | AguiEvent::ToolCallArgs { .. }
        | AguiEvent::ToolCallEnd { .. }
        | AguiEvent::ReasoningMessageStart { .. }
        | AguiEvent::ReasoningMessageContent { .. }
        | AguiEvent::ReasoningMessageEnd { .. }
        | AguiEvent::ReasoningEnd { .. }
        | AguiEvent::MessagesSnapshot { .. }
        | AguiEvent::Custom { .. } => Vec::new(),
    }
}

proptest! {
    #[test]
    fn every_prefix_of_every_journal_is_a_legal_stream(steps in steps()) {
        let journal = journal(&steps);
        for version in [AguiVersion::V1, AguiVersion::V0] {
            for fold in folds(&journal, version) {
                check_prefixes(&journal, fold)?;
            }
        }
    }

    #[test]
    fn stream_that_is_resumed_at_any_position_is_the_whole_stream(steps in steps(), cut: prop::sample::Index) {
        let journal = journal(&steps);
        for index in 0..folds(&journal, AguiVersion::V1).len() {
            let fold = || folds(&journal, AguiVersion::V1).swap_remove(index);
            let whole = journal.fold(fold());
            prop_assert!(whole.iter().map(|frame| frame.position).is_sorted_by(|one, next| one < next));
            if !whole.is_empty() {
                let at = cut.index(whole.len());
                let rest = journal.fold(fold().resume(whole[at].position));
                prop_assert_eq!(&rest, &whole[at + 1..]);
            }
        }
    }

    #[test]
    fn thread_can_be_resumed_from_the_run_of_its_position(steps in steps(), cut: prop::sample::Index) {
        let journal = journal(&steps);
        let fold = || AguiFold::new("main", AguiVersion::V1, StreamMode::Thread);
        let whole = journal.fold(fold());
        if !whole.is_empty() {
            let at = cut.index(whole.len());
            let (position, mut recent) = (whole[at].position, journal);
            recent.events.retain(|event| event.ordinal >= position.ordinal);
            prop_assert_eq!(&recent.fold(fold().resume(position)), &whole[at + 1..]);
        }
    }

    #[test]
    fn ids_are_unique_in_a_thread(steps in steps()) {
        let journal = journal(&steps);
        let frames = journal.fold(AguiFold::new("main", AguiVersion::V1, StreamMode::Thread));
        let mut seen = BTreeSet::new();
        for id in frames.iter().flat_map(|frame| new_ids(&frame.event)) {
            prop_assert!(seen.insert(id.clone()), "{} comes twice", id);
        }
    }

    #[test]
    fn stream_of_a_run_has_one_run_with_its_id(steps in steps()) {
        let journal = journal(&steps);
        for mut fold in folds(&journal, AguiVersion::V1).into_iter().skip(1) {
            let frames: Vec<Frame> = journal.events.iter().cloned().flat_map(|event| fold.push(event)).collect();
            let ends = frames.iter().filter(|frame| frame.event.is_end()).count();
            let starts = frames.iter().filter(|frame| matches!(frame.event, AguiEvent::RunStarted { .. })).count();
            prop_assert_eq!((ends == 1, starts), (fold.is_finished(), usize::from(!frames.is_empty())));
            let is_last = frames.last().is_some_and(|frame| frame.event.is_end());
            prop_assert_eq!(is_last, fold.is_finished());
        }
    }
}
