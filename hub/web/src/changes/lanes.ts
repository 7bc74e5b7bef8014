import type { ChangeCluster, ChangeDetail, ChangeLane } from "../api/types";
import { durationText, parseTime } from "../words/time";

/** The time that the lanes of a change have in common, in ms. */
export interface Span {
  from: number;
  to: number;
}

/** What happens in a part of a lane. */
export interface Bar {
  /** waits: until the first event. works: until the last. */
  kind: "waits" | "works";
  /** From 0 to 1 of the span. */
  from: number;
  to: number;
  /** It goes on. */
  open: boolean;
}

/** From the merge until the last cluster has applied it, or until now; undefined for what is not merged. */
export function spanOf(change: Pick<ChangeDetail, "stages" | "lanes" | "state">, now: Date): Span | undefined {
  const from = parseTime(change.stages.merged)?.getTime();
  if (from === undefined) return undefined;
  const ends = [change.stages.applied, change.stages.firstApplied, ...change.lanes.flatMap((lane) => [lane.firstApplied, lane.applied])].map((time) => parseTime(time)?.getTime() ?? 0);
  const goesOn = change.lanes.some((lane) => lane.reached < lane.total);
  return { from, to: Math.max(from + 1000, ...ends, goesOn ? now.getTime() : 0) };
}

/** A lane: nothing has it yet, then some clusters, then all. */
export function barsOfLane(lane: ChangeLane, span: Span): Bar[] {
  return bars(lane.firstApplied, lane.reached >= lane.total ? lane.applied : undefined, span);
}

/** A cluster: it has not fetched it yet, then it applies it. */
export function barsOfCluster(cluster: ChangeCluster, span: Span): Bar[] {
  return bars(cluster.fetched ?? cluster.applied, cluster.applied, span);
}

function bars(begin: string | undefined, end: string | undefined, span: Span): Bar[] {
  const at = (time: string | undefined) => {
    const known = parseTime(time)?.getTime();
    return known === undefined ? undefined : Math.min(1, Math.max(0, (known - span.from) / (span.to - span.from)));
  };
  const first = at(begin);
  const last = at(end);
  if (first === undefined) return [{ kind: "waits", from: 0, to: 1, open: true }];
  return [
    { kind: "waits", from: 0, to: first, open: false },
    { kind: "works", from: first, to: Math.max(first, last ?? 1), open: last === undefined },
  ];
}

/** How long after the merge, "" where it is not known. */
export function after(time: string | undefined, span: Span): string {
  const at = parseTime(time)?.getTime();
  return at === undefined ? "" : durationText(Math.max(0, at - span.from));
}

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [1, 2, 5, 10, 15, 30].flatMap((n) => [n * second, n * minute]).concat([1, 2, 3, 6, 12].map((n) => n * hour), [1, 2, 7, 30, 90].map((n) => n * day)).sort((a, b) => a - b);

/** How many marks an axis has at most, besides the one at 0. */
const most = 5;

/** The marks of a span's axis, at round times after its beginning. */
export function ticksOf(span: Span): { at: number; text: string }[] {
  const length = span.to - span.from;
  const step = steps.find((one) => length / one <= most) ?? length;
  const ticks = [{ at: 0, text: "merged" }];
  for (let time = step; time <= length; time += step) ticks.push({ at: time / length, text: durationText(time) });
  return ticks;
}
