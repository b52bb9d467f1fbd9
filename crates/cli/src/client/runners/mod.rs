//! Runner enrolment tokens.

pub(crate) mod enrolments;
