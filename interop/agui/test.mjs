// The official AG-UI clients, unmodified, against a real server. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import * as current from "@ag-ui/client";
import * as earlier from "ag-ui-client-0";
import { BASE, RUNS, call, signIn } from "./server.mjs";

const threads = new Set();
const warnings = [];
let headers;

// The clients warn about each event or field that they drop.
console.warn = (...words) => warnings.push(words.join(" "));
// Refused requests, which tests expect.
console.error = () => {};
// A client of 1.0 reports an aborted request a second time, without a listener.
process.on("unhandledRejection", () => {});

before(async () => {
  headers = await signIn();
});

const stop = (thread) => fetch(`${RUNS}/${encodeURIComponent(thread)}/stop`, { method: "POST", headers });

after(async () => {
  await Promise.all([...threads].map(stop));
  assert.deepEqual(warnings, []);
});

for (const [version, client] of Object.entries({ "1.0.0": current, "0.0.59": earlier })) describe(version, { concurrency: 6 }, () => {
  const { HttpAgent, runHttpRequest, transformHttpEventStream } = client;

  class Agent extends HttpAgent {
    constructor(options = {}) {
      super({ url: RUNS, headers, threadId: randomUUID(), ...options });
      threads.add(this.threadId);
    }

    // The client leaves this to applications.
    connect() {
      const events = `${RUNS}/${encodeURIComponent(this.threadId)}/events`;
      return transformHttpEventStream(runHttpRequest(() => fetch(events, { headers })));
    }

    async send(text, options = {}, { method = "runAgent", onText } = {}) {
      const run = { events: [] };
      if (text) this.messages.push({ id: randomUUID(), role: "user", content: text });
      await this[method](options, {
        onEvent: ({ event }) => void run.events.push(event),
        onRunFinishedEvent: ({ outcome }) => void (run.outcome = outcome),
        onRunErrorEvent: ({ event }) => void (run.error = event),
        onTextMessageContentEvent: () => void onText?.(),
      });
      return run;
    }

    replies() {
      return this.messages.filter(({ role, content }) => role === "assistant" && content).map(({ content }) => content);
    }
  }

  const check = (name, body) => test(name, { timeout: 30_000 }, body);

  check("a run has every event in its place", async () => {
    const agent = new Agent({ threadId: `any name ${randomUUID()}`.replaceAll(" ", "-") });
    const runId = randomUUID();
    const { events, outcome } = await agent.send("echo:hello", { runId });
    assert.deepEqual([events[0].type, events[0].runId, events[0].threadId], ["RUN_STARTED", runId, agent.threadId]);
    assert.deepEqual([events.at(-1).type, events.at(-1).runId, outcome], ["RUN_FINISHED", runId, "success"]);
    assert.deepEqual(agent.replies(), ["Echo: hello"]);
  });

  check("the history is sent again, and only what is new is run", async () => {
    const agent = new Agent();
    agent.messages = [{ id: "system", role: "system", content: "be brief" }];
    await agent.send("echo:one");
    await agent.send("run:echo two");
    const ids = agent.messages.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length, `${ids}`);
    const calls = agent.messages.flatMap(({ toolCalls }) => toolCalls ?? []);
    assert.equal(calls.length, 1);
    assert.equal(JSON.parse(calls[0].function.arguments).command, "echo two");
    const result = agent.messages.find(({ role, toolCallId }) => role === "tool" && toolCallId === calls[0].id);
    assert.match(result.content, /two/);
  });

  check("the same run id replays the run", async () => {
    const [agent, runId] = [new Agent(), randomUUID()];
    const first = await agent.send("echo:once", { runId });
    const again = await new Agent({ threadId: agent.threadId, initialMessages: agent.messages.slice(0, 1) }).send(null, { runId });
    assert.deepEqual(again.events, first.events);
  });

  check("an image is sent by its URL, and a replay has a URL that can be read", async () => {
    const png = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP4z8AARAwQCgAf7gP9Y167WwAAAABJRU5ErkJggg==", "base64");
    const upload = { method: "POST", headers: { ...headers, "content-type": "image/png" }, body: png };
    const uploaded = await (await fetch(`${BASE}/agent/attachments`, upload)).json();
    const image = version === "1.0.0"
      ? { type: "image", source: { type: "url", value: uploaded.url } }
      : { type: "binary", mimeType: "image/png", url: uploaded.url };
    const agent = new Agent();
    const { error } = await agent.send([{ type: "text", text: "what is it?" }, image]);
    assert.match(error.message, /takes no images/);
    const { events } = await new Agent({ threadId: agent.threadId }).send(null, {}, { method: "connectAgent" });
    const [text, part] = events[0].input.messages[0].content;
    assert.deepEqual([text.text, part.source.mimeType], ["what is it?", "image/png"]);
    assert.deepEqual(Buffer.from(await (await fetch(part.source.value)).arrayBuffer()), png);
  });

  check("a failed run is an error with a code", async () => {
    const { error } = await new Agent().send("boom");
    assert.ok(error.code && error.message, JSON.stringify(error));
  });

  check("a reader that left comes back to the whole thread", async () => {
    const agent = new Agent();
    await agent.send("slow", {}, { onText: () => agent.abortRun() }).catch(() => {});
    const { events, outcome } = await new Agent({ threadId: agent.threadId }).send(null, {}, { method: "connectAgent" });
    assert.deepEqual([events.at(-1).type, outcome], ["RUN_FINISHED", "success"]);
    const text = events.filter(({ type }) => type === "TEXT_MESSAGE_CONTENT").map(({ delta }) => delta).join("");
    assert.deepEqual(text.trim().split(" "), [...Array(40).keys()].map((word) => `tok${word}`));
  });

  // As the guide says: the same run id, or the whole conversation, each into an empty list.
  for (const [way, reload] of Object.entries({
    "its run": (page, runId) => page.send(null, { runId }),
    "its conversation": (page) => page.send(null, {}, { method: "connectAgent" }),
  })) {
    check(`a page that is reloaded in mid-stream and loads ${way} has every message once`, async () => {
      const [page, runId, words] = [new Agent(), randomUUID(), [...Array(30).keys()].map((word) => `w${word}`).join(" ")];
      const others = way === "its run" ? [] : ["echo:before"];
      for (const text of others) await page.send(text);
      let pieces = 0;
      await page.send(`echo:${words}`, { runId }, { onText: () => (pieces += 1) === 2 && page.abortRun() }).catch(() => {});
      const shown = page.replies().at(-1);
      assert.ok(shown.length < words.length && `Echo: ${words}`.startsWith(shown), shown);
      const initialMessages = way === "its run" ? page.messages.slice(0, 1) : [];
      const reloaded = new Agent({ threadId: page.threadId, initialMessages });
      const { outcome } = await reload(reloaded, runId);
      assert.equal(outcome, "success");
      const turns = (texts) => texts.flatMap((text) => [["user", text], ["assistant", text.replace("echo:", "Echo: ")]]);
      const messages = () => reloaded.messages.map(({ role, content }) => [role, content]);
      assert.deepEqual(messages(), turns([...others, `echo:${words}`]));
      await reloaded.send("echo:after");
      assert.deepEqual(messages(), turns([...others, `echo:${words}`, "echo:after"]));
      assert.equal(new Set(reloaded.messages.map(({ id }) => id)).size, reloaded.messages.length);
    });
  }

  for (const [answer, entry, expected] of [
    ["allowed", { status: "resolved", payload: { approved: true } }, /^(?!.*not allowed)/],
    ["denied", { status: "resolved", payload: { approved: false } }, /not allowed/],
    ["left without an answer", { status: "cancelled" }, /not allowed/],
  ]) {
    check(`a question of the agent is ${answer} by the next run`, async () => {
      const agent = new Agent();
      const { outcome } = await agent.send("ask:echo done");
      assert.equal(outcome, "interrupt");
      const [{ id, message, responseSchema, metadata }] = agent.pendingInterrupts;
      assert.match(message, /echo done/);
      assert.deepEqual(responseSchema.required, ["approved"]);
      assert.deepEqual(metadata.arguments, { command: "echo done" });
      const resumed = await agent.send(null, { resume: [{ interruptId: id, ...entry }] });
      assert.deepEqual([resumed.outcome, agent.pendingInterrupts], ["success", []]);
      assert.match(agent.replies().at(-1), expected);
    });
  }

  check("an answer given elsewhere ends the interrupt for the tab that is open", async () => {
    const agent = new Agent();
    await agent.send("ask:echo done");
    const [{ id, metadata }] = agent.pendingInterrupts;
    const token = headers.authorization.slice("Bearer ".length);
    const allow = metadata.options.find(({ effect }) => effect === "allow");
    await call(`approvals/${id}/votes`, token, { optionId: allow.id, shownDigest: metadata.shownDigest });
    const denied = agent.send(null, { resume: [{ interruptId: id, status: "resolved", payload: { approved: false } }] });
    await assert.rejects(denied, ({ status }) => status === 409);
    const { outcome } = await agent.send(null, { resume: [{ interruptId: id, status: "resolved", payload: { approved: true } }] });
    assert.equal(outcome, "success");
  });

  check("a stopped run is cancelled, in the words of the version", async () => {
    const agent = new Agent();
    const { outcome, error } = await agent.send("slow", {}, { onText: () => stop(agent.threadId) });
    assert.deepEqual([outcome, error?.code], version.startsWith("0.") ? [undefined, "cancelled"] : ["cancelled", undefined]);
  });

  check("a request without a token is refused", async () => {
    await assert.rejects(new Agent({ headers: {} }).send("echo:hello"), ({ status }) => status === 401);
  });
});
