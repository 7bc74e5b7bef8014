import { describe, expect, test } from "vitest";
import { cellText, differs, type Part } from "./cell";

const part = (version: string, state: Part["state"], n = 1): Part => ({ version, state, n });

describe("the text of a cell", () => {
  const cases: [string, Part[], string, string][] = [
    ["one cluster", [part("1.4.2", "ok")], "1.4.2", "ok"],
    ["all on one version", [part("1.4.2", "ok", 1200)], "1.4.2 · 1,200", "ok"],
    ["two versions, both well", [part("1.4.1", "ok", 1), part("1.4.2", "ok", 3)], "1.4.2, 1.4.1 · 4", "ok"],
    ["some fail", [part("1.4.2", "ok", 118), part("1.4.2", "failing", 2)], "118/120 · 2 failing", "failing"],
    ["the worst first", [part("1", "ok", 5), part("1", "unknown", 2), part("1", "failing", 1)], "5/8 · 1 failing, 2 unknown", "failing"],
    ["rolling", [part("1.4.2", "ok", 38), part("1.4.1", "rolling", 82)], "1.4.1→1.4.2 38/120", "rolling"],
    ["rolling, none has it yet", [part("1.4.1", "rolling", 3)], "1.4.1 rolling 0/3", "rolling"],
    ["rolling and failing is failing", [part("1.4.2", "ok", 1), part("1.4.1", "rolling", 1), part("1.4.2", "failing", 1)], "1/3 · 1 failing, 1 rolling", "failing"],
    ["unknown is not ok", [part("1.4.2", "unknown")], "1.4.2 · unknown", "unknown"],
    ["no version", [part("", "missing")], "no version · missing", "missing"],
    ["many versions", [part("a", "ok", 3), part("b", "ok", 2), part("c", "ok", 1)], "a and 2 others · 6", "ok"],
  ];
  test.each(cases)("%s", (_, parts, text, state) => {
    expect(cellText(parts)).toMatchObject({ text, state });
  });
  test("all of it is in the label", () => {
    expect(cellText([part("1.4.2", "ok", 38), part("1.4.1", "rolling", 82)]).label).toBe("82 rolling with 1.4.1; 38 ok with 1.4.2");
  });
});

test("what differs", () => {
  expect(differs([part("1", "ok", 2)])).toBe(false);
  expect(differs([part("1", "ok"), part("2", "ok")])).toBe(true);
  expect(differs([part("1", "unknown")])).toBe(true);
});
