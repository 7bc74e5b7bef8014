import { expect, test } from "vitest";
import { following, isMet, presentScenario, reachable } from "./progress";

test("after a step comes the next that is not done, or one that was left out", () => {
  expect(following([true, false, true, false], 1)).toBe(3);
  expect(following([false, true, true], 2)).toBe(0);
  expect(following([true, true], 0)).toBe(-1);
});

test("the scenario to go on with is not one that ends the others", () => {
  const all = [
    { name: "a", apart: false, done: [true, true] },
    { name: "b", apart: false, done: [true, false] },
    { name: "c", apart: true, done: [false] },
  ];
  expect(presentScenario(all)?.name).toBe("b");
  expect(presentScenario(all.filter((one) => one.name !== "b"))?.name).toBe("a");
  expect(presentScenario([])).toBeUndefined();
});

test("what cannot be checked is neither so nor not so", () => {
  expect(isMet({ line: 4 }, { state: "waiting", unmet: 5 })).toBe(true);
  expect(isMet({ line: 5 }, { state: "waiting", unmet: 5 })).toBe(false);
  expect(isMet({ line: 6 }, { state: "waiting", unmet: 5 })).toBeUndefined();
  expect(isMet({ line: 4 }, { state: "waiting", unmet: 0 })).toBeUndefined();
  expect(isMet({ line: 4 }, { state: "unknown", unmet: 5 })).toBeUndefined();
  expect(isMet({ line: 9 }, { state: "done", unmet: 0 })).toBe(true);
});

test("servers of the hub's machine are reached from there only", () => {
  expect(reachable("http://localhost:3000/kalypso", "127.0.0.1")).toBe(true);
  expect(reachable("http://localhost:3000/kalypso", "192.168.1.5")).toBe(false);
  expect(reachable("https://github.com/x", "192.168.1.5")).toBe(true);
  expect(reachable("nonsense", "192.168.1.5")).toBe(false);
});
