// Removes the last build: a deleted source must not be published.
import { rmSync } from "node:fs";

for (const folder of ["dist", "build"]) rmSync(new URL(`../${folder}`, import.meta.url), { recursive: true, force: true });
