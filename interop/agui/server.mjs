// The server that the tests use. `cargo xtask sdks` sets the variables.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";

const { GUILDHALL_TEST_URL: url, GUILDHALL_TEST_PASSWORD: password } = process.env;
export const BASE = `${url}/api/v1`;
export const RUNS = `${BASE}/agent/runs`;

export async function call(path, token, body) {
  const authorization = token && `Bearer ${token}`;
  const init = { method: "POST", headers: { "content-type": "application/json", ...(token && { authorization }) }, body: JSON.stringify(body) };
  const response = await fetch(`${BASE}/${path}`, init);
  assert.ok(response.ok, `${path}: ${response.status} ${await response.clone().text()}`);
  return response.json();
}

/** Returns the headers of an application. */
export async function signIn() {
  const { accessToken } = await call("auth/login", undefined, { name: "admin", password });
  const { secret } = await call("tenants/dev/keys", accessToken, { name: `interop-${randomUUID().slice(0, 8)}`, role: "operator" });
  return { authorization: `Bearer ${secret}` };
}
