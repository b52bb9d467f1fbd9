import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { test } from "node:test";
import { type AguiEvent, type Client, type FollowOptions, type RunEvent, type StreamItem, createClient, isEvent } from "@guildhall/client";
import { type Fault, type FaultPlan, FaultyProxy, seededRandom } from "./proxy.js";
import { TENANT, client, closeRun, createRun, listEvents, operatorToken, sendTurn, startAgentRun, url } from "./server.js";

const FAULTS = 20;
const SEED = 7117;

/** Fast enough that the tests spend their time with the server. */
const FAST: FollowOptions = { backoff: { initialDelayMs: 5, maxDelayMs: 20 }, idleTimeoutMs: 1000 };

/** Reads events until one fulfils the condition, and leaves the stream open. */
async function readUntil<E>(items: AsyncGenerator<StreamItem<E>>, isLast: (event: E) => boolean): Promise<StreamItem<E>[]> {
  const read: StreamItem<E>[] = [];
  for (;;) {
    const { value, done } = await items.next();
    assert.ok(!done, "the stream ended");
    read.push(value);
    if (isLast(value.event)) return read;
  }
}

async function readAll<E>(items: AsyncIterable<StreamItem<E>>): Promise<StreamItem<E>[]> {
  const read: StreamItem<E>[] = [];
  for await (const item of items) read.push(item);
  return read;
}

const endOf = (command: string) => (event: RunEvent) =>
  isEvent(event, "terminal_status") && event.commandId === command;

/** Breaks connections at random places: after the head of the response, in a frame, or between frames. */
function randomFaults(seed: number): FaultPlan {
  const random = seededRandom(seed);
  const kinds: Fault[] = ["reset", "close", "reset", "close", "refuse"];
  return (faults) => {
    if (faults === FAULTS) return undefined;
    // One stall: it costs the idle timeout.
    const fault = faults === FAULTS / 2 ? "stall" : (kinds[Math.floor(random() * kinds.length)] ?? "reset");
    return { fault, afterBytes: 500 + Math.floor(random() * 1800) };
  };
}

/** Calls the function with a client whose connections break, and whether enough of them did. */
async function throughFaults(use: (cut: Client, isDone: () => boolean) => Promise<void>): Promise<void> {
  const proxy = await FaultyProxy.start(url, randomFaults(SEED));
  try {
    const cut = createClient({ baseUrl: proxy.url, token: operatorToken });
    await use(cut, () => proxy.faults.length >= FAULTS);
  } finally {
    proxy.stop();
  }
}

test("a run is followed through broken connections without a lost or repeated event", () =>
  throughFaults(async (cut, isDone) => {
    const { runId } = await createRun();
    const items = cut.followRun(runId, FAST);
    const followed = [];
    while (!isDone()) followed.push(...(await readUntil(items, endOf(await sendTurn(runId, "hello")))));
    await items.return();
    const listed = await listEvents(runId);
    assert.deepEqual(followed.map((item) => item.event), listed.slice(0, followed.length));
    assert.equal(new Set(followed.map((item) => item.id)).size, followed.length);
  }));

test("a session is followed from run to run through broken connections", () =>
  throughFaults(async (cut, isDone) => {
    const runs = [await createRun()];
    const { sessionId } = runs[0]!;
    const items = cut.followSession(sessionId, FAST);
    const followed = [];
    for (;;) {
      const { runId } = runs.at(-1)!;
      followed.push(...(await readUntil(items, endOf(await sendTurn(runId, "hello")))));
      if (isDone() && runs.length > 1) break;
      await closeRun(runId);
      runs.push(await createRun(sessionId));
    }
    await items.return();
    const listed = [];
    for (const [index, { runId }] of runs.entries()) {
      const events = await listEvents(runId);
      listed.push(...events.map((event) => ({ ...event, runId, runOrdinal: index + 1 })));
    }
    assert.deepEqual(followed.map((item) => item.event), listed.slice(0, followed.length));
  }));

test("a thread is followed to its end through broken connections", () =>
  throughFaults(async (cut, isDone) => {
    const thread = randomUUID();
    const runs = [];
    const followed: StreamItem<AguiEvent>[] = [];
    while (!isDone()) {
      runs.push(`run-${runs.length + 1}`);
      await startAgentRun(thread, runs.at(-1)!);
      const after = followed.at(-1)?.id;
      const options = { ...FAST, tenantId: TENANT, ...(after !== undefined && { after }) };
      followed.push(...(await readAll(cut.followThread(thread, options))));
    }
    assert.deepEqual(followed, await readAll(client.followThread(thread, { tenantId: TENANT })));
    const finished = followed.filter((item) => item.event.type === "RUN_FINISHED");
    assert.deepEqual(finished.map((item) => item.event.runId), runs);
  }));
