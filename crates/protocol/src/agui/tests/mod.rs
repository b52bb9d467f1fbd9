mod dump;
mod generated;
mod input;
mod journal;
mod mapping;
mod properties;
mod segments;
mod verifier;
