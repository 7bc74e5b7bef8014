// Its types are those of Node, which the pages have not, so this is no TypeScript.
import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { budget } from "../budget.ts";

const fleet = "/hub/web/src/fleet/page.tsx";
/** A script of as many thousand bytes as cannot be compressed. */
const script = (fileName, kilobytes, more = {}) =>
  ({ type: "chunk", fileName, code: randomBytes(kilobytes * 1000).toString("latin1"), imports: [], isEntry: false, isDynamicEntry: false, facadeModuleId: null, ...more });

/** What a build of some scripts says, and the error that it fails with. */
function built(chunks) {
  const said = [];
  const context = {
    info: (line) => said.push(line),
    error(line) {
      throw new Error(line);
    },
  };
  const { generateBundle } = budget({ first: 250, styles: 40, lazy: 150 });
  try {
    generateBundle.call(context, {}, Object.fromEntries(chunks.map((chunk) => [chunk.fileName, chunk])));
  } catch (error) {
    return { said, error: error.message };
  }
  return { said, error: "" };
}

test("the first page is the entry, the fleet, and what both import", () => {
  const chunks = [
    script("main.js", 50, { isEntry: true, imports: ["shared.js"] }),
    script("shared.js", 40),
    script("fleet.js", 20, { isDynamicEntry: true, facadeModuleId: fleet, imports: ["shared.js", "grid.js"] }),
    script("grid.js", 10),
    script("what-if.js", 100, { isDynamicEntry: true, facadeModuleId: "/hub/web/src/whatif/page.tsx" }),
  ];
  const { said, error } = built(chunks);
  expect(error).toBe("");
  const [, kilobytes] = /scripts: ([\d.]+) of 250 KB/.exec(said.join("\n")) ?? [];
  // latin1 is two bytes for the half of them in UTF-8
  expect(Number(kilobytes)).toBeGreaterThan(120);
  expect(Number(kilobytes)).toBeLessThan(220);
});

test("a build that sends too much fails, and one that has no first page", () => {
  const first = (kilobytes) => [script("main.js", 10, { isEntry: true }), script("fleet.js", kilobytes, { isDynamicEntry: true, facadeModuleId: fleet })];
  expect(built(first(10)).error).toBe("");
  expect(built(first(300)).error).toContain("the first page's scripts");
  expect(built([...first(10), script("editor.js", 200)]).error).toContain("editor.js");
  expect(built([script("main.js", 10, { isEntry: true })]).error).toContain("fleet/page.tsx");
});
