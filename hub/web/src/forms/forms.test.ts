import { describe, expect, test } from "vitest";
import type { Edit } from "../api/types";
import { clausesOf, selectorOf } from "./clauses";
import { documentOf, edited, editsOf, type ModelDocument, same, withChanges, yamlOf } from "./document";
import { at, fieldsOf, type Schema, withAt } from "./fields";
import { configKeyProblem, labelProblem, labelsInUse, nameProblem, valuesOf } from "./labels";
import { problemsOf } from "./yaml-problems";

const drone = `# at the edge
apiVersion: scheduler.kalypso.io/v1alpha1
kind: ClusterType
metadata:
  name: drone
  labels:
    region: east-us # where it flies
    edge: "true"
spec:
  reconciler: arc-flux
  namespaceService: default
`;

const policy = `apiVersion: scheduler.kalypso.io/v1alpha1
kind: SchedulingPolicy
metadata:
  name: batch
spec:
  deploymentTargetSelector:
    workspace: platform
  clusterTypeSelector:
    labelSelector:
      matchLabels:
        size: large
`;

const read = (text: string) => documentOf(text) as ModelDocument;

/** What each change of a document is as edits: made, they are the document again. */
function roundTrip(before: ModelDocument | undefined, after: ModelDocument | undefined): Edit[] {
  const edits = editsOf(before, after);
  expect(same(edited(before, edits), after)).toBe(true);
  return edits;
}

describe("forms and edits", () => {
  test("labels have edits of their own", () => {
    const before = read(drone);
    const after = withAt(before, ["metadata", "labels"], { region: "west-us", size: "small" });
    expect(roundTrip(before, after)).toEqual([
      { operation: "setLabel", kind: "ClusterType", name: "drone", key: "region", value: "west-us" },
      { operation: "setLabel", kind: "ClusterType", name: "drone", key: "size", value: "small" },
      { operation: "removeLabel", kind: "ClusterType", name: "drone", key: "edge" },
    ]);
    expect(roundTrip(before, withAt(before, ["metadata", "labels"], {})).map((one) => one.operation)).toEqual(["removeLabel", "removeLabel"]);
  });
  test("a selector is put whole", () => {
    const before = read(policy);
    const after = withAt(before, ["spec", "clusterTypeSelector", "labelSelector"], selectorOf([{ key: "size", operator: "In", values: ["large", "small"] }]));
    const [edit, ...more] = roundTrip(before, after);
    expect(more).toEqual([]);
    expect(edit).toMatchObject({ operation: "setSelector", kind: "SchedulingPolicy", name: "batch", key: "clusterTypeSelector" });
    expect(roundTrip(before, withAt(before, ["spec", "deploymentTargetSelector", "workspace"], "kaizen"))).toHaveLength(1);
  });
  test("keys of a ConfigMap", () => {
    const before: ModelDocument = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" }, data: { A: "1", B: "2" } };
    expect(roundTrip(before, { ...before, data: { A: "x", C: "" } })).toEqual([
      { operation: "setConfigKey", kind: "ConfigMap", name: "c", key: "A", value: "x" },
      { operation: "setConfigKey", kind: "ConfigMap", name: "c", key: "C", value: "" },
      { operation: "removeConfigKey", kind: "ConfigMap", name: "c", key: "B" },
    ]);
  });
  test("anything else puts the object", () => {
    const before = read(drone);
    expect(roundTrip(before, withAt(before, ["spec", "reconciler"], "argocd")).map((one) => one.operation)).toEqual(["putObject"]);
    expect(roundTrip(before, { ...before, metadata: { ...before.metadata, annotations: { a: "b" } } }).map((one) => one.operation)).toEqual(["putObject"]);
  });
  test("new, gone, and the same", () => {
    const one = read(drone);
    expect(roundTrip(undefined, one)).toEqual([{ operation: "putObject", kind: "ClusterType", name: "drone", content: yamlOf(one) }]);
    expect(roundTrip(one, undefined)).toEqual([{ operation: "deleteObject", kind: "ClusterType", name: "drone" }]);
    expect(roundTrip(one, structuredClone(one))).toEqual([]);
    expect(roundTrip(undefined, undefined)).toEqual([]);
  });
  test("a text is changed where it has to be", () => {
    const before = read(drone);
    const text = withChanges(drone, before, withAt(before, ["metadata", "labels"], { region: "west-us", edge: "true", size: "small" }));
    expect(text).toBe(drone.replace("east-us #", "west-us #").replace('    edge: "true"\n', '    edge: "true"\n    size: small\n'));
    expect(withChanges(drone, before, before)).toBe(drone);
  });
  test("a label that YAML has as a number is not changed by a form that shows it", () => {
    const before = read(drone.replace("east-us #", "7 #"));
    expect(editsOf(before, withAt(before, ["metadata", "labels"], { region: "7", edge: "true" }))).toEqual([]);
  });
  test("names that every object has are names as others", () => {
    const before = read(drone);
    const after = withAt(before, ["metadata", "labels"], { ...before.metadata.labels, constructor: "x" });
    expect(roundTrip(before, after)).toEqual([{ operation: "setLabel", kind: "ClusterType", name: "drone", key: "constructor", value: "x" }]);
    expect(valuesOf({}, "constructor")).toEqual([]);
  });
  test("an edit of an address that cannot be read changes nothing", () => {
    const before = read(policy);
    expect(edited(before, [{ operation: "setSelector", kind: "SchedulingPolicy", name: "batch", key: "clusterTypeSelector", content: "[" }])).toEqual(before);
    expect(edited(before, [{ operation: "putObject", kind: "SchedulingPolicy", name: "batch", content: "{" }])).toEqual(before);
  });
  test("what is no object is none", () => {
    for (const text of ["", "a: [", "- a", "kind: X", "kind: X\nmetadata: {}"]) expect(documentOf(text)).toBeUndefined();
  });
});

