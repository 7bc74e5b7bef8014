import { type CSSVariablesResolver, createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "blue",
  // dark enough for white text on it, and for text of it on white
  primaryShade: { light: 8, dark: 8 },
  respectReducedMotion: true,
  // a link in a text is not known by its colour alone
  components: { Anchor: { defaultProps: { underline: "always" } } },
  fontFamily: "system-ui, sans-serif",
  fontFamilyMonospace: "ui-monospace, monospace",
});

/** Mantine's own greys and reds are too light for text by WCAG's AA. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: { "--mantine-color-dimmed": "#495057", "--mantine-color-placeholder": "#495057", "--mantine-color-error": "#c92a2a" },
  dark: { "--mantine-color-dimmed": "#c1c2c5", "--mantine-color-placeholder": "#a6a7ab", "--mantine-color-error": "#ff8787" },
});
