import { type EventSourceMessage, createParser } from "eventsource-parser";
import { readError } from "./errors.js";

/** The connection failed, was cut, or was silent for too long. Nothing is lost: a new one continues. */
export class ConnectionError extends Error {
  override readonly name = "ConnectionError";
}

/** One connection to a stream. */
export class StreamConnection {
  readonly #controller = new AbortController();
  readonly #idleTimeoutMs: number;
  #idleTimer: ReturnType<typeof setTimeout> | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #abort = () => this.#controller.abort();

  /** Aborting the signal closes the connection. */
  constructor(idleTimeoutMs: number, signal: AbortSignal | undefined) {
    this.#idleTimeoutMs = idleTimeoutMs;
    this.#signal = signal;
    signal?.addEventListener("abort", this.#abort);
    if (signal?.aborted) this.#abort();
  }

  /** Sends the request and returns its frames, until the server ends the stream. */
  async *open(send: typeof fetch, url: string, headers: Record<string, string>): AsyncGenerator<EventSourceMessage> {
    const request = { headers: { accept: "text/event-stream", ...headers }, signal: this.#controller.signal };
    const response = await this.#wait(() => send(url, request));
    if (!response.ok) throw await readError(response);
    if (!response.body) throw new ConnectionError("the response has no body");
    const frames: EventSourceMessage[] = [];
    // A frame is complete at its empty line: what a cut left of a frame is dropped.
    const parser = createParser({ onEvent: (frame) => frames.push(frame) });
    const decoder = new TextDecoder();
    const reader = response.body.getReader();
    for (;;) {
      const { done, value } = await this.#wait(() => reader.read());
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true }));
      yield* frames.splice(0);
    }
  }

  close(): void {
    clearTimeout(this.#idleTimer);
    this.#signal?.removeEventListener("abort", this.#abort);
    this.#controller.abort();
  }

  /** Waits for the network. The server sends a comment every 15 seconds: longer silence is a dead connection. */
  async #wait<T>(operation: () => Promise<T>): Promise<T> {
    this.#idleTimer = setTimeout(this.#abort, this.#idleTimeoutMs);
    try {
      return await operation();
    } catch (error) {
      throw new ConnectionError("the connection was lost", { cause: error });
    } finally {
      clearTimeout(this.#idleTimer);
    }
  }
}
