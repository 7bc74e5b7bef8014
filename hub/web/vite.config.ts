import { readFileSync } from "node:fs";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";
import { budget } from "./budget.ts";

/** Writes the paths of the pages for the server, which answers others with 404. */
const routes: Plugin = {
  name: "routes",
  apply: "build",
  generateBundle() {
    const paths = [...readFileSync("src/app.tsx", "utf8").matchAll(/<Route path="([^"]+)"/g)].map((match) => match[1]);
    if (!paths.includes("/")) this.error("src/app.tsx has no <Route path=\"/\": where are the routes?");
    this.emitFile({ type: "asset", fileName: "routes.json", source: JSON.stringify(paths) });
  },
};

export default defineConfig({
  plugins: [react(), budget({ first: 250, styles: 40, lazy: 150 }), routes],
  build: {
    // of 2024; these know light-dark(), which Mantine's own colour scheme goes with
    target: ["chrome123", "firefox120", "safari17.5"],
    // the recipe reads it for `kalypso licenses`, and removes it
    license: { fileName: "licenses.json" },
    // a file within a script would need data: in the policy
    assetsInlineLimit: 0,
    chunkSizeWarningLimit: 1000,
  },
});
