// Reads openapi.json and writes one section per endpoint, each with a form to try it. Text is always text, never markup.

const MOST_SHOWN = 20_000; // characters of an answer; an attention's is long

function make(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value);
  }
  made.append(...children.filter(Boolean));
  return made;
}

// A schema in words: "text or list of text", "whole number ≥ 1".
function inWords(schema) {
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.anyOf)
    return schema.anyOf
      .filter((each) => each.type !== "null")
      .map(inWords)
      .join(" or ");
  if (schema.enum || schema.const)
    return (schema.enum ?? [schema.const]).map((each) => JSON.stringify(each)).join(" or ");
  if (schema.type === "array") return `list of ${inWords(schema.items ?? {})}`;
  if (schema.additionalProperties?.type) return `object of ${inWords(schema.additionalProperties)} by name`;
  const names = {
    string: "text",
    integer: "whole number",
    number: "number",
    boolean: "true or false",
    object: "object",
  };
  const bounds = Object.entries({ minimum: "≥", exclusiveMinimum: ">", maximum: "≤", exclusiveMaximum: "<" })
    .filter(([key]) => key in schema && Math.abs(schema[key]) < 1e15)
    .map(([key, sign]) => `${sign} ${schema[key]}`);
  return [names[schema.type] ?? "anything", bounds.join(", ")].filter(Boolean).join(" ");
}

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

function resolve(schema, api) {
  return schema?.$ref ? api.components.schemas[schema.$ref.split("/").pop()] : schema;
}

// The documented example, in the order of the fields.
function example({ properties, examples: [given] }) {
  return Object.fromEntries(
    Object.keys(properties)
      .filter((name) => name in given)
      .map((name) => [name, given[name]]),
  );
}

// The form of one endpoint: a body to edit if it takes one, a button, and the answer.
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
      const response = await fetch(address, options);
      const text = await response.text();
      state.textContent = `${response.status}, ${Math.round(performance.now() - began)} ms, ${text.length.toLocaleString()} characters`;
      answer.textContent = shorten(pretty(text));
    } catch (error) {
      state.textContent = `no answer: ${error.message}`;
    }
    button.disabled = false;
  }
  return [body && make("h3", {}, "Try it"), body, make("div", { class: "send" }, button, state), answer];
}

function pretty(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const shorten = (text) =>
  text.length > MOST_SHOWN
    ? `${text.slice(0, MOST_SHOWN)}\n… and ${(text.length - MOST_SHOWN).toLocaleString()} characters more`
    : text;

function endpoint(path, method, about, api) {
  const asked = resolve(about.requestBody?.content["application/json"].schema, api);
  const answered = resolve(about.responses["200"]?.content?.["application/json"]?.schema, api);
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
  const main = document.getElementById("main");
  try {
    const api = await (await fetch("openapi.json")).json();
    document.getElementById("about").textContent = `${api.info.description} Version ${api.info.version}.`;
    for (const [path, methods] of Object.entries(api.paths)) {
      for (const [method, about] of Object.entries(methods)) main.append(endpoint(path, method, about, api));
    }
    const kinds = Object.entries(api.components.schemas).filter(([name]) =>
      ["Translated", "Scored", "Classified", "Generated", "Problem"].includes(name),
    );
    for (const [name, schema] of kinds) {
      main.append(make("section", { id: name }, make("h2", {}, name), fields(schema)));
    }
  } catch (error) {
    main.append(make("p", {}, `openapi.json could not be read: ${error.message}`));
  }
}

draw();
