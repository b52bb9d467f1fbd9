import assert from "node:assert/strict";
import { test } from "node:test";
import { ApiError, createClient } from "@guildhall/client";
import { client, createRun, startAgentRun, url } from "./server.js";

const UNKNOWN_RUN = "run_01920000000070008000000000000000";

/** Returns the error that a call throws. */
async function errorOf(call: Promise<unknown>): Promise<ApiError> {
  const error = await call.then(
    () => assert.fail("the call succeeded"),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ApiError, String(error));
  return error;
}

test("a call returns the typed body of the response", async () => {
  const created = await createRun();
  const read = await client.get("/api/v1/runs/{run}", { params: { path: { run: created.runId } } });
  const identity: string[] = [read.runId, read.backendProfile];
  assert.deepEqual(identity, [created.runId, "demo"]);
});

test("an invalid token is a 401 error", async () => {
  const client = createClient({ baseUrl: url, token: "not-a-token" });
  const { status, failureKind, retry, traceId } = await errorOf(client.get("/api/v1/whoami"));
  assert.deepEqual({ status, failureKind, retry }, { status: 401, failureKind: "unauthenticated", retry: "after-change" });
  assert.match(traceId ?? "", /^[0-9a-f]{32}$/);
});

test("an unknown run is a 404 error, of a call and of a stream", async () => {
  const call = () => client.get("/api/v1/runs/{run}", { params: { path: { run: UNKNOWN_RUN } } });
  for (const request of [call, () => client.followRun(UNKNOWN_RUN).next()]) {
    const { status, failureKind, problem } = await errorOf(request());
    assert.deepEqual(
      { status, failureKind, type: problem?.type },
      { status: 404, failureKind: "not-found", type: "urn:guildhall:error:not-found" },
    );
  }
});

test("an input that breaks a rule is a 422 error", async () => {
  const { status, failureKind, message } = await errorOf(startAgentRun("no uuid", "run-1"));
  assert.deepEqual(
    { status, failureKind, message },
    { status: 422, failureKind: "invalid-input", message: "threadId must be a valid UUID" },
  );
});

test("a failure that is not from Guildhall has the kind unknown", async () => {
  const fetch = async () => new Response("<h1>Bad gateway</h1>", { status: 502, headers: { "retry-after": "7" } });
  const client = createClient({ baseUrl: url, token: "any", fetch });
  const { status, failureKind, retry, retryAfterMs } = await errorOf(client.get("/api/v1/whoami"));
  assert.deepEqual(
    { status, failureKind, retry, retryAfterMs },
    { status: 502, failureKind: "unknown", retry: "later", retryAfterMs: 7000 },
  );
});
