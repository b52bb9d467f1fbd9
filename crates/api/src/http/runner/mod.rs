//! The routes of runners. They take enrolment tokens and run tokens, and nobody else's.

pub(super) mod whoami;
