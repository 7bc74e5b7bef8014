import { describe, expect, test } from "vitest";
import type { Explanation } from "../api/types";
import type { DriftGroup, Subscription } from "../api/types";
import { headline, inSection, sections } from "./drift";
import { ladderOf } from "./ladder";
import { positionOf } from "./position";
import { counted, stateOf, states } from "./states";
import { changeStateOf } from "./change";
import { bytes, percent, plain } from "./text";
import { ageText, clockText, durationText, fieldOfTime, parseTime, timeOfField, zonedText } from "./time";
import { treeOf } from "./tree";
import { verdict } from "./verdict";

test("a state that nobody knows is unknown", () => {
  expect(stateOf("ok")).toBe("ok");
  expect(stateOf("wonderful")).toBe("unknown");
  expect(counted({ wonderful: 2, unknown: 1, ok: 0, failing: 3 })).toEqual([
    ["failing", 3],
    ["unknown", 3],
  ]);
});

describe("texts of clusters", () => {
  const cases: [string, string, string][] = [
    ["markup stays text", "<script>alert(1)</script>", "<script>alert(1)</script>"],
    ["colours of a terminal", "\u001b[31mred\u001b[0m", "red"],
    ["control characters", "a\u0000b\u0007c\u009bd", "abcd"],
    ["lines stay", "a\n\tb", "a\n\tb"],
    ["direction", "abc\u202ecba", "abccba"],
  ];
  test.each(cases)("%s", (_, text, want) => expect(plain(text)).toBe(want));
  test("a long one is cut", () => {
    expect(plain("x".repeat(5000))).toHaveLength(4097);
  });
  test("none is empty", () => expect(plain(undefined)).toBe(""));
});

test("times", () => {
  const now = new Date("2026-03-04T12:00:00Z");
  expect(parseTime("0001-01-01T00:00:00Z")).toBeUndefined();
  expect(parseTime("")).toBeUndefined();
  expect(parseTime("never")).toBeUndefined();
  const ages: [number, string][] = [[0, "0s"], [119, "119s"], [120, "2m"], [10_800, "3h"], [12_000, "3h20m"], [172_800, "2d"]];
  for (const [seconds, want] of ages) expect(ageText(new Date(now.getTime() - seconds * 1000), now)).toBe(want);
  expect(ageText(new Date(now.getTime() + 5000), now)).toBe("0s");
  expect(clockText(now, now)).toMatch(/^\d\d:\d\d:\d\d$/);
  expect(clockText(new Date("2026-02-01T12:00:00Z"), now)).toMatch(/^2026-02-01 \d\d:\d\d:\d\d$/);
});

test("bytes", () => {
  expect([0, 999, 1000, 123_456_789].map(bytes)).toEqual(["0 B", "999 B", "1.0 kB", "123 MB"]);
});

test("a share is never rounded to all, nor to nothing", () => {
  expect([1, 0.999, 0.5, 0.001, 0].map(percent)).toEqual(["100 %", ">99 %", "50 %", "<1 %", "0 %"]);
});

test("how long something took", () => {
  const all: [number, string][] = [[0, "<1s"], [45_999, "45s"], [120_000, "2m"], [125_000, "2m5s"], [12_000_000, "3h20m"], [439_200_000, "5d2h"], [3_605_000, "1h"]];
  for (const [ms, want] of all) expect(durationText(ms)).toBe(want);
});

test("a field for date and time is of the browser's zone", () => {
  const time = new Date(2026, 2, 4, 7, 5);
  expect(fieldOfTime(time)).toBe("2026-03-04T07:05");
  expect(timeOfField("2026-03-04T07:05")).toBe(time.toISOString());
  expect([timeOfField(""), timeOfField("yesterday"), fieldOfTime(undefined)]).toEqual(["", "", ""]);
});

const group = (state: string, n: number) => ({ state, n }) as DriftGroup;

