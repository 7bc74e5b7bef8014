import { MantineProvider } from "@mantine/core";
import { createElement } from "react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { Pairs } from "./pairs";

const drawn = (value: Record<string, string>) =>
  renderToString(createElement(MantineProvider, null, createElement(Pairs, { label: "Labels", one: "label", value, problem: () => "", change: () => undefined })));

test("what a form cannot write is shown all the same, and is drawn once", () => {
  // none of these keys comes back out of the rows as it went in, which must not have them drawn for ever
  for (const key of ["", "__proto__", "constructor"]) {
    expect(drawn(Object.fromEntries([[key, "the value"]]))).toContain("the value");
  }
});
