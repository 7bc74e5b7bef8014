import { type Dispatch, useEffect, useReducer, useState } from "react";
import { useSearchParams } from "wouter";
import { editsIn, withEdits } from "./address";
import type { Edit } from "../api/types";
import { type EditList, editList, type EditAction } from "./edit-list";

const keyOf = (env: string) => `kalypso-what-if:${env}`;

/** The edits that this tab had of an environment. */
function stored(env: string): Edit[] {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(keyOf(env)) ?? "[]");
    const search = new URLSearchParams();
    for (const one of Array.isArray(found) ? found : []) search.append("edit", JSON.stringify(one));
    return editsIn(search).edits;
  } catch {
    return [];
  }
}

interface EditsInUse extends EditList {
  dispatch: Dispatch<EditAction>;
  /** How many edits of the address this page does not know. */
  unknown: number;
  /** Whether the address has all edits. */
  linked: boolean;
}

/**
 * The edits of an environment: those of the address, else those that this tab had. They are kept in
 * both; what the tab had is what undo brings back.
 *
 * @param fromAddress whether the address's edits are of this environment
 */
export function useEdits(env: string, fromAddress: boolean): EditsInUse {
  const [search, setSearch] = useSearchParams();
  const [start] = useState(() => (fromAddress ? editsIn(search) : { edits: [], unknown: 0 }));
  const [now, dispatch] = useReducer(editList, undefined, (): EditList => {
    const kept = stored(env);
    if (start.edits.length === 0) return { edits: kept, past: [] };
    return editList({ edits: kept, past: [] }, { type: "replace", edits: start.edits });
  });
  const { search: wanted, whole } = withEdits(search, now.edits);
  const address = wanted.toString();
  const current = search.toString();

  useEffect(() => {
    if (address !== current) setSearch(new URLSearchParams(address), { replace: true });
  }, [address, current, setSearch]);

  useEffect(() => {
    try {
      if (now.edits.length > 0) sessionStorage.setItem(keyOf(env), JSON.stringify(now.edits));
      else sessionStorage.removeItem(keyOf(env));
    } catch {
      // a browser that keeps nothing still has the address
    }
  }, [env, now.edits]);

  return { ...now, dispatch, unknown: start.unknown, linked: whole };
}
