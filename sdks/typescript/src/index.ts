export type { BackoffOptions } from "./backoff.js";
export { type Call, type Client, type ClientOptions, type FollowThreadOptions, createClient } from "./client.js";
export { ConnectionError } from "./connection.js";
export { ApiError, type Problem, StreamGapError } from "./errors.js";
export { type AguiEvent, type KnownRunEvent, type Notice, type RunEvent, type SessionEvent, isEvent } from "./events.js";
export type { FollowOptions, StreamItem } from "./follow.js";
export type { components, operations, paths } from "./schema.js";
export type { TokenRequest, TokenSource } from "./token.js";
