import type { ScenarioBlock, StepCheck } from "../api/types";

/** How many of a scenario's steps are done. */
export function doneOf(done: boolean[]): number {
  return done.filter(Boolean).length;
}

/** The step to go on with after one, from 0: the next that is not done, or the first of them. It is -1 when all are done. */
export function following(done: boolean[], after: number): number {
  const later = done.findIndex((is, step) => step > after && !is);
  return later >= 0 ? later : done.indexOf(false);
}

/** The scenario to open where none was chosen: the first that is begun or not, but not done; else the first. */
export function presentScenario<T extends { done: boolean[]; apart: boolean }>(all: T[]): T | undefined {
  return all.find((one) => !one.apart && one.done.includes(false)) ?? all[0];
}

/** Whether an item is so, by the line of the check that is not so yet. It is undefined where that is not known. */
export function isMet(block: Pick<ScenarioBlock, "line">, check: Pick<StepCheck, "state" | "unmet"> | undefined): boolean | undefined {
  if (!check || !block.line) return undefined;
  if (check.state === "done") return true;
  if (check.state !== "waiting" || !check.unmet) return undefined;
  return block.line < check.unmet ? true : block.line === check.unmet ? false : undefined;
}

/** What a check says in a word, and the shape that stands beside it: the state is never known by a colour alone. */
export const stateWords: Record<StepCheck["state"], { shape: string; text: string }> = {
  done: { shape: "✓", text: "It is so." },
  passed: { shape: "✓", text: "It has passed by: what comes after it is done already." },
  waiting: { shape: "…", text: "Not yet." },
  unknown: { shape: "?", text: "The check cannot be made now." },
  simulated: { shape: "~", text: "This cannot be checked here." },
};

/** Whether a browser on another machine than the hub's can open an address: what is on the hub's loopback it cannot. */
export function reachable(url: string, host: string): boolean {
  const local = (name: string) => name === "localhost" || name === "[::1]" || name.startsWith("127.");
  try {
    return local(host) || !local(new URL(url).hostname);
  } catch {
    return false;
  }
}
