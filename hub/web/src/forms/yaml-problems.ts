import { type OutputUnit, type Schema as ValidatorSchema, Validator } from "@cfworker/json-schema";
import { isMap, isNode, isPair, LineCounter, parseDocument, type Document } from "yaml";
import type { Schema } from "./fields";

/** What is wrong with a text, from one offset to another. */
export interface TextProblem {
  from: number;
  to: number;
  message: string;
}

/** What an object has to stay. */
export interface Identity {
  kind: string;
  name: string;
}

/** What is wrong with an object's YAML: it cannot be read, its schema refuses it, or it is another object. */
export function problemsOf(text: string, schema: Schema | undefined, identity: Identity): TextProblem[] {
  const counter = new LineCounter();
  const document = parseDocument(text, { lineCounter: counter, prettyErrors: false });
  if (document.errors.length > 0) return document.errors.map(({ pos: [from, to], message }) => ({ from, to: Math.max(to, from), message }));
  let value: unknown;
  try {
    value = document.toJS({ maxAliasCount: 100 });
  } catch (error) {
    return [{ from: 0, to: Math.min(text.length, 1), message: (error as Error).message }];
  }
  const problems: TextProblem[] = [];
  const at = (path: string[], message: string) => problems.push({ ...rangeOf(document, path, text.length), message });

  for (const [path, want] of [[["kind"], identity.kind] as const, [["metadata", "name"], identity.name] as const]) {
    const found: unknown = document.getIn(path);
    if (found !== want) at([...path], `this object is ${path.at(-1)} ${want}: to have another, make a new object`);
  }
  if (schema) {
    const { errors } = new Validator(schema as ValidatorSchema, schemaDraft(schema), false).validate(value);
    for (const error of leaves(errors)) at(pointerOf(error.instanceLocation), messageOf(error));
  }
  return problems;
}

function schemaDraft(schema: Schema): "7" | "2020-12" {
  return typeof schema.$schema === "string" && schema.$schema.includes("draft-07") ? "7" : "2020-12";
}

/** Keywords that only say that something within is wrong. */
const containers = new Set(["properties", "items", "$ref", "additionalProperties", "allOf", "patternProperties", "prefixItems"]);

/** The errors that are the cause of the others. */
function leaves(errors: OutputUnit[]): OutputUnit[] {
  return errors.filter((one) => !containers.has(one.keyword));
}

function messageOf({ keyword, error, instanceLocation }: OutputUnit): string {
  if (keyword === "false") return `there is no field ${pointerOf(instanceLocation).at(-1) ?? ""} here`;
  return error;
}

/** The names of a JSON pointer, as in #/spec/a~1b. */
function pointerOf(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((part) => decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Where a path is in the text. Of what is not there, where what should have it is. */
function rangeOf(document: Document, path: string[], end: number): { from: number; to: number } {
  for (let length = path.length; length > 0; length--) {
    const range = keyRange(document, path.slice(0, length));
    if (range) return range;
  }
  return { from: 0, to: Math.min(end, 1) };
}

function keyRange(document: Document, path: string[]): { from: number; to: number } | undefined {
  const parent = path.length === 1 ? document.contents : document.getIn(path.slice(0, -1), true);
  const name = path.at(-1);
  let node: unknown;
  if (isMap(parent)) node = parent.items.find((one) => isPair(one) && isNode(one.key) && String(one.key) === name)?.key;
  else node = document.getIn(path.map((part) => (/^\d+$/.test(part) ? Number(part) : part)), true);
  return isNode(node) && node.range ? { from: node.range[0], to: node.range[1] } : undefined;
}
