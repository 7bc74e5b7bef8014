// What the scripts have in common that look at pages in a real browser. What is wrong is printed,
// one line each, and makes the exit code 1. The packages are in the folder MODULES, which need not
// be that of the script.
import { mkdirSync, statSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export function env(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
}

const require = createRequire(join(env("MODULES"), "x.js"));
const { chromium } = require("playwright-core");

export const wrong = [];

// inBrowser runs what looks at pages, and ends the script.
export async function inBrowser(run) {
  mkdirSync(env("SCREENSHOTS"), { recursive: true });
  const browser = await chromium.launch({
    executablePath: env("CHROMIUM"),
    args: [
      "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync",
    ],
  });
  try {
    await run(browser);
  } catch (e) {
    wrong.push(e.message);
    const pages = browser.contexts().flatMap((context) => context.pages());
    for (const [index, page] of pages.entries()) {
      wrong.push(`it was at ${page.url()}`);
      await screenshot(page, `failed-${index + 1}`).catch((error) => wrong.push(error.message));
    }
  } finally {
    await browser.close();
  }
  for (const line of wrong) console.log(`wrong: ${line}`);
  process.exit(wrong.length ? 1 : 0);
}

// watched lets a page ask these hosts only, and notes errors of its scripts and requests, but for
// those lines that a test expects.
export function watched(page, hosts, { timeout = 20000, expected = () => false } = {}) {
  const note = (line) => expected(line) || wrong.push(line);
  page.setDefaultTimeout(timeout);
  page.on("console", (m) => m.type() === "error" && note(`console: ${m.text()} ${m.location().url}`));
  page.on("pageerror", (e) => note(`script: ${e.message}`));
  page.on("requestfailed", (r) => {
    // a page that is left takes its requests along
    if (r.failure()?.errorText !== "net::ERR_ABORTED") note(`no answer: ${r.url()} (${r.failure()?.errorText})`);
  });
  page.on("response", async (r) => {
    const line = `${r.status()}: ${r.url()}`;
    if (r.status() < 400 || expected(line)) return;
    const at = wrong.push(line) - 1;
    // the answer says why, if the page waits for it
    wrong[at] += await r.text().then((text) => ` ${text.slice(0, 300)}`, () => "");
  });
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith("http") && !hosts.includes(url.host)) wrong.push(`leaves this machine: ${r.url()}`);
  });
  return page;
}

export async function screenshot(page, name, options = {}) {
  await page.screenshot({ path: join(env("SCREENSHOTS"), `${name}.png`), ...options });
}

// inBothSchemes holds that what is shown can be read by all, in light and in dark.
export async function inBothSchemes(page, name) {
  const { AxeBuilder } = require("@axe-core/playwright");
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    // what is shown is the same in the dark, but for its colours
    const axe = new AxeBuilder({ page });
    const { violations } = await (colorScheme === "dark" ? axe.withRules("color-contrast") : axe).analyze();
    for (const v of violations) {
      if (v.impact === "serious" || v.impact === "critical") wrong.push(`${name}, ${colorScheme}: ${v.impact}: ${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
    }
    await screenshot(page, `${name}-${colorScheme}`);
  }
  await page.emulateMedia({ colorScheme: "light" });
}

export const usual = { width: 1280, height: 900 };
// what the usual window has when it is shown twice as large
export const zoomed = { width: 640, height: 450 };
export const phone = { width: 360, height: 740 };

// fits holds that nobody has to scroll sideways, in windows of these sizes.
export async function fits(page, name, ...sizes) {
  for (const size of sizes) {
    await page.setViewportSize(size);
    const [has, widest] = await page.evaluate(() => {
      const over = [...document.querySelectorAll("main *, header *")].filter((one) => one.getBoundingClientRect().right > innerWidth + 1 && !one.closest('[role="region"], [role="grid"], pre'));
      return [document.documentElement.scrollWidth, over[0]?.outerHTML.slice(0, 200)];
    });
    if (has > size.width) wrong.push(`${name}: the page is ${has} px wide, and the window ${size.width}: ${widest}`);
    await screenshot(page, `${name}-${size.width}`);
  }
  await page.setViewportSize(usual);
}

// picture is one of the guide, when they are to be made anew; a reader on a slow line is to have it soon.
export async function picture(page, name) {
  const folder = process.env.KALYPSO_PICTURES;
  if (!folder) return;
  mkdirSync(folder, { recursive: true });
  const path = join(folder, `hub-${name}.png`);
  await page.setViewportSize({ width: 1200, height: 640 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.screenshot({ path });
  await page.setViewportSize(usual);
  if (statSync(path).size > 100_000) wrong.push(`${path} has ${statSync(path).size} bytes`);
}

// loaded waits until nothing of a page of the hub is held for what is to come.
export async function loaded(page) {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-label="Loading"]'));
}
