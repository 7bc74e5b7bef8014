import { describe, expect, test } from "vitest";
import type { Environment } from "../api/types";
import { changeStateOf, isCommit, noChange } from "../words/change";
import { shortStages, type StageName, stagesOf, stageTitles, tookInAll } from "./stages";

const now = new Date("2026-03-04T12:10:00Z");
const at = (time: string) => `2026-03-04T12:${time}Z`;
const all = Object.keys(stageTitles) as StageName[];
const states = (change: Parameters<typeof stagesOf>[0], names = shortStages) => stagesOf(change, names, now).map((stage) => `${stage.name} ${stage.state}`);

describe("the stages of a change", () => {
  const whole = { pushed: at("00:00"), planned: at("00:04"), opened: at("00:05"), merged: at("02:05"), firstApplied: at("02:15"), applied: at("02:45") };
  test("are in their order, each with what it took since the one before", () => {
    const stages = stagesOf({ state: "applied", stages: whole }, all, now);
    expect(stages.map((stage) => stage.name)).toEqual(["pushed", "planned", "opened", "merged", "firstApplied", "applied"]);
    expect(stages.map((stage) => stage.took)).toEqual([undefined, 4000, 1000, 120_000, 10_000, 30_000]);
    expect(tookInAll(stages)).toBe(165_000);
  });
  test("a review is one where there was one", () => {
    const stages = stagesOf({ state: "applied", stages: { ...whole, approved: at("01:05") } }, all, now);
    expect(stages.map((stage) => stage.name)).toEqual(["pushed", "planned", "opened", "approved", "merged", "firstApplied", "applied"]);
    expect(stages[3]?.took).toBe(60_000);
  });
  test("one that is open waits to be merged, until now", () => {
    const open: Parameters<typeof stagesOf>[0] = { state: "open", stages: { pushed: at("00:00"), planned: at("00:04"), opened: at("00:05") } };
    expect(states(open)).toEqual(["pushed done", "planned done", "opened done", "merged current", "applied later"]);
    expect(stagesOf(open, shortStages, now)[3]?.took).toBe(595_000);
  });
  test("one that is merged is on its way to all clusters", () => {
    const { applied: _, ...rolling } = whole;
    expect(states({ state: "rolling", stages: rolling })).toEqual(["pushed done", "planned done", "opened done", "merged done", "applied current"]);
    expect(stagesOf({ state: "rolling", stages: rolling }, all, now).at(-1)).toMatchObject({ state: "current", took: 465_000 });
  });
  test("of a commit without a pull request nobody says when it was opened", () => {
    expect(states({ state: "applied", stages: { merged: at("02:05"), applied: at("02:45") } })).toEqual(["pushed unknown", "planned unknown", "opened unknown", "merged done", "applied done"]);
    expect(tookInAll(stagesOf({ state: "rolling", stages: { merged: at("02:05") } }, all, now))).toBeUndefined();
  });
  test("one that was closed, or that nobody follows, goes no further", () => {
    expect(states({ state: "closed", stages: { opened: at("00:05") } }).slice(2)).toEqual(["opened done", "merged never", "applied never"]);
    expect(states({ state: "none", stages: { merged: at("00:05") } }).slice(3)).toEqual(["merged done", "applied never"]);
  });
  test("clocks that differ make no time negative", () => {
    expect(stagesOf({ state: "open", stages: { pushed: at("00:09"), planned: at("00:04") } }, shortStages, now)[1]?.took).toBe(0);
  });
});

test("a state that nobody knows is not applied", () => {
  expect(changeStateOf("applied")).toBe("applied");
  expect(changeStateOf("splendid")).toBe("none");
});

test("what may be a commit", () => {
  expect(["0123abc", "ABCDEF0123", "012345", "0123abg", ""].map(isCommit)).toEqual([true, true, false, false, false]);
});

describe("why no change is found", () => {
  const environment = (change: Partial<Environment>) => ({ name: "dev", commit: "0123456789abcdef", plan: "synced", error: "", ...change }) as Environment;
  const cases: [string, string, Environment[], RegExp][] = [
    ["nothing is searched for", "", [], /seen yet/],
    ["a text", "label", [environment({})], /^No change has label in/],
    ["the commit was planned, and changes nothing", "0123456", [environment({})], /planned 0123456 for dev, and nothing changes/],
    ["it is not planned yet", "0123456", [environment({ plan: "planning" })], /has not planned 0123456 for dev so far/],
    ["it cannot be planned", "0123456", [environment({ plan: "error", error: "no such policy" })], /not planned: no such policy/],
    ["a commit of nowhere", "fedcba9", [environment({})], /^No change has commit fedcba9\.$/],
  ];
  test.each(cases)("%s", (_, q, environments, want) => expect(noChange(q, environments)).toMatch(want));
});
