import type { DriftGroup } from "../api/types";
import { count } from "./text";
import { type State, stateOf } from "./states";

/** A part of the drift page: its title, and the states that belong to it. */
export const sections: { title: string; states: State[] }[] = [
  { title: "Failing", states: ["failing"] },
  { title: "Missing or extra", states: ["missing", "extra"] },
  { title: "Edited", states: ["edited"] },
  { title: "Late", states: ["late"] },
  { title: "Unknown", states: ["unknown"] },
  { title: "Suspended", states: ["suspended"] },
];

/** The groups of a section, those of most placements first. */
export function inSection(groups: DriftGroup[], states: State[]): DriftGroup[] {
  return groups.filter((group) => states.includes(stateOf(group.state))).sort((a, b) => b.n - a.n);
}

/** What is wrong in one sentence. It never says more than is known: clusters that have not answered are named. */
export function headline(groups: DriftGroup[], clusters: number, unknown: number): string {
  const drifted = groups.filter((group) => !["unknown", "suspended"].includes(group.state));
  const n = drifted.reduce((sum, group) => sum + group.n, 0);
  const heard = clusters - unknown;
  const silent = unknown > 0 ? ` ${count(unknown, "cluster")} ${unknown === 1 ? "has" : "have"} not been heard of.` : "";
  if (clusters === 0) return "The hub knows no cluster yet, so nothing can be said.";
  if (n === 0) return `Nothing is wrong on ${heard.toLocaleString("en")} of ${count(clusters, "cluster")}.${silent}`;
  return `${count(n, "placement")} ${n === 1 ? "is" : "are"} not as git says, for ${count(drifted.length, "reason")}.${silent}`;
}
