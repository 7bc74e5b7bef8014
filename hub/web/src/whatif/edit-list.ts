import type { Edit } from "../api/types";

/** The edits that are collected, and what they were before. */
export interface EditList {
  edits: Edit[];
  /** Earlier edits, the last is what undo brings back. */
  past: Edit[][];
}

export type EditAction =
  /** The edits of one object, in the position of those that it had. */
  | { type: "object"; kind: string; name: string; edits: Edit[] }
  | { type: "remove"; index: number }
  | { type: "replace"; edits: Edit[] }
  | { type: "undo" };

/** How many steps undo goes back. */
const most = 100;

export function editList(now: EditList, action: EditAction): EditList {
  if (action.type === "undo") {
    const before = now.past.at(-1);
    return before ? { edits: before, past: now.past.slice(0, -1) } : now;
  }
  const edits = next(now.edits, action);
  if (JSON.stringify(edits) === JSON.stringify(now.edits)) return now;
  // the keys of one word are one step
  if (action.type === "object" && sameFields(now.edits, edits)) return { ...now, edits };
  return { edits, past: [...now.past, now.edits].slice(-most) };
}

function next(edits: Edit[], action: Exclude<EditAction, { type: "undo" }>): Edit[] {
  switch (action.type) {
    case "replace":
      return action.edits;
    case "remove":
      return edits.filter((_, index) => index !== action.index);
    case "object": {
      const first = edits.findIndex((one) => isOf(one, action.kind, action.name));
      const others = (all: Edit[]) => all.filter((one) => !isOf(one, action.kind, action.name));
      return first < 0 ? [...edits, ...action.edits] : [...others(edits.slice(0, first)), ...action.edits, ...others(edits.slice(first))];
    }
  }
}

export function isOf(edit: Edit, kind: string, name: string): boolean {
  return edit.kind === kind && edit.name === name;
}

function sameFields(before: Edit[], after: Edit[]): boolean {
  const fields = (edits: Edit[]) => edits.map(({ operation, kind, name, key }) => [operation, kind, name, key].join("\n")).join("\n\n");
  return before.length > 0 && fields(before) === fields(after);
}

/** What an edit does, for the list of them. */
export function editText({ operation, key, value }: Edit): string {
  switch (operation) {
    case "setLabel":
      return `label ${key} is ${value || "empty"}`;
    case "removeLabel":
      return `label ${key} is removed`;
    case "setConfigKey":
      return `${key} is ${value || "empty"}`;
    case "removeConfigKey":
      return `${key} is removed`;
    case "setSelector":
      return `${key} is changed`;
    case "putObject":
      return "the whole object is as written";
    case "deleteObject":
      return "the object is deleted";
  }
}
