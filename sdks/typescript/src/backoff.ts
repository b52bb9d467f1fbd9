export interface BackoffOptions {
  /** Longest delay before the first retry; doubled after each failure. Default 200. */
  initialDelayMs?: number;
  /** Upper bound of the delay. Default 5000. */
  maxDelayMs?: number;
  /** Consecutive failures after which the error is thrown. Default: no limit. */
  maxFailures?: number;
}

/** A `Retry-After` above this is not followed: a reader that sleeps for hours looks broken. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Counts consecutive failures. */
export class Backoff {
  readonly #options: BackoffOptions;
  #failures = 0;

  constructor(options: BackoffOptions) {
    this.#options = options;
  }

  reset(): void {
    this.#failures = 0;
  }

  /** Records a failure and returns the delay before the next attempt; none after the last one. */
  fail(retryAfterMs = 0): number | undefined {
    const { initialDelayMs = 200, maxDelayMs = 5000, maxFailures = Number.POSITIVE_INFINITY } = this.#options;
    this.#failures += 1;
    if (this.#failures > maxFailures) return undefined;
    const longest = Math.min(initialDelayMs * 2 ** Math.min(this.#failures - 1, 20), maxDelayMs);
    // Jitter: clients that lost the same server must not return at the same moment.
    const delay = longest / 2 + (longest / 2) * Math.random();
    return Math.max(delay, Math.min(retryAfterMs, MAX_RETRY_AFTER_MS));
  }
}

/** Waits, at most until the signal is aborted. */
export function sleep(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener("abort", end);
  });
}
