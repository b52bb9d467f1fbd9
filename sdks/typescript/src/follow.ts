import type { EventSourceMessage } from "eventsource-parser";
import { Backoff, type BackoffOptions, sleep } from "./backoff.js";
import { ConnectionError, StreamConnection } from "./connection.js";
import { ApiError, StreamGapError } from "./errors.js";
import type { Notice } from "./events.js";
import { type TokenSource, readToken } from "./token.js";

export interface FollowOptions {
  /** Id of the last event that you have: the stream continues after it. Default: from the beginning. */
  after?: string;
  /** Aborting it ends the iteration without an error. */
  signal?: AbortSignal;
  /** Called with each notice about the stream, such as `replay_complete`. */
  onNotice?: (notice: Notice) => void;
  /** Called when the connection was lost, before the delay. */
  onDisconnect?: (error: Error, delayMs: number) => void;
  /** Silence after which the connection is replaced. Default 45000: three heartbeats of the server. */
  idleTimeoutMs?: number;
  backoff?: BackoffOptions;
}

/** An event with its id, which is a cursor. */
export interface StreamItem<E> {
  id: string;
  event: E;
}

/** What is followed, and with which authority. */
export interface StreamSource {
  url: string;
  token: TokenSource;
  fetch: typeof fetch;
  /** Whether the server ends the stream when there is nothing left to follow. */
  isFinite: boolean;
}

/** How a connection ended, if not with an error. */
type ConnectionEnd = "finished" | "interrupted";

/** Follows a stream over any number of connections. Yields each event once, in order. */
export async function* follow<E>(source: StreamSource, options: FollowOptions): AsyncGenerator<StreamItem<E>, void> {
  const reader = new StreamReader<E>(source, options);
  const backoff = new Backoff(options.backoff ?? {});
  let isConfirming = false;
  while (!options.signal?.aborted) {
    let failure: Error = new ConnectionError("the server closed the stream");
    let hasEvents = false;
    try {
      const items = reader.connect(() => backoff.reset());
      let next = await items.next();
      for (; !next.done; next = await items.next()) {
        hasEvents = true;
        yield next.value;
      }
      if (next.value === "finished") {
        // A replica that shuts down may end a stream early. Only a second connection without events is the end.
        if (isConfirming && !hasEvents) return;
        isConfirming = true;
        continue;
      }
    } catch (error) {
      if (options.signal?.aborted) return;
      if (!isTransient(error)) throw error;
      failure = error;
    } finally {
      reader.close();
    }
    isConfirming = false;
    const delay = backoff.fail(failure instanceof ApiError ? failure.retryAfterMs : undefined);
    if (delay === undefined) throw failure;
    options.onDisconnect?.(failure, delay);
    await sleep(delay, options.signal);
  }
}

function isTransient(error: unknown): error is Error {
  return error instanceof ConnectionError || (error instanceof ApiError && error.retry === "later");
}

/** The position in a stream, and its current connection. */
class StreamReader<E> {
  readonly #source: StreamSource;
  readonly #options: FollowOptions;
  #lastId: string | undefined;
  #token = "";
  /** Whether the server refused the last token. */
  #isRejected = false;
  #connection: StreamConnection | undefined;

  constructor(source: StreamSource, options: FollowOptions) {
    this.#source = source;
    this.#options = options;
    this.#lastId = options.after;
  }

  close(): void {
    this.#connection?.close();
  }

  /** Yields the events of one connection. With a token function, a refused token is replaced once. */
  async *connect(onProgress: () => void): AsyncGenerator<StreamItem<E>, ConnectionEnd> {
    const isReplacement = this.#isRejected;
    try {
      return yield* this.#read(onProgress);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.status === 409 && this.#source.isFinite && this.#lastId !== undefined) {
        throw new StreamGapError(error.message);
      }
      const canReplace = error.status === 401 && typeof this.#source.token === "function";
      if (!canReplace || isReplacement) throw error;
      this.close();
      this.#isRejected = true;
      return yield* this.#read(onProgress);
    }
  }

  async *#read(onProgress: () => void): AsyncGenerator<StreamItem<E>, ConnectionEnd> {
    const { url, token, fetch } = this.#source;
    const { idleTimeoutMs = 45_000, signal } = this.#options;
    this.#token = await readToken(token, this.#isRejected ? { rejected: this.#token } : {});
    const headers: Record<string, string> = { authorization: `Bearer ${this.#token}` };
    if (this.#lastId !== undefined) headers["last-event-id"] = this.#lastId;
    this.#connection = new StreamConnection(idleTimeoutMs, signal);
    let end: ConnectionEnd = this.#source.isFinite ? "finished" : "interrupted";
    for await (const frame of this.#connection.open(fetch, url, headers)) {
      this.#isRejected = false;
      if (frame.id === undefined) {
        if (this.#source.isFinite) end = "interrupted"; // Says that the stream was cut short.
        else this.#handleNotice(JSON.parse(frame.data) as Notice, onProgress);
        continue;
      }
      onProgress();
      yield this.#accept(frame, frame.id);
    }
    return end;
  }

  #accept(frame: EventSourceMessage, id: string): StreamItem<E> {
    const event = JSON.parse(frame.data) as E;
    this.#lastId = id;
    return { id, event };
  }

  #handleNotice(notice: Notice, onProgress: () => void): void {
    this.#options.onNotice?.(notice);
    if (notice.type === "gap") throw new StreamGapError(notice.reason);
    if (notice.type === "replay_complete") onProgress();
    // After this notice the server ends the stream.
    if (notice.type === "closed" && notice.failureKind === "unauthenticated") this.#isRejected = true;
  }
}
