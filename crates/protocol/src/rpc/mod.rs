//! JSON-RPC 2.0 on the socket, as the clients of AUN speak it.
//!
//! [`Method`] is the only list of methods: the router, the schemas, the OpenRPC document, the reference and the test of
//! authorization come from it.

pub mod auth;
pub mod document;
mod error;
mod frame;
pub mod h2a;
mod limits;
pub mod message;
pub mod message_v2;
mod message_view;
pub mod meta;
mod methods;
mod server_frame;
mod strict_json;

pub use error::{ErrorData, RpcError};
pub use frame::{
    FrameError, Incoming, InvalidRequest, Notification, Outgoing, Request, RequestId, parse_frame,
};
pub use limits::{
    MAX_BATCH, MAX_FRAME_BYTES, MAX_FRAME_VALUES, MAX_ID_BYTES, MAX_UNAUTHENTICATED_FRAME_BYTES,
    PROTOCOL_VERSION,
};
pub use methods::{Access, Method, MethodSpec, Order, RpcMethod, typed};
pub use server_frame::{InvalidServerFrame, ServerFrame, parse_server_frame, request_text};
