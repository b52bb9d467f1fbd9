import createFetchClient, { type FetchResponse, type MaybeOptionalInit, type Middleware } from "openapi-fetch";
import type { HttpMethod, PathsWithMethod, RequiredKeysOf } from "openapi-typescript-helpers";
import { readError } from "./errors.js";
import type { AguiEvent, RunEvent, SessionEvent } from "./events.js";
import { type FollowOptions, type StreamItem, follow } from "./follow.js";
import type { paths } from "./schema.js";
import { type TokenSource, readToken } from "./token.js";

export interface ClientOptions {
  /** Address of the server, such as `http://127.0.0.1:7117`. */
  baseUrl: string;
  /** A function is called for each request and each connection of a stream. */
  token: TokenSource;
  /** Replaces the global `fetch`. */
  fetch?: typeof fetch;
}

export interface FollowThreadOptions extends FollowOptions {
  /** Id or slug of the tenant. Service keys need none. */
  tenantId?: string;
  /** Id or slug of the agent. Default: the default agent of the tenant. */
  agentId?: string;
}

type Init<Path extends keyof paths, Method extends HttpMethod> = MaybeOptionalInit<paths[Path], Method & keyof paths[Path]>;

/** Arguments after the path; none are needed if the operation has no required parameter. */
type Arguments<I> = RequiredKeysOf<I> extends never ? [init?: I] : [init: I];

type Result<Path extends keyof paths, Method extends HttpMethod, I> = NonNullable<
  FetchResponse<paths[Path][Method & keyof paths[Path]] & Record<string | number, unknown>, I, "application/json">["data"]
>;

/** Calls an operation and returns the body of its response. Throws an `ApiError` if the server refuses. */
export type Call<Method extends HttpMethod> = <
  Path extends PathsWithMethod<paths, Method>,
  I extends Init<Path, Method>,
>(
  path: Path,
  ...init: Arguments<I>
) => Promise<Result<Path, Method, I>>;

export interface Client {
  get: Call<"get">;
  post: Call<"post">;
  put: Call<"put">;
  patch: Call<"patch">;
  delete: Call<"delete">;
  /** Follows the events of a run. Does not end with the run: leave the loop, or abort the signal. */
  followRun(run: string, options?: FollowOptions): AsyncGenerator<StreamItem<RunEvent>, void>;
  /** Follows the events of a session, from run to run. */
  followSession(session: string, options?: FollowOptions): AsyncGenerator<StreamItem<SessionEvent>, void>;
  /** Follows a conversation with an agent as AG-UI events. Ends when no run is open. */
  followThread<E = AguiEvent>(thread: string, options?: FollowThreadOptions): AsyncGenerator<StreamItem<E>, void>;
}

export function createClient(options: ClientOptions): Client {
  const baseUrl = options.baseUrl.replace(/\/+$/, "");
  const { token } = options;
  // The global one is looked up at each call, and called as a function: browsers refuse another `this`.
  const send: typeof fetch = options.fetch ?? ((input, init) => fetch(input, init));
  const client = createFetchClient<paths>({ baseUrl, fetch: (request) => send(request) });
  client.use(authorization(token));

  const call = (method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE") => {
    const untyped = client[method] as unknown as (path: string, init?: object) => Promise<{ data: unknown }>;
    return async (path: string, init?: object) => (await untyped(path, init)).data as never;
  };
  const stream = <E>(path: string, isFinite: boolean, followOptions: FollowOptions) =>
    follow<E>({ url: `${baseUrl}/api/v1/${path}`, token, fetch: send, isFinite }, followOptions);

  return {
    get: call("GET"),
    post: call("POST"),
    put: call("PUT"),
    patch: call("PATCH"),
    delete: call("DELETE"),
    followRun: (run, how = {}) => stream(`runs/${encodeURIComponent(run)}/events/stream`, false, how),
    followSession: (session, how = {}) => stream(`sessions/${encodeURIComponent(session)}/stream`, false, how),
    followThread: (thread, { tenantId, agentId, ...how } = {}) => {
      const query = new URLSearchParams({ ...(tenantId && { tenantId }), ...(agentId && { agentId }) });
      return stream(`agent/runs/${encodeURIComponent(thread)}/events?${query}`, true, how);
    },
  };
}

function authorization(token: TokenSource): Middleware {
  return {
    async onRequest({ request }) {
      request.headers.set("authorization", `Bearer ${await readToken(token)}`);
      return request;
    },
    async onResponse({ response }) {
      if (!response.ok) throw await readError(response);
    },
  };
}
