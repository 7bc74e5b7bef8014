import { describe, expect, test } from "vitest";
import { filtersOf, href, nameIn, pathOf, queryOf, toggled, withFilters } from "./filters";

const search = (text: string) => new URLSearchParams(text);

describe("filters in the URL", () => {
  test("what is written is read", () => {
    const written = withFilters(search("tab=history"), { env: "dev", states: ["ok", "failing"], label: "region in (a,b)", q: "a&b=c", sort: "-since" });
    expect(filtersOf(search(written.toString()))).toMatchObject({ env: "dev", states: ["failing", "ok"], label: "region in (a,b)", q: "a&b=c", sort: "-since", cluster: "" });
    expect(written.get("tab")).toBe("history");
  });
  test("an empty filter goes, others stay", () => {
    expect(withFilters(search("env=dev&q=x&state=ok"), { q: "" }).toString()).toBe("env=dev&state=ok");
    expect(withFilters(search("env=dev&state=ok"), { states: [] }).toString()).toBe("env=dev");
  });
  test("states that there are not are left out", () => {
    expect(filtersOf(search("state=ok,failing&state=perfect")).states).toEqual(["failing", "ok"]);
  });
  test("one state is added and taken out", () => {
    expect(toggled(["ok"], "failing")).toEqual(["ok", "failing"]);
    expect(toggled(["ok", "failing"], "ok")).toEqual(["failing"]);
  });
});

test("the query of the API has only what is set", () => {
  expect(queryOf({ env: "dev", q: "", states: [] })).toEqual({ env: "dev" });
  expect(queryOf({ states: ["failing"], sort: "-since" })).toEqual({ state: ["failing"], sort: "-since" });
});

test("a name is the one that its path was made of", () => {
  for (const name of ["drone", "a/b", "100%", "50%25", "a%2Fb", "ü?#&=", "a b"]) expect(nameIn(`/clusters${pathOf(name)}`)).toBe(name);
  expect(nameIn("/clusters/%E0%A4%A")).toBe("%E0%A4%A");
  expect(nameIn("/clusters")).toBe("");
});

test("names may have any characters", () => {
  expect(`/clusters${pathOf("arn:aws:eks:x/y z?#%")}`).toBe("/clusters/arn%3Aaws%3Aeks%3Ax%2Fy%20z%3F%23%25");
  expect(href("/placements", { env: "a&b", state: ["x", "y"] })).toBe("/placements?env=a%26b&state=x&state=y");
  expect(href("/placements")).toBe("/placements");
});
