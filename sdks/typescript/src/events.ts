import type { components } from "./schema.js";

type Schemas = components["schemas"];

/** An event of a run. `type` may be one that this version does not know: test it with {@link isEvent}. */
export type RunEvent = Schemas["RunEvent"];

/** An event of a run whose type is in the API document. */
export type KnownRunEvent = Schemas["KnownRunEvent"];

/** An event of one of the runs of a session. */
export type SessionEvent = RunEvent & {
  runId: string;
  /** Ordinal of the run in its session, from 1. */
  runOrdinal: number;
};

/** A notice about the stream itself. */
export type Notice = Schemas["Notice"];

/** An AG-UI event. `@ag-ui/core` has the types: `client.followThread<AGUIEvent>(…)`. */
export interface AguiEvent {
  type: string;
  [property: string]: unknown;
}

/** Returns whether an event has a type, and with it the type of its payload. */
export function isEvent<E extends RunEvent, T extends KnownRunEvent["type"]>(
  event: E,
  type: T,
): event is Extract<E, { type: T }> {
  return event.type === type;
}
