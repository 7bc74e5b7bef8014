import type { Explanation } from "../api/types";
import type { Edit } from "../api/types";

/**
 * The labels of a cluster type that would make the nearest miss a hit. A target's labels are in the
 * application's own repository, so a miss that needs them has none.
 */
export function nearestEdits({ nearest, policies }: Pick<Explanation, "nearest" | "policies">): Edit[] {
  if (!nearest) return [];
  const ofTarget = new Set((policies.find((one) => one.name === nearest.policy)?.clauses ?? []).filter((one) => !one.holds).map((one) => one.text));
  if (nearest.fails.some((one) => ofTarget.has(one.text))) return [];
  const edits = nearest.fails.map((one) => labelFor(one.text));
  if (edits.some((one) => !one)) return [];
  return edits.flatMap((one) => (one ? [{ ...one, kind: "ClusterType", name: nearest.clusterType }] : []));
}

/** The change of a label that makes a clause hold: region=west-us, region in (a, b), a label x, no label x. */
function labelFor(clause: string): Pick<Edit, "operation" | "key" | "value"> | undefined {
  const match = (pattern: RegExp) => pattern.exec(clause);
  const removed = match(/^no label (\S+)$/) ?? match(/^(\S+) not in \(.*\)$/);
  if (removed) return { operation: "removeLabel", key: removed[1] };
  const there = match(/^a label (\S+)$/);
  if (there) return { operation: "setLabel", key: there[1], value: "true" };
  const set = match(/^(\S+) in \(([^,)]+).*\)$/) ?? match(/^([^=\s]+)=(\S+)$/);
  if (set?.[2] === undefined) return undefined;
  return { operation: "setLabel", key: set[1], value: set[2] === '""' ? "" : set[2] };
}
