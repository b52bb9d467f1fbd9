import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { test } from "node:test";
import { type RunEvent, isEvent } from "@guildhall/client";

test("the package has the build, its types, the licence and nothing else", () => {
  const printed = execFileSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], { encoding: "utf8", stdio: "pipe" });
  const [{ files }] = JSON.parse(printed) as [{ files: { path: string }[] }];
  const built = readdirSync("src").flatMap((file) => {
    const name = file.replace(/\.ts$/, "");
    return [`dist/${name}.d.ts`, `dist/${name}.js`];
  });
  assert.deepEqual(files.map(({ path }) => path).sort(), ["LICENSE", "README.md", "package.json", ...built].sort());
});

test("isEvent narrows the payload by the type of the event", () => {
  const event: RunEvent = { v: 1, seq: 1, type: "assistant_delta", erased: false, recordedAt: "", payload: { text: "a" } };
  const text: string | undefined = isEvent(event, "assistant_delta") ? event.payload?.text : undefined;
  assert.equal(text, "a");
  // @ts-expect-error: this type of event has no text.
  assert.equal(isEvent(event, "tool_call") ? event.payload?.text : undefined, undefined);
});
