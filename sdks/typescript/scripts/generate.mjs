// Writes the types of the API document: node scripts/generate.mjs [OUTPUT]
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";

const output = process.argv[2] ?? fileURLToPath(new URL("../src/schema.ts", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "guildhall-sdk-"));
try {
  const document = join(folder, "openapi.json");
  execFileSync(process.execPath, [fileURLToPath(new URL("../../document.mjs", import.meta.url)), document]);
  const types = await openapiTS(pathToFileURL(document), {
    // `Record<string, unknown>` for an object without listed properties, not an object that has none.
    emptyObjectsUnknown: true,
    // A request may omit a property that has a default.
    defaultNonNullable: false,
    silent: true,
  });
  writeFileSync(output, `// Generated from schemas/openapi.json by \`cargo xtask sdks --write\`. Do not edit.\n${astToString(types)}`);
} finally {
  rmSync(folder, { recursive: true });
}
