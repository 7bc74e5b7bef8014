/** A JSON schema, as far as forms read it. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  type?: string | string[];
  title?: string;
  description?: string;
  properties?: Record<string, Schema>;
  additionalProperties?: Schema | boolean;
  required?: string[];
  items?: Schema;
  enum?: unknown[];
  [other: string]: unknown;
}

/** How a form shows a field. What none of these fits is edited as YAML. */
export type FieldKind = "text" | "choice" | "selector" | "pairs" | "texts" | "yaml";

export interface Field {
  /** Where it is in the document. */
  path: string[];
  kind: FieldKind;
  description: string;
  required: boolean;
  /** Of a choice. */
  options: string[];
}

/** The fields of a kind's spec, in the schema's order. */
export function fieldsOf(schema: Schema): Field[] {
  const spec = resolved(schema, schema.properties?.spec);
  return fieldsIn(schema, spec, ["spec"]);
}

function fieldsIn(root: Schema, parent: Schema, path: string[]): Field[] {
  const required = parent.required ?? [];
  return Object.entries(parent.properties ?? {}).flatMap(([name, property]) => {
    const schema = resolved(root, property);
    const at = [...path, name];
    if (schema.properties && !isLabelSelector(schema)) return fieldsIn(root, schema, at);
    const options = (schema.enum ?? []).filter((one) => typeof one === "string");
    return [{ path: at, kind: kindOf(root, schema, options), description: schema.description ?? "", required: required.includes(name), options }];
  });
}

function kindOf(root: Schema, schema: Schema, options: string[]): FieldKind {
  if (options.length > 0) return "choice";
  if (isLabelSelector(schema)) return "selector";
  if (isText(schema)) return "text";
  if (isRecord(schema.additionalProperties) && isText(resolved(root, schema.additionalProperties))) return "pairs";
  if (schema.items && isText(resolved(root, schema.items))) return "texts";
  return "yaml";
}

function isLabelSelector(schema: Schema): boolean {
  return Boolean(schema.properties?.matchLabels && schema.properties.matchExpressions);
}

function isText(schema: Schema): boolean {
  // what may also be an object, as manifests of templates, is shown as the text that it mostly is
  const any = [schema, ...[schema.anyOf, schema.oneOf].flatMap((all) => (Array.isArray(all) ? (all as Schema[]) : []))];
  return any.some(({ type }) => type === "string" || (Array.isArray(type) && type.includes("string")));
}

function resolved(root: Schema, schema: Schema | undefined): Schema {
  let now = schema;
  // a definition may name another, and a wrong one itself
  for (let depth = 0; now?.$ref && depth < 10; depth++) {
    const { $ref, ...rest } = now;
    const found = $ref.startsWith("#/") ? at(root, $ref.slice(2).split("/")) : undefined;
    now = { ...(isRecord(found) ? (found as Schema) : {}), ...rest };
  }
  return now ?? {};
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** What a document has at a path. */
export function at(value: unknown, path: string[]): unknown {
  return path.reduce<unknown>((now, name) => (isRecord(now) ? now[name] : undefined), value);
}

/** A document with another value at a path. Empty values, and what is empty without them, go, but for the first of the path. */
export function withAt<T>(value: T, path: string[], next: unknown): T {
  const [name, ...rest] = path;
  if (name === undefined) return next as T;
  const now: Record<string, unknown> = isRecord(value) ? { ...value } : {};
  const inner = withAt(now[name], rest, next);
  if (isEmpty(inner)) delete now[name];
  else now[name] = inner;
  return now as T;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || value === "" || (Array.isArray(value) && value.length === 0) || (isRecord(value) && Object.keys(value).length === 0);
}
