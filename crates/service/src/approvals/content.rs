//! The values of answers: encrypted until the agent's process has them, and readable for nobody else.

use guildhall_domain::approvals::approval::Approval;
use guildhall_domain::approvals::digest::ContentDigest;
use guildhall_domain::approvals::form::{AnswerContent, InvalidContent, check_content};
use guildhall_domain::approvals::question::{AnswerOption, OptionEffect};
use guildhall_domain::ids::ApprovalId;
use guildhall_identity::payload_seal::PayloadSealer;
use secrecy::ExposeSecret;

use super::error::ApprovalError;

/// Values that were checked, ready to be stored.
pub(super) struct SealedContent {
    pub(super) sealed: Vec<u8>,
    pub(super) digest: ContentDigest,
}

/// Checks the values of an answer by the form of the question, and encrypts them. None for an option without values.
pub(super) fn check_and_seal(
    sealer: &PayloadSealer,
    approval: &Approval,
    option: &AnswerOption,
    content: Option<&AnswerContent>,
) -> Result<Option<SealedContent>, ApprovalError> {
    let form = match option.effect {
        // An option that answers has a form, or else nobody can answer.
        OptionEffect::Answer => {
            let form = approval.question.form().map_err(|_| ApprovalError::UnreadableQuestion)?;
            Some(form.ok_or(ApprovalError::UnreadableQuestion)?)
        }
        OptionEffect::Allow | OptionEffect::Deny => None,
    };
    check_content(form.as_ref(), content)?;
    content.map(|content| seal(sealer, approval.id, content)).transpose()
}

/// Encrypts the values of an answer for one approval.
pub(super) fn seal(
    sealer: &PayloadSealer,
    approval: ApprovalId,
    content: &AnswerContent,
) -> Result<SealedContent, ApprovalError> {
    let (id, json) = (approval.as_uuid(), content.to_json());
    let sealed = sealer.seal_answer(id, &json).map_err(ApprovalError::Seal)?;
    Ok(SealedContent { sealed, digest: ContentDigest::from_bytes(sealer.answer_digest(id, &json)) })
}

/// Decrypts the values of an answer.
pub(super) fn open(
    sealer: &PayloadSealer,
    approval: ApprovalId,
    sealed: &[u8],
) -> Result<AnswerContent, ApprovalError> {
    let json = sealer.open_answer(approval.as_uuid(), sealed).map_err(ApprovalError::Seal)?;
    serde_json::from_str(json.expose_secret()).map_err(|_| ApprovalError::UnreadableQuestion)
}

impl From<InvalidContent> for ApprovalError {
    fn from(error: InvalidContent) -> Self {
        Self::Content(error)
    }
}
