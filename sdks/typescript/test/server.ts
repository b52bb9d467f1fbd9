// The server under test: `cargo xtask sdks` starts `guildhall dev` and sets the variables.
import { after } from "node:test";
import { type RunEvent, createClient } from "@guildhall/client";

export const url = variable("GUILDHALL_TEST_URL");
export const TENANT = "dev";

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run the tests with \`cargo xtask sdks\``);
  return value;
}

/** The token of the first user, valid for 5 minutes. */
export const operatorToken = await (async () => {
  const anonymous = createClient({ baseUrl: url, token: "none" });
  const body = { name: "admin", password: variable("GUILDHALL_TEST_PASSWORD") };
  return (await anonymous.post("/api/v1/auth/login", { body })).accessToken;
})();

export const client = createClient({ baseUrl: url, token: operatorToken });

export async function createKey(): Promise<{ id: string; secret: string }> {
  const body = { name: "sdk", role: "developer" };
  const { id, secret } = await client.post("/api/v1/tenants/{tenant}/keys", { params: { path: { tenant: TENANT } }, body });
  return { id, secret: secret ?? "" };
}

export function revokeKey(key: string) {
  return client.delete("/api/v1/tenants/{tenant}/keys/{key}", { params: { path: { tenant: TENANT, key } } });
}

export async function createRun(sessionId?: string) {
  const run = await client.post("/api/v1/runs", {
    body: {
      tenantId: TENANT,
      projectId: "default",
      workspaceRef: { kind: "empty" },
      providerId: "local",
      backendProfile: "demo",
      traceSink: null,
      ...(sessionId && { sessionRef: { sessionId } }),
    },
  });
  created.push(run.runId);
  return run;
}

/** An open run keeps a runner, and the server has few. */
const created: string[] = [];
after(() => Promise.allSettled(created.map(closeRun)));

export function closeRun(run: string) {
  return client.post("/api/v1/runs/{run}/close", { params: { path: { run } } });
}

/** Starts a turn of the default agent. */
export function startAgentRun(threadId: string, runId: string) {
  return client.post("/api/v1/agent/runs", {
    params: { query: { tenantId: TENANT } },
    body: {
      threadId,
      runId,
      messages: [{ id: `message-of-${runId}`, role: "user", content: "hello" }],
      forwardedProps: { runtime_mode: "chat" },
    },
  });
}

/** Sends a turn and returns its command id. */
export async function sendTurn(run: string, prompt: string): Promise<string> {
  const body = { type: "turn", payload: { prompt } };
  return (await client.post("/api/v1/runs/{run}/commands", { params: { path: { run } }, body })).commandId;
}

/** Returns the events of a run as the list has them. */
export async function listEvents(run: string): Promise<RunEvent[]> {
  const events: RunEvent[] = [];
  for (let afterSeq = 0; ; ) {
    const page = await client.get("/api/v1/runs/{run}/events", { params: { path: { run }, query: { afterSeq, limit: 50 } } });
    events.push(...page.events);
    if (!page.hasMore) return events;
    afterSeq = page.nextAfterSeq;
  }
}
