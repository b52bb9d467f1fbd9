//! Who is who: certificates, tokens, Merkle proofs, and the port to the store of keys.
//!
//! Empty until principals and tokens exist. The server and the SDK will share it.
//!
//! This crate deliberately will not know where keys are kept, nor what a token allows.
