// node verify.mjs JOURNALS FILE: gives each stream of a file to the schemas and verifyEvents of the official clients.
// Each line of the file is {journal, version, events}. `cargo xtask sdks` writes it.
import assert from "node:assert/strict";
import { createReadStream } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [journals, file] = process.argv.slice(2);

function verifier(name) {
  const require = createRequire(createRequire(import.meta.url).resolve(name));
  const { verifyEvents } = require(name);
  const core = require("@ag-ui/core");
  const schema = core.EventSchemas ?? require("@ag-ui/core/schemas").EventSchema;
  const { from, lastValueFrom } = require("rxjs");
  return async (events) => {
    for (const event of events) {
      assert.ok(core.EventType[event.type], `unknown type ${event.type}`);
      schema.parse(event);
    }
    await lastValueFrom(from(events).pipe(verifyEvents(false)), { defaultValue: null });
  };
}

const verifiers = { "1.0": verifier("@ag-ui/client"), "0.0": verifier("ag-ui-client-0") };

// What the checks must refuse, or they prove nothing.
const started = { type: "RUN_STARTED", threadId: "t", runId: "r" };
const finished = { type: "RUN_FINISHED", threadId: "t", runId: "r", outcome: { type: "success" } };
const text = (kind, fields) => ({ type: `TEXT_MESSAGE_${kind}`, messageId: "m", ...fields });
const legal = [started, text("START", { role: "assistant" }), text("CONTENT", { delta: "a" }), text("END"), finished];
const illegal = {
  "no start": legal.slice(1),
  "two starts": [started, started],
  "content without its message": [started, text("CONTENT", { delta: "a" })],
  "an open message at the end": [started, legal[1], finished],
  "events after the end": [...legal, legal[1]],
  "a null": [started, legal[1], text("CONTENT", { delta: null })],
  "an unknown event": [started, { type: "TEXT" }],
  "an open step at the end": [started, { type: "STEP_STARTED", stepName: "s" }, finished],
};
for (const [version, verify] of Object.entries(verifiers)) {
  await verify(legal);
  for (const [name, events] of Object.entries(illegal)) await assert.rejects(verify(events), undefined, `${version} accepts ${name}`);
}
await assert.rejects(verifiers["0.0"]([started, { ...finished, outcome: { type: "cancelled" } }]), undefined, "0.0 accepts cancelled");

const seen = new Set();
const counts = { streams: 0, events: 0 };
for await (const line of createInterface({ input: createReadStream(file) })) {
  const { journal, version, events } = JSON.parse(line);
  seen.add(journal);
  counts.streams += 1;
  counts.events += events.length;
  try {
    await verifiers[version](events);
  } catch (error) {
    console.error(`journal ${journal}, version ${version}: ${error.message}\n${JSON.stringify(events)}`);
    process.exit(1);
  }
}
assert.equal(seen.size, Number(journals));
console.log(`${seen.size} journals, ${counts.streams} streams, ${counts.events} events: all accepted`);