describe("the headline of drift", () => {
  test("nothing is never all: clusters that are silent are named", () => {
    expect(headline([], 1000, 2)).toBe("Nothing is wrong on 998 of 1,000 clusters. 2 clusters have not been heard of.");
    expect(headline([group("unknown", 40)], 2, 1)).toBe("Nothing is wrong on 1 of 2 clusters. 1 cluster has not been heard of.");
    expect(headline([], 0, 0)).toMatch(/no cluster/);
  });
  test("what is wrong is counted by placement and by reason", () => {
    expect(headline([group("failing", 3), group("late", 1), group("unknown", 7)], 5, 0)).toBe("4 placements are not as git says, for 2 reasons.");
  });
  test("a section has its states, the largest group first", () => {
    expect(inSection([group("extra", 1), group("missing", 2), group("late", 9)], ["missing", "extra"])).toEqual([group("missing", 2), group("extra", 1)]);
    expect(sections.flatMap((section) => section.states).sort()).toEqual(states.filter((state) => state !== "ok" && state !== "rolling").sort());
  });
});

test("a ladder has environments in their order and the newest version first", () => {
  const ladder = ladderOf({ prod: { versions: { "1.9.0": 3 } }, dev: { versions: { "1.10.0": 2, "1.9.0": 1 } }, other: {} }, ["dev", "stage", "prod"]);
  expect(ladder).toEqual({ environments: ["dev", "prod", "other"], versions: [{ version: "1.10.0", n: [2, 0, 0] }, { version: "1.9.0", n: [1, 3, 0] }] });
});

test("subscriptions are a tree, and each is in it once", () => {
  const one = (name: string, parent?: string) => ({ kind: "Kustomization", namespace: "flux-system", name, state: "Compliant", parent: parent ? { namespace: "flux-system", name: parent } : undefined }) as Subscription;
  const lines = treeOf([one("child", "root"), one("root"), one("grandchild", "child"), one("a", "b"), one("b", "a"), one("orphan", "gone")]);
  expect(lines.map(({ depth, one: { name } }) => `${depth} ${name}`)).toEqual(["0 root", "1 child", "2 grandchild", "0 orphan", "0 a", "1 b"]);
});

describe("the verdict", () => {
  const found = (change: Partial<Explanation>) =>
    ({ clusterTypes: 3, target: { name: "hello-test" }, assigned: [], policies: [], ...change }) as unknown as Explanation;
  const large = { name: "large", labels: {}, place: {} };
  const policy = (selectsTarget: boolean) => ({ name: "p", selectsTarget, clauses: [], clusterTypes: [], place: {} });
  test("assigned", () => {
    expect(verdict(found({ clusterType: large, assigned: [{ clusterType: "large", policies: ["p", "q"] }] }))).toBe("hello-test is on large, because of p, q.");
    expect(verdict(found({ assigned: [{ clusterType: "large", policies: ["p"] }] }))).toBe("hello-test is assigned to 1 of 3 cluster types.");
  });
  test("not assigned", () => {
    expect(verdict(found({ clusterType: large, policies: [policy(false)] }))).toBe("hello-test is not on large: no policy selects the target.");
    expect(verdict(found({ clusterType: large, policies: [policy(true)] }))).toMatch(/^hello-test is not on large: no policy that selects the target/);
    expect(verdict(found({}))).toBe("hello-test is assigned to none of 3 cluster types: the environment has no scheduling policy.");
  });
});

test("a change's state that this page does not know is no good news", () => {
  expect(changeStateOf("applied")).toBe("applied");
  for (const name of ["", "perfect", "constructor"]) expect(changeStateOf(name)).toBe("none");
});

test("a time with its zone", () => {
  const at = new Date("2026-03-04T12:00:07Z");
  // the same clock elsewhere is another time
  expect(zonedText(at)).toMatch(/^2026-03-0[345] \d\d:\d\d:07 \S+$/);
});

test("a position", () => {
  expect(positionOf("configs/dev.yaml:12")).toEqual({ file: "configs/dev.yaml", line: 12 });
  expect(positionOf("c:d.yaml:3")).toEqual({ file: "c:d.yaml", line: 3 });
  expect(positionOf("dev.yaml")).toEqual({ file: "dev.yaml" });
});
