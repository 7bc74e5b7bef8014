import { gzipSync } from "node:zlib";
import type { Plugin, Rollup } from "vite";

/** What may be sent, in thousands of gzipped bytes. */
export interface Budget {
  /** All scripts that the first page needs. */
  first: number;
  /** All style sheets that the first page needs. */
  styles: number;
  /** Any script that is loaded later. */
  lazy: number;
}

/** What the app shows at /. */
const firstPage = "/src/fleet/page.tsx";

/** Makes a build fail that sends more than the budget allows. */
export function budget(limits: Budget): Plugin {
  return {
    name: "budget",
    apply: "build",
    generateBundle(_, bundle) {
      const chunks = Object.values(bundle).filter((file): file is Rollup.OutputChunk => file.type === "chunk");
      const first = new Set<string>();
      const need = (name: string) => {
        const chunk = bundle[name];
        if (chunk?.type !== "chunk" || first.has(name)) return;
        first.add(name);
        chunk.imports.forEach(need);
      };
      for (const chunk of chunks) if (chunk.isEntry) need(chunk.fileName);
      // the fleet is the first page, and a chunk of its own
      const fleet = chunks.find((chunk) => chunk.isDynamicEntry && chunk.facadeModuleId?.endsWith(firstPage));
      if (!fleet) return this.error(`budget: no chunk is of ${firstPage}: which is the first page?`);
      need(fleet.fileName);

      const size = (name: string) => {
        const file = bundle[name];
        return gzipSync(file?.type === "chunk" ? file.code : (file?.source ?? "")).length / 1000;
      };
      const sum = (names: Iterable<string>) => [...names].reduce((total, name) => total + size(name), 0);
      const sheets = new Set(Object.keys(bundle).filter((name) => name.endsWith(".css")));
      const used: [string, number, number][] = [
        ["the first page's scripts", sum(first), limits.first],
        ["the style sheets", sum(sheets), limits.styles],
        ...chunks.filter((chunk) => !first.has(chunk.fileName)).map((chunk): [string, number, number] => [chunk.fileName, size(chunk.fileName), limits.lazy]),
      ];
      for (const [what, kilobytes, limit] of used) {
        const line = `budget: ${what}: ${kilobytes.toFixed(1)} of ${limit} KB`;
        if (kilobytes > limit) this.error(line);
        if (!what.endsWith(".js")) this.info(line);
      }
    },
  };
}
