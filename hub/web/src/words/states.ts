/** The states of a placement, worst first, as the scheduler has them. */
export const states = ["failing", "missing", "extra", "edited", "late", "suspended", "unknown", "rolling", "ok"] as const;
export type State = (typeof states)[number];

/** What each state means, for titles and the legend. */
export const meanings: Record<State, string> = {
  failing: "the cluster cannot apply it, or it is not healthy",
  missing: "the cluster has the commit, and the object is not there",
  extra: "it is there, and nothing in git asks for it",
  edited: "it differs from the commit that it has",
  late: "rolling for longer than it should",
  suspended: "it is set to not follow its branch",
  unknown: "the cluster cannot be asked, or its commit is none of the branch",
  rolling: "the commit is not there yet, or not healthy yet",
  ok: "it has the commit or a later one, and is healthy",
};

/** A state by its name. A name that this page does not know is unknown, and so never green. */
export function stateOf(name: string): State {
  return (states as readonly string[]).includes(name) ? (name as State) : "unknown";
}

/** The worse of two states. */
export function worse(a: State, b: State): State {
  return states.indexOf(a) <= states.indexOf(b) ? a : b;
}

/** Counts by state in the order worst first, without those that are 0. */
export function counted(counts: Record<string, number> | undefined): [State, number][] {
  const all = new Map<State, number>();
  for (const [name, n] of Object.entries(counts ?? {})) all.set(stateOf(name), (all.get(stateOf(name)) ?? 0) + n);
  return states.flatMap((state): [State, number][] => ((all.get(state) ?? 0) > 0 ? [[state, all.get(state) ?? 0]] : []));
}
