import type { Edit, Operation } from "../api/types";
import { href } from "../filters/filters";

/** The longest address, in characters, that servers and mail programs let through. */
const longest = 8_000;

const operations: Record<Operation, true> = {
  setLabel: true,
  removeLabel: true,
  setSelector: true,
  setConfigKey: true,
  removeConfigKey: true,
  putObject: true,
  deleteObject: true,
};

/** The edits in an address, and how many are in it that this page does not know. */
export function editsIn(search: URLSearchParams): { edits: Edit[]; unknown: number } {
  const all = search.getAll("edit");
  const edits = all.map(editIn).filter((one) => one !== undefined);
  return { edits, unknown: all.length - edits.length };
}

function editIn(text: string): Edit | undefined {
  let found: Record<string, unknown>;
  try {
    found = Object(JSON.parse(text)) as Record<string, unknown>;
  } catch {
    return undefined;
  }
  const { operation, kind, name, key, value, content } = found;
  if (typeof operation !== "string" || !Object.hasOwn(operations, operation)) return undefined;
  const texts = Object.entries({ kind, name, key, value, content }).filter(([, one]) => one !== undefined);
  if (typeof kind !== "string" || typeof name !== "string" || texts.some(([, one]) => typeof one !== "string")) return undefined;
  return { operation, ...Object.fromEntries(texts) } as Edit;
}

/** An address's search with other edits. Edits that are too long for an address are left out, and it says so. */
export function withEdits(search: URLSearchParams, edits: Edit[]): { search: URLSearchParams; whole: boolean } {
  const next = new URLSearchParams(search);
  next.delete("edit");
  const bare = new URLSearchParams(next);
  for (const one of edits) next.append("edit", JSON.stringify(one));
  return next.toString().length <= longest ? { search: next, whole: true } : { search: bare, whole: false };
}

/** Where the what-if page shows an object, with edits made. */
export function whatIfPath(env: string, object: { kind?: string; name?: string; make?: boolean } = {}, edits: Edit[] = []): string {
  const { kind, name, make } = object;
  return href("/what-if", { ...(env ? { env } : {}), ...(kind ? { kind } : {}), ...(name ? { name } : {}), ...(make ? { make: "1" } : {}), edit: edits.map((one) => JSON.stringify(one)) });
}
