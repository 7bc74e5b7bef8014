import type { Change } from "../api/types";
import { parseTime } from "../words/time";

/** The stages of a change in their order, and what pages call them. */
export const stageTitles = {
  pushed: "Pushed",
  planned: "Planned",
  opened: "Opened",
  approved: "Approved",
  merged: "Merged",
  firstApplied: "First applied",
  applied: "Applied on all",
} as const;
export type StageName = keyof typeof stageTitles;

/** Those of a line of the list. */
export const shortStages: StageName[] = ["pushed", "planned", "opened", "merged", "applied"];

/** A stage of a change. */
export interface Stage {
  name: StageName;
  /**
   * done: it has a time. unknown: a later one has, and nobody says when this was, or whether.
   * current: the change is on its way to it. later: it is on its way to an earlier one. never: it will not come to it.
   */
  state: "done" | "unknown" | "current" | "later" | "never";
  at?: Date;
  /** Since the stage before it whose time is known, in ms; of the current one until now. */
  took?: number;
}

/** The stages of a change that is seen at a moment. Not every repository asks for a review: without one there is no such stage. */
export function stagesOf(change: Pick<Change, "state" | "stages">, all: StageName[], now: Date): Stage[] {
  const names = all.filter((name) => name !== "approved" || change.stages.approved);
  const times = names.map((name) => parseTime(change.stages[name]));
  const last = times.findLastIndex((time) => time !== undefined);
  const ended = ["closed", "none", "applied"].includes(change.state);
  let before: Date | undefined;
  return names.map((name, index): Stage => {
    const at = times[index];
    const took = before && Math.max(0, (at ?? now).getTime() - before.getTime());
    if (at) {
      before = at;
      return { name, state: "done", at, took };
    }
    if (index < last) return { name, state: "unknown" };
    if (ended) return { name, state: "never" };
    return index === last + 1 ? { name, state: "current", took } : { name, state: "later" };
  });
}

/** From the first stage to the last that is known, in ms; undefined where fewer than two are. */
export function tookInAll(stages: Stage[]): number | undefined {
  const times = stages.flatMap((stage) => (stage.at ? [stage.at.getTime()] : []));
  return times.length > 1 ? Math.max(...times) - Math.min(...times) : undefined;
}