describe("clauses", () => {
  test("a selector is its clauses, and back", () => {
    const selector = { matchLabels: { a: "1" }, matchExpressions: [{ key: "b", operator: "NotIn", values: ["x", "y"] }, { key: "c", operator: "Exists" }] };
    const clauses = clausesOf(selector);
    expect(clauses).toEqual([
      { key: "a", operator: "=", values: ["1"] },
      { key: "b", operator: "NotIn", values: ["x", "y"] },
      { key: "c", operator: "Exists", values: [] },
    ]);
    expect(selectorOf(clauses ?? [])).toEqual(selector);
    expect(clausesOf(undefined)).toEqual([]);
  });
  test("rows that are not whole are not written", () => {
    expect(selectorOf([{ key: "", operator: "=", values: ["x"] }, { key: "a", operator: "In", values: [] }, { key: "b", operator: "=", values: [] }])).toEqual({});
  });
  test("a label that has to have two values", () => {
    const twice = selectorOf([{ key: "a", operator: "=", values: ["1"] }, { key: "a", operator: "=", values: ["2"] }]);
    expect(twice).toEqual({ matchLabels: { a: "1" }, matchExpressions: [{ key: "a", operator: "In", values: ["2"] }] });
  });
  test("what a form cannot show is not shown", () => {
    for (const selector of ["x", { cel: "true" }, { matchExpressions: [{ key: "a", operator: "Gt", values: ["1"] }] }, { matchLabels: [] }, { matchExpressions: [{ key: "a", operator: "toString" }] }]) expect(clausesOf(selector)).toBeUndefined();
  });
});

