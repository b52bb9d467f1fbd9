// What happens to a stream beside lost connections: tokens, notices, signals.
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import { ApiError, ConnectionError, type Notice, StreamGapError, type TokenRequest, createClient } from "@guildhall/client";
import { client, createKey, createRun, listEvents, revokeKey, sendTurn, url } from "./server.js";

const FAST = { backoff: { initialDelayMs: 5, maxDelayMs: 20 } };

test("a revoked token is replaced and the stream continues after its last event", async () => {
  const [first, second] = [await createKey(), await createKey()];
  const requests: TokenRequest[] = [];
  const token = (request: TokenRequest) => {
    requests.push(request);
    return request.rejected === undefined ? first.secret : second.secret;
  };
  const { runId } = await createRun();
  const closed: Notice[] = [];
  const items = createClient({ baseUrl: url, token }).followRun(runId, {
    ...FAST,
    onNotice: (notice) => notice.type === "closed" && closed.push(notice),
  });
  const followed = [(await items.next()).value?.event];
  await revokeKey(first.id);
  await sendTurn(runId, "hello");
  while (followed.at(-1)?.type !== "terminal_status") followed.push((await items.next()).value?.event);
  await items.return();
  assert.deepEqual(followed, (await listEvents(runId)).slice(0, followed.length));
  assert.deepEqual(requests, [{}, { rejected: first.secret }]);
  assert.deepEqual(closed, [{ v: 1, type: "closed", failureKind: "unauthenticated" }]);
});

test("a token function is asked again after a 401, once", async () => {
  const requests: TokenRequest[] = [];
  const token = (request: TokenRequest) => `wrong-${requests.push(request)}`;
  const { runId } = await createRun();
  const error: unknown = await createClient({ baseUrl: url, token }).followRun(runId, FAST).next().catch((thrown) => thrown);
  assert.ok(error instanceof ApiError && error.status === 401, String(error));
  assert.deepEqual(requests, [{}, { rejected: "wrong-1" }]);
});

test("a revoked token that cannot be replaced is a 401 error", async () => {
  const key = await createKey();
  const { runId } = await createRun();
  const items = createClient({ baseUrl: url, token: key.secret }).followRun(runId, FAST);
  await items.next();
  await revokeKey(key.id);
  await assert.rejects(
    async () => {
      for await (const _ of items);
    },
    (error) => error instanceof ApiError && error.status === 401,
  );
});

test("a cursor of events that the server does not have is a gap error", async () => {
  const { runId } = await createRun();
  const items = client.followRun(runId);
  const after = (await items.next()).value?.id.replace(/\d+$/, "999999") ?? "";
  await items.return();
  await assert.rejects(client.followRun(runId, { after }).next(), new StreamGapError("ahead_of_log"));
});

test("a stream continues after a given cursor and reports when it is live", async () => {
  const { runId } = await createRun();
  const last = await sendTurn(runId, "hello");
  const all = [];
  for await (const item of client.followRun(runId)) {
    all.push(item);
    if (item.event.type === "terminal_status" && item.event.commandId === last) break;
  }
  const [first, ...rest] = all;
  const notices: string[] = [];
  const resumed = [];
  const controller = new AbortController();
  const onNotice = ({ type }: Notice) => {
    notices.push(type);
    if (type === "replay_complete") controller.abort();
  };
  assert.ok(first);
  for await (const item of client.followRun(runId, { after: first.id, onNotice, signal: controller.signal })) resumed.push(item);
  assert.deepEqual(resumed.slice(0, rest.length), rest);
  assert.deepEqual(notices, ["hello", "replay_complete"]);
});

test("a thread that a replica ended early is continued", async () => {
  const frame = (id: number, type: string) => `id: ${id}\ndata: {"type":"${type}"}\n\n`;
  const cutShort = 'data: {"type":"RUN_ERROR"}\n\n';
  const secondRun = frame(3, "RUN_STARTED") + frame(4, "RUN_FINISHED");
  const bodies = [frame(1, "RUN_STARTED"), cutShort, frame(2, "RUN_FINISHED"), secondRun];
  const cursors: (string | undefined)[] = [];
  const fetch = async (_: unknown, init?: RequestInit) => {
    cursors.push((init?.headers as Record<string, string>)["last-event-id"]);
    return new Response(bodies.shift() ?? "");
  };
  const types = [];
  const items = createClient({ baseUrl: url, token: "any", fetch }).followThread("thread", FAST);
  for await (const { event } of items) types.push(event.type);
  assert.deepEqual(types, ["RUN_STARTED", "RUN_FINISHED", "RUN_STARTED", "RUN_FINISHED"]);
  assert.deepEqual(cursors, [undefined, "1", "1", "2", "4"]);
});

test("an aborted signal ends the iteration, while it waits for an event and for a connection", async () => {
  const { runId } = await createRun();
  const unreachable = createClient({ baseUrl: await unusedAddress(), token: "any" });
  const forever = { backoff: { initialDelayMs: 60_000, maxDelayMs: 60_000 } };
  for (const follower of [client, unreachable]) {
    const controller = new AbortController();
    const items = follower.followRun(runId, {
      ...forever,
      signal: controller.signal,
      onNotice: ({ type }) => type === "replay_complete" && controller.abort(),
      onDisconnect: () => controller.abort(),
    });
    for await (const { event } of items) assert.equal(event.type, "run_status");
    assert.ok(controller.signal.aborted);
  }
});

test("a server that stays unreachable is an error after the last attempt", async () => {
  const delays: number[] = [];
  const items = createClient({ baseUrl: await unusedAddress(), token: "any" }).followRun("run_1", {
    backoff: { initialDelayMs: 4, maxDelayMs: 10, maxFailures: 4 },
    onDisconnect: (_, delay) => delays.push(delay),
  });
  await assert.rejects(items.next(), ConnectionError);
  const bounds = [4, 8, 10, 10];
  assert.equal(delays.length, bounds.length);
  assert.ok(delays.every((delay, index) => delay >= bounds[index]! / 2 && delay <= bounds[index]!), `${delays}`);
});

/** Returns an address that no server listens on. */
async function unusedAddress(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
