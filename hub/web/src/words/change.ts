import type { Environment } from "../api/types";

/** The states of a change, and what each means. */
export const changeStates = {
  open: "its pull request is not merged yet",
  held: "its pull request removes much, and waits for a user to release it",
  closed: "its pull request was closed, and nothing of it came to a cluster",
  rolling: "it is merged, and on its way to the clusters",
  failing: "a cluster cannot apply it, or is not healthy with it",
  applied: "all clusters that follow the branch have applied it",
  none: "no cluster follows the branch",
} as const;
export type ChangeState = keyof typeof changeStates;

/** A change's state by its name. One that this page does not know is no good news. */
export function changeStateOf(name: string): ChangeState {
  return Object.hasOwn(changeStates, name) ? (name as ChangeState) : "none";
}

/** The word for a state. */
export function changeWord(state: ChangeState): string {
  return state === "none" ? "not followed" : state;
}

export const changeKinds = ["platform", "application", "promotion"] as const;

/** What a text may be: a commit, of which seven digits are enough. */
export function isCommit(text: string): boolean {
  return /^[0-9a-f]{7,64}$/i.test(text);
}

/** Why no change has what was searched for. Of a control plane's head the environment says why. */
export function noChange(q: string, environments: Environment[]): string {
  if (!q) return "No change has been seen yet.";
  if (!isCommit(q)) return `No change has ${q} in its title or author.`;
  const headOf = environments.find((one) => one.commit.toLowerCase().startsWith(q.toLowerCase()));
  if (headOf?.error) return `${q} is the head of ${headOf.name}, which is not planned: ${headOf.error}`;
  if (headOf?.plan === "synced") return `No pull request: the scheduler planned ${q} for ${headOf.name}, and nothing changes.`;
  if (headOf) return `No pull request yet: the scheduler has not planned ${q} for ${headOf.name} so far.`;
  return `No change has commit ${q}.`;
}
