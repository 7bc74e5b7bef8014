import { describe, expect, test } from "vitest";
import type { ComparisonRow } from "../api/types";
import { oneSided, sidesOf, versionsText, wanted } from "./rows";

type Half = NonNullable<ComparisonRow["left"]>;
const half = (change: Partial<Half>): Half => ({ versions: [], desiredVersion: "", clusterTypes: [], policies: [], policyPositions: [], ...change });
const version = (name: string, n: number, share: number) => ({ version: name, n, share });

describe("the versions of a side", () => {
  const cases: [string, Half | undefined, string][] = [
    ["one", half({ versions: [version("1.4.2", 120, 1)] }), "1.4.2"],
    ["two, that of most first", half({ versions: [version("1.4.1", 12, 0.1), version("1.4.2", 108, 0.9)] }), "1.4.2 90 %, 1.4.1 10 %"],
    ["of no descriptor", half({ versions: [version("", 1, 1)] }), "no version"],
    ["on no cluster", half({}), "runs nowhere"],
    ["not there", undefined, "not there"],
  ];
  test.each(cases)("%s", (_, side, want) => expect(versionsText(side)).toBe(want));
  test("what git asks for is said only where something else runs", () => {
    expect(wanted(half({ versions: [version("2", 1, 1)], desiredVersion: "2" }))).toBe("");
    expect(wanted(half({ versions: [version("1", 1, 1)], desiredVersion: "2" }))).toBe("2");
    expect(wanted(half({ versions: [version("1", 1, 0.5), version("2", 1, 0.5)], desiredVersion: "2" }))).toBe("2");
    expect(wanted(half({ desiredVersion: "2" }))).toBe("2");
    expect(wanted(half({ versions: [version("1", 1, 0.5), version("2", 1, 0.5)], desiredVersion: "1, 2" }))).toBe("");
    expect([wanted(half({ versions: [version("1", 1, 1)] })), wanted(undefined)]).toEqual(["", ""]);
  });
});

describe("what is on one side only", () => {
  test("cluster types and policies", () => {
    const left = half({ clusterTypes: ["large", "small"], policies: ["p"] });
    const right = half({ clusterTypes: ["small", "drone"], policies: ["p"] });
    expect(oneSided({ left, right })).toEqual([
      { what: "cluster type", side: "left", names: ["large"] },
      { what: "cluster type", side: "right", names: ["drone"] },
    ]);
  });
  test("policies only where both are known", () => {
    const side = (...policies: string[]) => half({ clusterTypes: ["large"], policies });
    expect(oneSided({ left: side("p", "q"), right: side("p") })).toEqual([{ what: "policy", side: "left", names: ["q"] }]);
    expect(oneSided({ left: side("p", "q"), right: side() })).toEqual([]);
  });
  test("a target that is on one side only says so by itself", () => {
    expect(oneSided({ left: half({ clusterTypes: ["large"] }) })).toEqual([]);
  });
});

test("an environment is compared with the one that follows it", () => {
  const chain = ["dev", "stage", "prod"];
  expect(sidesOf("", "", chain)).toEqual(["dev", "stage"]);
  expect(sidesOf("stage", "", chain)).toEqual(["stage", "prod"]);
  expect(sidesOf("prod", "", chain)).toEqual(["prod", "dev"]);
  expect(sidesOf("", "dev", chain)).toEqual(["stage", "dev"]);
  expect(sidesOf("", "", ["dev"])).toEqual(["dev", "dev"]);
  expect(sidesOf("", "", [])).toEqual(["", ""]);
});
