import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { promisify } from "node:util";
import { createKey, url } from "./server.js";

test("the example of the documentation runs", async () => {
  const { secret } = await createKey();
  const env = { ...process.env, SERVER_URL: url, KEY: secret };
  const { stdout } = await promisify(execFile)(process.execPath, ["build/test/example.js"], { env });
  assert.match(stdout, /^You said: "tidy my notes"\./);
});

test("the documentation has the example as it is tested", () => {
  const example = readFileSync("test/example.ts", "utf8");
  for (const page of ["README.md", "../../docs/guides/clients.md"]) {
    assert.ok(readFileSync(page, "utf8").includes(`\`\`\`ts\n${example}\`\`\`\n`), page);
  }
});
