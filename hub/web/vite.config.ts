import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { budget } from "./budget.ts";

export default defineConfig({
  plugins: [react(), budget({ first: 250, styles: 40, lazy: 150 })],
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
