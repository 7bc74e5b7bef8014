import type { Explanation } from "../api/types";
import { count } from "./text";

/** The answer to "why is this here, why not" in one sentence. */
export function verdict(found: Explanation): string {
  const { target, clusterType, assigned, pair } = found;
  const twins = (found.target.twins ?? []).length > 0 ? " Other targets have its name, so none of them gets anything." : "";
  if (clusterType) {
    const here = assigned.find((one) => one.clusterType === clusterType.name);
    if (here && pair?.assigned !== false) return `${target.name} is on ${clusterType.name}, because of ${here.policies.join(", ")}.`;
    return `${target.name} is not on ${clusterType.name}: ${reason(found)}.${twins}`;
  }
  if (assigned.length === 0) return `${target.name} is assigned to none of ${count(found.clusterTypes, "cluster type")}: ${reason(found)}.${twins}`;
  return `${target.name} is assigned to ${assigned.length} of ${count(found.clusterTypes, "cluster type")}.`;
}

function reason(found: Explanation): string {
  if (found.policies.length === 0) return "the environment has no scheduling policy";
  if (!found.policies.some((policy) => policy.selectsTarget)) return "no policy selects the target";
  return "no policy that selects the target selects the cluster type";
}
