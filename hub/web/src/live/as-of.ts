import { type Query, useQueryClient } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";
import { parseTime } from "../words/time";

/** The oldest time that an answer which is shown now is as of, in ms; 0 where none says. */
export function useAsOf(): number {
  const cache = useQueryClient().getQueryCache();
  const subscribe = useCallback((changed: () => void) => cache.subscribe(changed), [cache]);
  return useSyncExternalStore(subscribe, () => oldest(cache.findAll({ type: "active" })));
}

function oldest(shown: Query[]): number {
  const times = shown.flatMap((query) => asOfs(query.state.data)).map((text) => parseTime(text)?.getTime() ?? 0);
  const known = times.filter((time) => time > 0);
  return known.length > 0 ? Math.min(...known) : 0;
}

function asOfs(data: unknown): (string | undefined)[] {
  if (typeof data !== "object" || data === null) return [];
  if ("pages" in data && Array.isArray(data.pages)) return data.pages.flatMap(asOfs);
  return "asOf" in data && typeof data.asOf === "string" ? [data.asOf] : [];
}
