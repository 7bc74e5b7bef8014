// Goes through a scenario on the hub's workshop page, as a user does who has it beside the
// same scenario in a terminal: the step BY_TERMINAL is gone on from there, all others here.
// With SHARED it opens the link of a shared hub, on a phone, and looks only. What is wrong is
// printed, one line each, and makes the exit code 1.
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const env = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};
const link = new URL(env("HUB_LINK"));
const scenario = env("SCENARIO");
const byTerminal = Number(process.env.BY_TERMINAL ?? 0);
const shared = process.env.SHARED;
const screenshots = env("SCREENSHOTS");
mkdirSync(screenshots, { recursive: true });

const wrong = [];
const browser = await chromium.launch({
  executablePath: env("CHROMIUM"),
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
  ],
});

function watched(page) {
  page.setDefaultTimeout(20000);
  page.on("console", (m) => m.type() === "error" && wrong.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(`script: ${e.message}`));
  page.on("response", (r) => r.status() >= 400 && wrong.push(`${r.status()}: ${r.url()}`));
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith("http") && url.host !== link.host) wrong.push(`leaves the hub: ${r.url()}`);
  });
  return page;
}

async function look(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    const { violations } = await new AxeBuilder({ page }).analyze();
    for (const v of violations) {
      if (v.impact === "serious" || v.impact === "critical") wrong.push(`${name}, ${colorScheme}: ${v.impact}: ${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
    }
    await page.screenshot({ path: join(screenshots, `workshop-${name}-${colorScheme}.png`) });
  }
  await page.emulateMedia({ colorScheme: "light" });
}

// fits is wrong where a reader would have to scroll sideways.
async function fits(page, name) {
  const [has, width] = await page.evaluate(() => [document.documentElement.scrollWidth, window.innerWidth]);
  if (has > width) wrong.push(`${name}: the page is ${has} px wide, and the window ${width}`);
}

async function atSizes(page, name) {
  for (const [width, height] of [[360, 740], [1920, 1080], [1280, 900]]) {
    await page.setViewportSize({ width, height });
    await page.evaluate(() => document.querySelector('[aria-expanded="true"].step-head')?.scrollIntoView());
    await fits(page, `${name} at ${width}`);
    await page.screenshot({ path: join(screenshots, `workshop-${name}-${width}.png`) });
  }
}

const steps = (page) => page.locator(".steps > li");
const isDone = (page, step) => page.locator(`.steps > li:nth-child(${step})[data-done="true"]`);
const state = (page, which) => page.locator(`.step-state[data-state="${which}"]`);

// helped reads what help there is with a step that is not done yet.
async function helped(page) {
  await state(page, "waiting").waitFor();
  await page.getByRole("button", { name: /^Hint \(/ }).click();
  await page.getByText(/^Hint 1 of/).waitFor();
  await page.getByRole("button", { name: "Show what to do" }).click();
  const command = page.getByRole("group", { name: "Commands" }).first();
  await command.waitFor();
  if (!(await command.innerText()).includes("git clone")) wrong.push(`the first command is ${await command.innerText()}`);
  await page.getByRole("button", { name: "Copy: commands" }).first().click();
  await page.getByRole("button", { name: "Copied" }).waitFor();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  if (!copied.includes("git clone")) wrong.push(`the clipboard has ${copied}`);
  const [file] = await Promise.all([page.waitForEvent("download"), page.getByRole("link", { name: /^Download / }).first().click()]);
  const content = readFileSync(await file.path(), "utf8");
  if (!content.includes("apiVersion:")) wrong.push(`${file.suggestedFilename()} has ${content}`);
}

async function walk(page) {
  await page.goto(new URL(`/workshop/${scenario}`, link).href, { waitUntil: "load" });
  await steps(page).first().waitFor();
  const count = await steps(page).count();
  for (let step = 1; step <= count; step++) {
    await page.locator(`.steps > li:nth-child(${step}) .step-head[aria-expanded="true"]`).waitFor();
    if (step === byTerminal) {
      await isDone(page, step).waitFor({ timeout: 60000 });
      continue;
    }
    const solve = page.getByRole("button", { name: "Do it for me" });
    await page.locator('.step-state:not([data-state="looking"])').waitFor();
    if (await solve.count()) {
      await helped(page);
      await look(page, "step");
      await atSizes(page, "step");
      // by the keyboard alone
      await solve.focus();
      await page.keyboard.press("Enter");
      const yes = page.getByRole("button", { name: "Yes, do it" });
      await yes.waitFor();
      await look(page, "confirm");
      await yes.focus();
      await page.keyboard.press("Enter");
      const output = page.getByRole("group", { name: "Output" });
      await Promise.race([output.waitFor({ timeout: 60000 }), isDone(page, step).waitFor({ timeout: 60000 })]);
    } else {
      const goOn = page.getByRole("button", { name: "Go on" });
      await goOn.waitFor({ timeout: 60000 });
      if (step === 1) await look(page, "reading");
      await goOn.focus();
      await page.keyboard.press("Enter");
    }
    await isDone(page, step).waitFor({ timeout: 60000 });
  }
  await page.getByText("All steps are done.").waitFor();
  await page.getByRole("button", { name: "Large type" }).click();
  await page.setViewportSize({ width: 1920, height: 1080 });
  await fits(page, "large type");
  await look(page, "present");
  console.log(`${count} steps`);
}

// attend is what somebody does who has the link of a shared hub.
async function attend(page) {
  await page.waitForURL("**/workshop");
  await page.goto(new URL(`/workshop/${scenario}`, link).href, { waitUntil: "load" });
  await steps(page).first().waitFor();
  await page.locator(".step-head").first().click();
  await page.locator('.step-state:not([data-state="looking"])').waitFor();
  for (const name of ["Do it for me", "Go on"]) {
    if (await page.getByRole("button", { name }).count()) wrong.push(`who is only a guest has the button ${name}`);
  }
  await page.getByRole("button", { name: "Navigation" }).click();
  if (await page.getByRole("link", { name: "Sandbox" }).count()) wrong.push("a guest is led to the sandbox");
  await page.getByRole("button", { name: "Navigation" }).click();
  await fits(page, "shared");
  await page.screenshot({ path: join(screenshots, "workshop-shared.png") });
}

try {
  const context = await browser.newContext({
    viewport: shared ? { width: 360, height: 740 } : { width: 1280, height: 900 }, colorScheme: "light", reducedMotion: "reduce",
    ignoreHTTPSErrors: Boolean(shared), permissions: shared ? [] : ["clipboard-read", "clipboard-write"],
  });
  const page = watched(await context.newPage());
  await page.goto(link.href, { waitUntil: "load" });
  if (shared) {
    await attend(page);
  } else {
    await page.waitForURL((url) => url.pathname !== "/enter");
    await walk(page);
  }
} catch (e) {
  wrong.push(e.message);
  for (const page of browser.contexts().flatMap((context) => context.pages())) await page.screenshot({ path: join(screenshots, "workshop-failed.png") });
} finally {
  await browser.close();
}
for (const line of wrong) console.log(`wrong: ${line}`);
process.exit(wrong.length ? 1 : 0);
