//! Answers to interrupts.

use guildhall_domain::approvals::form::AnswerContent;
use guildhall_domain::front::interrupt_answer::InterruptAnswer;

use super::error::InvalidInput;
use super::reader::Reader;

/// An answer to an interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResumeEntry {
    /// The id of the approval.
    pub interrupt_id: String,
    pub answer: InterruptAnswer,
}

/// Reads an answer. One without an answer of a person (`cancelled`) denies: every question of an agent ends.
pub(super) fn resume_entry(entry: &Reader<'_>) -> Result<ResumeEntry, InvalidInput> {
    let interrupt_id = entry.required_text("interruptId")?;
    let answer = match entry.required_text("status")?.as_str() {
        "resolved" => match entry.optional_object("payload")? {
            Some(payload) => answer(&payload)?,
            None => InterruptAnswer::default(),
        },
        "cancelled" => InterruptAnswer::denial(),
        _ => return Err(InvalidInput::ResumeStatus),
    };
    Ok(ResumeEntry { interrupt_id, answer })
}

fn answer(payload: &Reader<'_>) -> Result<InterruptAnswer, InvalidInput> {
    // The agent would get its own arguments, and not those that the person has seen last.
    if payload.get("editedArgs").is_some() {
        return Err(InvalidInput::EditedArguments);
    }
    let content = payload.optional_object("content")?.map(|content| content.value());
    Ok(InterruptAnswer {
        approved: payload.optional_flag("approved")?,
        option: payload.optional_text("optionId")?,
        content: content.and_then(|content| serde_json::from_value::<AnswerContent>(content).ok()),
        shown_digest: payload.optional_text("shownDigest")?,
    })
}
