import { describe, expect, test } from "vitest";
import { Problem } from "../api/client";
import { editsIn, whatIfPath, withEdits } from "./address";
import type { Edit } from "../api/types";
import { diffLines } from "./plan/diff";
import { nearestEdits } from "./nearest";
import { titleOf } from "./propose-dialog";
import { refusedEdits } from "./queries";
import { type EditList, editList } from "./edit-list";

const label = (value: string, name = "drone", key = "edge"): Edit => ({ operation: "setLabel", kind: "ClusterType", name, key, value });
const gone: Edit = { operation: "removeLabel", kind: "ClusterType", name: "drone", key: "edge" };
const empty: EditList = { edits: [], past: [] };
const object = (edits: Edit[], name = "drone") => ({ type: "object", kind: "ClusterType", name, edits }) as const;

describe("the list of edits", () => {
  test("an object's edits are in the position of those before", () => {
    let now = editList(empty, object([label("a"), label("b", "drone", "size")]));
    now = editList(now, object([label("c", "large")], "large"));
    now = editList(now, object([gone]));
    expect(now.edits).toEqual([gone, label("c", "large")]);
  });
  test("undo brings back what was there before each", () => {
    let now = editList(empty, object([label("a")]));
    now = editList(now, { type: "remove", index: 0 });
    expect(now.edits).toEqual([]);
    now = editList(now, { type: "undo" });
    expect(now.edits).toEqual([label("a")]);
    now = editList(now, { type: "undo" });
    expect(now).toEqual(empty);
    expect(editList(now, { type: "undo" })).toEqual(empty);
  });
  test("the keys of one value are one step", () => {
    let now = empty;
    for (const value of ["w", "we", "wes", "west"]) now = editList(now, object([label(value)]));
    expect(now.edits).toEqual([label("west")]);
    now = editList(now, { type: "undo" });
    expect(now.edits).toEqual([]);
  });
  test("what changes nothing is no step", () => {
    const now = editList(empty, object([label("a")]));
    expect(editList(now, object([label("a")]))).toBe(now);
  });
});

describe("edits in the address", () => {
  test("what is written is read, whatever characters it has", () => {
    const edits: Edit[] = [label("a b&c=d#é"), gone, { operation: "putObject", kind: "ConfigMap", name: "x", content: "kind: ConfigMap\n# ü\n" }];
    const { search, whole } = withEdits(new URLSearchParams("env=dev&kind=ClusterType"), edits);
    expect(whole).toBe(true);
    expect(editsIn(new URLSearchParams(search.toString()))).toEqual({ edits, unknown: 0 });
    expect(search.get("env")).toBe("dev");
    expect(editsIn(new URL(whatIfPath("dev", { kind: "ClusterType", name: "drone" }, edits), "http://x").searchParams).edits).toEqual(edits);
  });
  test("edits that are no longer there go", () => {
    const { search } = withEdits(new URLSearchParams("env=dev"), [gone]);
    expect(withEdits(search, []).search.toString()).toBe("env=dev");
  });
  test("what is no edit is left out, and counted", () => {
    const search = new URLSearchParams();
    for (const text of ["{", "1", "null", "[]", '{"operation":"dropDatabase","kind":"x","name":"y"}', '{"operation":"setLabel","kind":"x","name":7}', '{"operation":"toString","kind":"x","name":"y"}', JSON.stringify(gone)]) search.append("edit", text);
    expect(editsIn(search)).toEqual({ edits: [gone], unknown: 7 });
  });
  test("too long an address has none of them", () => {
    const { search, whole } = withEdits(new URLSearchParams("env=dev"), [{ operation: "putObject", kind: "ConfigMap", name: "x", content: "x".repeat(10_000) }]);
    expect(whole).toBe(false);
    expect(search.toString()).toBe("env=dev");
  });
});

describe("a diff", () => {
  test("lines have their numbers on both sides, and the head goes", () => {
    const diff = "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -2,3 +2,3 @@\n kept\n---old\n+++new\n \n@@ -9 +9,2 @@\n last\n+more\n\\ No newline at end of file\n";
    expect(diffLines(diff)).toEqual([
      { kind: "hunk", text: "@@ -2,3 +2,3 @@" },
      { kind: "same", text: "kept", before: 2, after: 2 },
      { kind: "removed", text: "--old", before: 3 },
      { kind: "added", text: "++new", after: 3 },
      { kind: "same", text: "", before: 4, after: 4 },
      { kind: "hunk", text: "@@ -9 +9,2 @@" },
      { kind: "same", text: "last", before: 9, after: 9 },
      { kind: "added", text: "more", after: 10 },
      { kind: "note", text: "No newline at end of file" },
    ]);
  });
});

describe("the nearest miss", () => {
  const at = {} as never;
  const clause = (text: string, holds = false) => ({ text, holds, place: at });
  const miss = (fails: string[], target: [string, boolean][] = []) =>
    nearestEdits({
      nearest: { policy: "p", clusterType: "small", fails: fails.map((text) => clause(text)) },
      policies: [{ name: "p", place: at, selectsTarget: true, clauses: target.map(([text, holds]) => clause(text, holds)), clusterTypes: [] }],
    });
  test("labels that make it a hit", () => {
    const of = { kind: "ClusterType", name: "small" };
    expect(miss(["restricted=true", "region in (west-us, east-us)", "a label gpu", "no label edge", "size not in (small)"], [["purpose=x", true]])).toEqual([
      { ...of, operation: "setLabel", key: "restricted", value: "true" },
      { ...of, operation: "setLabel", key: "region", value: "west-us" },
      { ...of, operation: "setLabel", key: "gpu", value: "true" },
      { ...of, operation: "removeLabel", key: "edge" },
      { ...of, operation: "removeLabel", key: "size" },
    ]);
  });
  test("a target's label is not the platform's to change", () => {
    expect(miss(["purpose=x", "restricted=true"], [["purpose=x", false]])).toEqual([]);
  });
  test("a clause of another form has none", () => {
    expect(miss(["workspace kaizen"])).toEqual([]);
    expect(nearestEdits({ policies: [] })).toEqual([]);
  });
});

test("a refusal names its edits", () => {
  const problem = new Problem(422, "no", "", "", "", [
    { location: "body.edits[1]", message: "a.yaml:3: no" },
    { location: "body.title", message: "no" },
  ]);
  expect([...refusedEdits(problem)]).toEqual([[1, "a.yaml:3: no"]]);
  expect(refusedEdits(new Error("x")).size).toBe(0);
});

test("a title for those who write none", () => {
  expect(titleOf([gone], "dev")).toBe("ClusterType drone: label edge is removed");
  expect(titleOf([gone, label("x", "large")], "dev")).toBe("Change drone, large in dev");
});
