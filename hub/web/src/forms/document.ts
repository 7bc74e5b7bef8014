import { parse, parseDocument, stringify } from "yaml";
import { isRecord, withAt } from "./fields";
import type { Edit } from "../api/types";

/** A document of the platform model, as YAML has it. */
export interface ModelDocument {
  apiVersion?: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; [other: string]: unknown };
  spec?: Record<string, unknown>;
  data?: Record<string, string>;
  [other: string]: unknown;
}

const policy = "SchedulingPolicy";
const configMap = "ConfigMap";

/** The selectors of a scheduling policy, which have an edit of their own. */
export const selectors = ["deploymentTargetSelector", "clusterTypeSelector"] as const;

const lines = { lineWidth: 0 } as const;

/** A document as YAML. */
export function yamlOf(document: unknown): string {
  return stringify(document, lines);
}

/** The document that a text is, or undefined for one that is none. */
export function documentOf(text: string): ModelDocument | undefined {
  let found: unknown;
  try {
    found = parse(text);
  } catch {
    return undefined;
  }
  if (!isRecord(found) || typeof found.kind !== "string" || !isRecord(found.metadata) || typeof found.metadata.name !== "string") return undefined;
  return found as ModelDocument;
}

/**
 * The edits that make one document of another; undefined is a document that is not there. What
 * has an edit of its own is changed by that, so that a reader of the list sees what is done;
 * else the whole object is put.
 */
export function editsOf(before: ModelDocument | undefined, after: ModelDocument | undefined): Edit[] {
  if (!after) return before ? [{ operation: "deleteObject", kind: before.kind, name: before.metadata.name }] : [];
  const { kind } = after;
  const { name } = after.metadata;
  if (!before || !same(rest(before), rest(after))) return [{ operation: "putObject", kind, name, content: yamlOf(after) }];

  const edits: Edit[] = [];
  const pairs = (was: Record<string, unknown>, now: Record<string, unknown>, set: Edit["operation"], remove: Edit["operation"]) => {
    for (const [key, value] of Object.entries(now)) if (!Object.hasOwn(was, key) || String(was[key]) !== String(value)) edits.push({ operation: set, kind, name, key, value: String(value) });
    for (const key of Object.keys(was)) if (!Object.hasOwn(now, key)) edits.push({ operation: remove, kind, name, key });
  };
  pairs(before.metadata.labels ?? {}, after.metadata.labels ?? {}, "setLabel", "removeLabel");
  if (kind === configMap) pairs(before.data ?? {}, after.data ?? {}, "setConfigKey", "removeConfigKey");
  if (kind === policy) {
    for (const key of selectors) {
      if (!same(before.spec?.[key] ?? {}, after.spec?.[key] ?? {})) edits.push({ operation: "setSelector", kind, name, key, content: yamlOf(after.spec?.[key] ?? {}) });
    }
  }
  return edits;
}

/** A document with edits of it made. An edit that says nothing of it is left out. */
export function edited(before: ModelDocument | undefined, edits: Edit[]): ModelDocument | undefined {
  let now = before && structuredClone(before);
  for (const edit of edits) {
    const { key = "", value = "" } = edit;
    if (edit.operation === "deleteObject") now = undefined;
    if (edit.operation === "putObject") now = documentOf(edit.content ?? "") ?? now;
    if (!now) continue;
    switch (edit.operation) {
      case "setLabel":
        now.metadata.labels = { ...now.metadata.labels, [key]: value };
        break;
      case "removeLabel":
        now = withAt(now, ["metadata", "labels"], without(now.metadata.labels, key));
        break;
      case "setConfigKey":
        now.data = { ...now.data, [key]: value };
        break;
      case "removeConfigKey":
        now.data = without(now.data, key);
        break;
      case "setSelector":
        now.spec = { ...now.spec, [key]: valueOf(edit.content ?? "", now.spec?.[key]) };
        break;
    }
  }
  return now;
}

/** What a text of YAML says, or what was there before where it is none: edits come from addresses, too. */
function valueOf(text: string, before: unknown): unknown {
  try {
    return parse(text) as unknown;
  } catch {
    return before;
  }
}

/** A text with what differs between two documents changed in it. Comments and order stay. */
export function withChanges(text: string, before: ModelDocument, after: ModelDocument): string {
  const document = parseDocument(text);
  const change = (path: string[], was: unknown, now: unknown) => {
    if (same(was, now)) return;
    if (now === undefined) document.deleteIn(path);
    else if (isRecord(was) && isRecord(now) && Object.keys(now).length > 0) {
      for (const key of new Set([...Object.keys(was), ...Object.keys(now)])) change([...path, key], was[key], now[key]);
    } else document.setIn(path, typeof now === "object" ? document.createNode(now) : now); // a scalar keeps its comment
  };
  change([], before, after);
  return document.toString(lines);
}

/** What has no edit of its own. */
function rest(document: ModelDocument): unknown {
  const { metadata, spec, data, ...others } = document;
  const { labels: _, ...otherMetadata } = metadata;
  const own = document.kind === policy ? Object.fromEntries(Object.entries(spec ?? {}).filter(([key]) => !selectors.some((one) => one === key))) : (spec ?? {});
  return { ...others, metadata: otherMetadata, spec: own, data: document.kind === configMap ? {} : (data ?? {}) };
}

function without(all: Record<string, string> | undefined, key: string): Record<string, string> {
  return Object.fromEntries(Object.entries(all ?? {}).filter(([one]) => one !== key));
}

/** Whether two values of YAML say the same, in whatever order their keys are. */
export function same(a: unknown, b: unknown): boolean {
  if (Array.isArray(a) && Array.isArray(b)) return a.length === b.length && a.every((one, index) => same(one, b[index]));
  if (isRecord(a) && isRecord(b)) {
    const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
    return [...keys].every((key) => same(a[key], b[key]));
  }
  return a === b;
}
