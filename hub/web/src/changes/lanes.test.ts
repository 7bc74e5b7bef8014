import { describe, expect, test } from "vitest";
import type { ChangeCluster, ChangeLane } from "../api/types";
import { after, barsOfCluster, barsOfLane, spanOf, ticksOf } from "./lanes";

const at = (time: string) => `2026-03-04T12:${time}Z`;
const ms = (time: string) => new Date(at(time)).getTime();
const now = new Date(at("10:00"));
const lane = (change: Partial<ChangeLane>): ChangeLane => ({ clusterType: "large", total: 10, reached: 10, failing: 0, ...change });

describe("the time that lanes have in common", () => {
  const lanes = [lane({ firstApplied: at("00:10"), applied: at("01:40") }), lane({ firstApplied: at("00:20"), applied: at("00:30") })];
  test("goes to the last cluster, or to now", () => {
    expect(spanOf({ state: "applied", stages: { merged: at("00:00") }, lanes }, now)).toEqual({ from: ms("00:00"), to: ms("01:40") });
    expect(spanOf({ state: "rolling", stages: { merged: at("00:00") }, lanes: [...lanes, lane({ reached: 9 })] }, now)).toEqual({ from: ms("00:00"), to: ms("10:00") });
  });
  test("is not known before the merge, and never nothing", () => {
    expect(spanOf({ state: "open", stages: {}, lanes: [] }, now)).toBeUndefined();
    expect(spanOf({ state: "none", stages: { merged: at("00:00") }, lanes: [] }, now)).toEqual({ from: ms("00:00"), to: ms("00:01") });
  });
});

describe("bars", () => {
  const span = { from: ms("00:00"), to: ms("01:40") };
  test("of a type that has it everywhere", () => {
    expect(barsOfLane(lane({ firstApplied: at("00:10"), applied: at("01:40") }), span)).toEqual([
      { kind: "waits", from: 0, to: 0.1, open: false },
      { kind: "works", from: 0.1, to: 1, open: false },
    ]);
  });
  test("of a type that has it on some go on", () => {
    expect(barsOfLane(lane({ reached: 3, firstApplied: at("00:10"), applied: at("00:50") }), span).at(-1)).toEqual({ kind: "works", from: 0.1, to: 1, open: true });
    expect(barsOfLane(lane({ reached: 0 }), span)).toEqual([{ kind: "waits", from: 0, to: 1, open: true }]);
  });
  test("of clusters", () => {
    const cluster = (change: Partial<ChangeCluster>): ChangeCluster => ({ cluster: "c", clusterType: "large", subscription: "s", state: "applied", reason: "", ...change });
    expect(barsOfCluster(cluster({ fetched: at("00:10"), applied: at("00:20") }), span).map((bar) => bar.to)).toEqual([0.1, 0.2]);
    // who was not seen fetching has fetched all the same
    expect(barsOfCluster(cluster({ applied: at("00:20") }), span).map((bar) => [bar.from, bar.to])).toEqual([[0, 0.2], [0.2, 0.2]]);
    // a cluster whose clock is slow
    expect(barsOfCluster(cluster({ fetched: "2026-03-04T11:00:00Z" }), span)).toEqual([
      { kind: "waits", from: 0, to: 0, open: false },
      { kind: "works", from: 0, to: 1, open: true },
    ]);
  });
});

test("how long after the merge", () => {
  const span = { from: ms("00:00"), to: ms("01:40") };
  expect([after(at("00:42"), span), after(undefined, span)]).toEqual(["42s", ""]);
});

test("an axis has few marks, at round times", () => {
  const texts = (length: number) => ticksOf({ from: 0, to: length }).map((tick) => tick.text);
  expect(texts(1000)).toEqual(["merged", "1s"]);
  expect(texts(47_000)).toEqual(["merged", "10s", "20s", "30s", "40s"]);
  expect(texts(3 * 3600_000)).toEqual(["merged", "1h", "2h", "3h"]);
  expect(texts(1000 * 86_400_000)).toHaveLength(2);
  expect(ticksOf({ from: 0, to: 40_000 }).map((tick) => tick.at)).toEqual([0, 0.25, 0.5, 0.75, 1]);
});
