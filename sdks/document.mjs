// Writes the part of the API document that client libraries need, in a form that type generators understand:
//   node document.mjs OUTPUT
import { readFileSync, writeFileSync } from "node:fs";

const METHODS = ["get", "put", "post", "patch", "delete"];

/** Parameters for other clients: browser pages of the server, and tracing, which a caller adds as any header. */
const OMITTED_PARAMETERS = ["#/components/parameters/X-Guildhall-CSRF", "#/components/parameters/traceparent"];

/** Unions of a stream's frames. The libraries separate events from notices. */
const OMITTED_SCHEMAS = [
  "RunStreamData",
  "SessionStreamData",
  "ApprovalStreamData",
  "RelationStreamData",
  "AuditStreamData",
  "SessionEventView",
];

export function reduce(document) {
  const { schemas, securitySchemes } = document.components;
  const reduced = { ...document, components: { schemas: {}, securitySchemes } };
  for (const [name, schema] of Object.entries(schemas)) {
    if (!OMITTED_SCHEMAS.includes(name)) reduced.components.schemas[name] = simplify(schema);
  }
  nameNotices(reduced.components.schemas);
  reduced.components.schemas.KnownRunEvent = knownEvents(schemas.RunEvent);
  reduced.paths = Object.fromEntries(
    Object.entries(document.paths).map(([path, item]) => [path, reducePath(item)]),
  );
  return reduced;
}

function reducePath(item) {
  const operations = METHODS.filter((method) => item[method]);
  return Object.fromEntries(operations.map((method) => [method, reduceOperation(item[method])]));
}

/** Every failure is a problem: one `default` response replaces up to ten. */
function reduceOperation({ operationId, summary, parameters = [], requestBody, responses }) {
  const reduced = { operationId, summary, responses: {} };
  const kept = parameters.filter((parameter) => !OMITTED_PARAMETERS.includes(parameter.$ref));
  if (kept.length > 0) reduced.parameters = kept.map(simplify);
  if (requestBody) reduced.requestBody = requestBody;
  for (const [status, { description, content }] of Object.entries(responses)) {
    if (status < "400") reduced.responses[status] = { description, content: content && simplify(content) };
  }
  const problem = { schema: { $ref: "#/components/schemas/Problem" } };
  reduced.responses.default = { description: "A failure", content: { "application/problem+json": problem } };
  return reduced;
}

/**
 * Removes what generators misread. With a discriminator they set `type` of an event that is not in its mapping to the name
 * of the schema. Few type checkers know objects that are closed, or have some properties of another type.
 */
function simplify(schema) {
  if (Array.isArray(schema)) return schema.map(simplify);
  if (typeof schema !== "object" || schema === null) return schema;
  const misread = ["discriminator", "x-itemSchema", ...(schema.properties ? ["additionalProperties"] : [])];
  const kept = Object.entries(schema).filter(
    ([key, value]) => !misread.includes(key) && !(key === "additionalProperties" && value === false),
  );
  return Object.fromEntries(kept.map(([key, value]) => [key, simplify(value)]));
}

/** Gives each variant of `Notice` a name, `HelloNotice` for `hello`, and the version that all frames have. */
function nameNotices(schemas) {
  const version = schemas.NoticeFrame.allOf.find((part) => part.properties?.v);
  const names = schemas.Notice.oneOf.map((variant) => {
    const [type] = variant.properties.type.enum;
    const name = `${type.replace(/(^|_)./g, (letters) => letters.at(-1).toUpperCase())}Notice`;
    schemas[name] = {
      ...variant,
      required: [...variant.required, ...version.required],
      properties: { ...variant.properties, ...version.properties },
    };
    return name;
  });
  const { description } = schemas.Notice;
  schemas.Notice = { description, oneOf: names.map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  delete schemas.NoticeFrame;
}

/** Returns the union of the events whose types are listed. In it, `type` tells them apart. */
function knownEvents({ discriminator }) {
  const description = "An event of a run whose type is in the API document.";
  return { description, oneOf: Object.values(discriminator.mapping).map(($ref) => ({ $ref })) };
}

const source = new URL("../schemas/openapi.json", import.meta.url);
writeFileSync(process.argv[2], JSON.stringify(reduce(JSON.parse(readFileSync(source, "utf8"))), null, 1));