const schema: Schema = {
  type: "object",
  properties: { apiVersion: { type: "string" }, kind: { type: "string" }, metadata: { type: "object" }, spec: { $ref: "#/$defs/Spec" } },
  required: ["kind", "spec"],
  additionalProperties: false,
  $defs: {
    Spec: {
      type: "object",
      required: ["reconciler"],
      additionalProperties: false,
      properties: {
        reconciler: { type: "string", description: "a template" },
        namespaceService: { type: "string" },
        type: { type: "string", enum: ["a", "b"] },
        workload: { $ref: "#/$defs/Folder" },
        selector: { type: "object", properties: { labelSelector: { $ref: "#/$defs/Selector" } } },
        manifests: { type: "array", items: { oneOf: [{ type: "string" }, { type: "object" }] } },
        labels: { type: "object", additionalProperties: { type: "string" } },
        nested: { type: "array", items: { type: "object" } },
      },
    },
    Folder: { type: "object", properties: { repo: { type: "string" } }, required: ["repo"] },
    Selector: { type: "object", properties: { matchLabels: { type: "object" }, matchExpressions: { type: "array" } } },
  },
};

describe("fields of a schema", () => {
  test("each kind of field", () => {
    expect(fieldsOf(schema).map(({ path, kind, required }) => [path.join("."), kind, required])).toEqual([
      ["spec.reconciler", "text", true],
      ["spec.namespaceService", "text", false],
      ["spec.type", "choice", false],
      ["spec.workload.repo", "text", true],
      ["spec.selector.labelSelector", "selector", false],
      ["spec.manifests", "texts", false],
      ["spec.labels", "pairs", false],
      ["spec.nested", "yaml", false],
    ]);
  });
  test("a value at a path, and what is empty without it goes", () => {
    expect(withAt({ a: { b: "1" }, c: "2" }, ["a", "b"], "")).toEqual({ c: "2" });
    expect(withAt({}, ["a", "b"], "x")).toEqual({ a: { b: "x" } });
    expect(at({ a: { b: "x" } }, ["a", "b"])).toBe("x");
    expect(at({ a: 1 }, ["a", "b"])).toBeUndefined();
  });
});

describe("what is wrong with a text", () => {
  const wrong = (text: string) => problemsOf(text, schema, { kind: "ClusterType", name: "drone" }).map(({ from, message }) => [text.slice(0, from).split("\n").length, message]);
  test("nothing", () => expect(wrong(drone)).toEqual([]));
  test("YAML that cannot be read, at its line", () => expect(wrong(drone.replace("  name: drone", "  name: [drone"))[0]?.[0]).toBeGreaterThanOrEqual(5));
  test("a field that there is not", () => expect(wrong(drone.replace("namespaceService", "namespaceServices"))).toEqual([[11, "there is no field namespaceServices here"]]));
  test("a value of another type", () => expect(wrong(drone.replace("arc-flux", "7"))[0]?.[0]).toBe(10));
  test("a field that is missing, at what should have it", () => expect(wrong(drone.replace("  reconciler: arc-flux\n", ""))[0]?.[0]).toBe(9));
  test("aliases that make much of little", () => {
    const lines = ["a0: &a0 [x, x]", ...Array.from({ length: 12 }, (_, n) => `a${n + 1}: &a${n + 1} [${Array(10).fill(`*a${n}`).join(", ")}]`)];
    expect(wrong(lines.join("\n"))).toHaveLength(1);
    expect(documentOf(lines.join("\n"))).toBeUndefined();
  });
  test("another object", () => expect(wrong(drone.replace("name: drone", "name: large"))).toEqual([[5, "this object is name drone: to have another, make a new object"]]));
});

test("what Kubernetes refuses", () => {
  for (const [key, value] of [["edge", "true"], ["example.com/edge", ""], ["a.b-c_d", "A.b-c_d"]] as const) expect(labelProblem(key, value)).toBe("");
  for (const [key, value] of [["-a", "x"], ["a b", "x"], ["a/b/c", "x"], ["A_/b", "x"], ["a", "x y"], ["a", "-"], ["a".repeat(64), ""]] as const) expect(labelProblem(key, value)).not.toBe("");
  expect(nameProblem("a-b.c")).toBe("");
  expect(nameProblem("A")).not.toBe("");
  expect(configKeyProblem("REGION_1")).toBe("");
  expect(configKeyProblem("a/b")).not.toBe("");
});

test("labels in use", () => {
  expect(labelsInUse([{ b: "2", a: "1" }, undefined, { b: "1" }])).toEqual({ a: ["1"], b: ["1", "2"] });
});
