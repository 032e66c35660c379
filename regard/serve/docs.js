// Reads openapi.json and writes one section per endpoint, each with a form to try it.

/**
 * @typedef {{
 *   $ref?: string,
 *   anyOf?: Schema[],
 *   enum?: unknown[],
 *   const?: unknown,
 *   type?: string,
 *   items?: Schema,
 *   additionalProperties?: Schema,
 *   properties?: Record<string, Schema>,
 *   required?: string[],
 *   default?: unknown,
 *   description?: string,
 *   examples?: Record<string, unknown>[],
 *   minimum?: number,
 *   exclusiveMinimum?: number,
 *   maximum?: number,
 *   exclusiveMaximum?: number,
 * }} Schema
 * @typedef {Record<string, { schema: Schema }>} Content
 * @typedef {{
 *   description?: string,
 *   summary?: string,
 *   requestBody?: { content: Content },
 *   responses: Record<string, { content?: Content }>,
 * }} Endpoint
 * @typedef {{
 *   info: { description: string, version: string },
 *   paths: Record<string, Record<string, Endpoint>>,
 *   components: { schemas: Record<string, Schema> },
 * }} Api
 */

const MOST_SHOWN = 20_000; // characters of an answer; an attention's is long

/** @type {(reference: string) => string} */
const nameOf = (reference) => reference.slice(reference.lastIndexOf("/") + 1);

// A schema in words: "text or list of text", "whole number ≥ 1".
/** @type {(schema: Schema) => string} */
function inWords(schema) {
  if (schema.$ref) return nameOf(schema.$ref);
  if (schema.anyOf)
    return schema.anyOf
      .filter((each) => each.type !== "null")
      .map(inWords)
      .join(" or ");
  if (schema.enum || schema.const)
    return (schema.enum ?? [schema.const]).map((each) => JSON.stringify(each)).join(" or ");
  if (schema.type === "array") return `list of ${inWords(schema.items ?? {})}`;
  if (schema.additionalProperties?.type) return `object of ${inWords(schema.additionalProperties)} by name`;
  /** @type {Record<string, string>} */
  const names = {
    string: "text",
    integer: "whole number",
    number: "number",
    boolean: "true or false",
    object: "object",
  };
  const signs = { minimum: "≥", exclusiveMinimum: ">", maximum: "≤", exclusiveMaximum: "<" };
  const bounds = namesOf(signs)
    .filter((key) => Math.abs(schema[key] ?? Infinity) < 1e15)
    .map((key) => `${signs[key]} ${schema[key]}`);
  return [names[schema.type ?? ""] ?? "anything", bounds.join(", ")].filter(Boolean).join(" ");
}

/** @type {(schema: Schema, asked?: boolean) => HTMLElement} */
function fields(schema, asked = false) {
  return make(
    "dl",
    {},
    ...Object.entries(schema.properties ?? {}).flatMap(([name, each]) => {
      const needed = asked && schema.required?.includes(name) ? ", required" : "";
      const preset =
        each.default === undefined || each.default === null ? "" : `, default ${JSON.stringify(each.default)}`;
      return [
        make("dt", {}, name),
        make("dd", {}, make("span", {}, `${inWords(each)}${needed}${preset}. `), each.description ?? ""),
      ];
    }),
  );
}

/** @type {(schema: Schema | undefined, api: Api) => Schema | undefined} */
function resolve(schema, api) {
  return schema?.$ref ? api.components.schemas[nameOf(schema.$ref)] : schema;
}

// The documented example, in the order of the fields.
/** @type {(schema: Schema) => Record<string, unknown>} */
function example({ properties = {}, examples: [given] = [{}] }) {
  return Object.fromEntries(
    Object.keys(properties)
      .filter((name) => name in given)
      .map((name) => [name, given[name]]),
  );
}

// The form of one endpoint: a body to edit if it takes one, a button, and the answer.
/** @type {(path: string, method: string, preset?: Record<string, unknown>) => Child[]} */
function trial(path, method, preset) {
  const answer = make("pre", { tabindex: "0", "aria-label": `Answer of ${path}`, "aria-live": "polite" });
  const state = make("span", { class: "soft" });
  const body = preset && make("textarea", { spellcheck: "false", "aria-label": `Body for ${path}` });
  if (body) body.value = JSON.stringify(preset, null, 2);
  const button = make("button", { type: "button", onclick: send }, "Send");
  async function send() {
    button.disabled = true;
    state.textContent = "…";
    const began = performance.now();
    try {
      const address = path.slice(1) || "./";
      const options = body ? { method, body: body.value, headers: { "Content-Type": "application/json" } } : { method };
      const response = await fetchWithKey(address, options);
      const text = await response.text();
      state.textContent = `${response.status}, ${Math.round(performance.now() - began)} ms, ${text.length.toLocaleString()} characters`;
      answer.textContent = shorten(pretty(text));
    } catch (error) {
      state.textContent = `no answer: ${messageOf(error)}`;
    }
    button.disabled = false;
  }
  return [body && make("h3", {}, "Try it"), body, make("div", { class: "send" }, button, state), answer];
}

/** @type {(text: string) => string} */
function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** @type {(text: string) => string} */
const shorten = (text) =>
  text.length > MOST_SHOWN
    ? `${text.slice(0, MOST_SHOWN)}\n… and ${(text.length - MOST_SHOWN).toLocaleString()} characters more`
    : text;

// Of the body, and of the answer.
/** @type {(about: Endpoint) => (Schema | undefined)[]} */
const schemasOf = ({ requestBody, responses }) => [
  requestBody?.content["application/json"].schema,
  responses["200"]?.content?.["application/json"]?.schema,
];

/** @type {(path: string, method: string, about: Endpoint, api: Api) => HTMLElement} */
function endpoint(path, method, about, api) {
  const [asked, answered] = schemasOf(about).map((schema) => resolve(schema, api));
  return make(
    "section",
    { id: path.slice(1) },
    make("h2", {}, make("span", { class: "method" }, method.toUpperCase()), ` ${path}`),
    make("p", {}, about.description ?? about.summary ?? ""),
    asked && make("h3", {}, "Body"),
    asked && fields(asked, true),
    answered?.properties && make("h3", {}, "Answer"),
    answered?.properties && fields(answered),
    ...trial(path, method.toUpperCase(), asked && example(asked)),
  );
}

async function draw() {
  const main = element("main");
  try {
    /** @type {Api} */
    const api = await (await fetch("openapi.json")).json();
    element("about").textContent = `${api.info.description} Version ${api.info.version}.`;
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, about] of Object.entries(methods)) main.append(endpoint(path, method, about, api));
    }
    const endpoints = Object.values(api.paths).flatMap((methods) => Object.values(methods));
    const shown = endpoints.flatMap(schemasOf).map((schema) => schema?.$ref && nameOf(schema.$ref));
    const inside = Object.entries(api.components.schemas).filter(([name]) => !shown.includes(name));
    for (const [name, schema] of inside) {
      main.append(make("section", { id: name }, make("h2", {}, name), fields(schema)));
    }
  } catch (error) {
    main.append(make("p", {}, `openapi.json could not be read: ${messageOf(error)}`));
  }
}

draw();
