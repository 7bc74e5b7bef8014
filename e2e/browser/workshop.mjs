// Goes through a scenario on the hub's workshop page, as a user does who has it beside the
// same scenario in a terminal: the step BY_TERMINAL is gone on from there, all others here.
// With SHARED it opens the link of a shared hub, on a phone, and looks only.
import { readFileSync } from "node:fs";
import { env, fits, inBothSchemes, inBrowser, phone, usual, watched, wrong, zoomed } from "./browser.mjs";

const link = new URL(env("HUB_LINK"));
const scenario = env("SCENARIO");
const byTerminal = Number(process.env.BY_TERMINAL ?? 0);
const shared = process.env.SHARED;
const large = { width: 1920, height: 1080 };

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
      await inBothSchemes(page, "workshop-step");
      await fits(page, "workshop-step", phone, zoomed, large);
      // by the keyboard alone
      await solve.focus();
      await page.keyboard.press("Enter");
      const yes = page.getByRole("button", { name: "Yes, do it" });
      await yes.waitFor();
      await inBothSchemes(page, "workshop-confirm");
      await yes.focus();
      await page.keyboard.press("Enter");
      const output = page.getByRole("group", { name: "Output" });
      await Promise.race([output.waitFor({ timeout: 60000 }), isDone(page, step).waitFor({ timeout: 60000 })]);
    } else {
      const goOn = page.getByRole("button", { name: "Go on" });
      await goOn.waitFor({ timeout: 60000 });
      if (step === 1) await inBothSchemes(page, "workshop-reading");
      await goOn.focus();
      await page.keyboard.press("Enter");
    }
    await isDone(page, step).waitFor({ timeout: 60000 });
  }
  await page.getByText("All steps are done.").waitFor();
  await page.getByRole("button", { name: "Large type" }).click();
  // it stays so, and other pages stay as they were
  await page.reload({ waitUntil: "load" });
  await page.getByRole("button", { name: "Usual type" }).waitFor();
  await fits(page, "workshop-large", large);
  await inBothSchemes(page, "workshop-large");
  await page.getByRole("button", { name: "Usual type" }).click();
  await page.locator("html:not(.present)").waitFor();
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
  await fits(page, "workshop-shared", phone);
}

await inBrowser(async (browser) => {
  const context = await browser.newContext({
    viewport: shared ? phone : usual, colorScheme: "light", reducedMotion: "reduce",
    ignoreHTTPSErrors: Boolean(shared), permissions: shared ? [] : ["clipboard-read", "clipboard-write"],
  });
  const page = watched(await context.newPage(), [link.host]);
  await page.goto(link.href, { waitUntil: "load" });
  if (shared) {
    await attend(page);
  } else {
    await page.waitForURL((url) => url.pathname !== "/enter");
    await walk(page);
  }
});
