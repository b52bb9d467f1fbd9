import type { components } from "./schema.js";

/** The body of a failure, as `application/problem+json`. */
export type Problem = components["schemas"]["Problem"];

/** The server refused a request or failed. Distinguish failures by `failureKind`. */
export class ApiError extends Error {
  override readonly name = "ApiError";
  /** HTTP status. Several kinds share one. */
  readonly status: number;
  /** Stable kind of the failure; `unknown` if the body is not from Guildhall, such as that of a proxy. */
  readonly failureKind: string;
  /** Whether a retry can help: `never`, `later` or `after-change`. */
  readonly retry: string;
  /** Minimum time before a retry, if the server knows it. */
  readonly retryAfterMs: number | undefined;
  /** Trace id of the request, for the logs of the server. */
  readonly traceId: string | undefined;
  /** The whole body. */
  readonly problem: Problem | undefined;

  constructor(status: number, problem: Problem | undefined, retryAfterMs: number | undefined) {
    super(problem?.detail ?? `HTTP status ${status}`);
    this.status = status;
    this.problem = problem;
    this.failureKind = problem?.failureKind ?? "unknown";
    this.retry = problem?.retry ?? (status === 429 || status >= 500 ? "later" : "never");
    this.retryAfterMs = problem?.retryAfterMs ?? retryAfterMs;
    this.traceId = problem?.traceId;
  }
}

/**
 * The server does not know the cursor: its database was restored. Events may have been lost, or are sent again. Follow
 * again without `after`, and forget what you have.
 */
export class StreamGapError extends Error {
  override readonly name = "StreamGapError";
  readonly reason: string;

  constructor(reason: string) {
    super(`the stream cannot continue after the last event (${reason})`);
    this.reason = reason;
  }
}

/** Reads the error of a response that is not a success. */
export async function readError(response: Response): Promise<ApiError> {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1000 : undefined;
  const text = await response.text().catch(() => "");
  return new ApiError(response.status, parseProblem(text), retryAfterMs);
}

function parseProblem(text: string): Problem | undefined {
  try {
    const body: unknown = JSON.parse(text);
    const isProblem = typeof body === "object" && body !== null && "failureKind" in body;
    return isProblem ? (body as Problem) : undefined;
  } catch {
    return undefined;
  }
}
