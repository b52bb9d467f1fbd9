//! Runners and their enrolment tokens.

pub(crate) mod enrolments;
pub(crate) mod registrations;
