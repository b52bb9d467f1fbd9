// The agent of CopilotKit's core, unmodified, against a real server. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { before, test } from "node:test";
import { ProxiedCopilotRuntimeAgent } from "@copilotkit/core";
import { BASE, signIn } from "./server.mjs";

const runtimeUrl = `${BASE}/copilotkit`;
let headers;

before(async () => {
  headers = await signIn();
});

function open(threadId = randomUUID()) {
  const agent = new ProxiedCopilotRuntimeAgent({ runtimeUrl, agentId: "default", threadId, headers });
  agent.said = () => agent.messages.map(({ role, content }) => [role, content]).filter(([, content]) => content);
  agent.send = (content, options) => {
    agent.addMessage({ id: randomUUID(), role: "user", content });
    return agent.runAgent(options);
  };
  return agent;
}

test("a conversation is the same after connect", { timeout: 30_000 }, async () => {
  const agent = open();
  await agent.connectAgent();
  assert.deepEqual(agent.said(), [], "a new thread");
  await agent.send("echo:one");
  await agent.send("run:echo two");
  const again = open(agent.threadId);
  await again.connectAgent();
  assert.deepEqual(again.said(), agent.said());
  assert.deepEqual(again.said().slice(0, 3), [["user", "echo:one"], ["assistant", "Echo: one"], ["user", "run:echo two"]]);
});

test("a run is resumed under its own id", { timeout: 30_000 }, async () => {
  const [agent, runId] = [open(), randomUUID()];
  await agent.send("ask:echo done", { runId });
  const [{ id: interruptId }] = agent.pendingInterrupts;
  await agent.runAgent({ runId, resume: [{ interruptId, status: "resolved", payload: { approved: true } }] });
  assert.deepEqual(agent.pendingInterrupts, []);
  assert.deepEqual(agent.said().at(-1), ["assistant", "I asked, and did it."]);
  assert.equal(agent.said().filter(([role]) => role === "user").length, 1);
});

test("a stopped run ends", { timeout: 30_000 }, async () => {
  const agent = open();
  let code;
  agent.subscribe({ onTextMessageContentEvent: () => agent.abortRun(), onRunErrorEvent: ({ event }) => void (code = event.code) });
  await agent.send("slow");
  assert.equal(code, "cancelled");
});
