import { describe, expect, test } from "vitest";
import type { Matrix } from "../api/types";
import { linesOf, moved, onlyDiffering, shortName, whole } from "./matrix";

const states = ["failing", "missing", "extra", "edited", "late", "suspended", "unknown", "rolling", "ok"];
const col = (name: string, workload = "hello") => ({ name, workload, workspace: "team" });
const row = (name: string, clusters = 2) => ({ name, clusterType: name, clusters });
const page = (change: Partial<Matrix>): Matrix => ({ rows: [], cols: [], versions: [], cells: [], states, ...change }) as Matrix;

describe("the pages of a matrix", () => {
  test("each has indexes of its own", () => {
    const all = whole([
      page({ rows: [row("large")], cols: [col("b"), col("a")], versions: ["1"], cells: [[0, 0, 0, 8, 2], [0, 1, 0, 0, 1]] }),
      page({ rows: [row("small")], cols: [col("z", "app"), col("a")], versions: ["2"], cells: [[0, 1, 0, 7, 1], [0, 1, 0, 8, 1]] }),
    ]);
    expect(all.cols.map((one) => one.name)).toEqual(["z", "a", "b"]);
    expect(all.rows.map((one) => Object.fromEntries(one.cells))).toEqual([
      { b: [{ version: "1", state: "ok", n: 2 }], a: [{ version: "1", state: "failing", n: 1 }] },
      { a: [{ version: "2", state: "rolling", n: 1 }, { version: "2", state: "ok", n: 1 }] },
    ]);
  });
  test("a cell of no row, or in a state of no name, is never ok", () => {
    const all = whole([page({ rows: [row("large")], cols: [col("a")], versions: [], cells: [[5, 0, 0, 8, 1], [0, 0, 0, 42, 1]] })]);
    expect(Object.fromEntries(all.rows[0]?.cells ?? [])).toEqual({ a: [{ version: "", state: "unknown", n: 1 }] });
  });
});

test("only what differs", () => {
  const all = whole([
    page({
      rows: [row("large"), row("small"), row("drone")],
      cols: [col("same"), col("odd")],
      versions: ["1", "2"],
      cells: [[0, 0, 0, 8, 2], [1, 0, 0, 8, 2], [0, 1, 0, 8, 2], [1, 1, 1, 8, 2], [2, 1, 0, 8, 2]],
    }),
  ]);
  const some = onlyDiffering(all);
  expect(some.cols.map((one) => one.name)).toEqual(["odd"]);
  expect(some.rows.map((one) => one.name)).toEqual(["small"]);
});

test("a target's name without its workload's", () => {
  expect([col("hello-test"), col("hello"), col("hello-"), col("other-test")].map(shortName)).toEqual(["test", "hello", "hello-", "other-test"]);
});

test("the lines of the grid", () => {
  const all = whole([page({ rows: [row("large"), row("small")], cols: [] })]);
  const cluster = { ...row("c1"), clusterType: "large", cells: new Map() };
  const lines = linesOf(all.rows, new Map([["large", { rows: [cluster], state: "more" as const }]]), "more");
  expect(lines.map((line) => (line.kind === "more" ? `more of ${line.clusterType || "all"}` : `${line.kind} ${line.row.name}`))).toEqual([
    "type large",
    "cluster c1",
    "more of large",
    "type small",
    "more of all",
  ]);
});

describe("keys", () => {
  const at = { line: 1, col: 1 };
  const cases: [string, boolean, { line: number; col: number } | undefined][] = [
    ["ArrowUp", false, { line: 0, col: 1 }],
    ["ArrowDown", false, { line: 2, col: 1 }],
    ["ArrowLeft", false, { line: 1, col: 0 }],
    ["ArrowRight", false, { line: 1, col: 2 }],
    ["PageDown", false, { line: 9, col: 1 }],
    ["PageUp", false, { line: 0, col: 1 }],
    ["Home", false, { line: 1, col: 0 }],
    ["End", false, { line: 1, col: 4 }],
    ["Home", true, { line: 0, col: 0 }],
    ["End", true, { line: 9, col: 4 }],
    ["a", false, undefined],
  ];
  test.each(cases)("%s, control %s", (key, ctrl, want) => expect(moved(at, key, ctrl, 10, 4, 20)).toEqual(want));
  test("they end at the edges", () => {
    expect(moved({ line: 0, col: 0 }, "ArrowUp", false, 0, 0, 20)).toEqual({ line: 0, col: 0 });
    expect(moved({ line: 9, col: 4 }, "ArrowRight", false, 10, 4, 20)).toEqual({ line: 9, col: 4 });
  });
});
