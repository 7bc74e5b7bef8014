// Opens the hub as a user does: by a link that works once, then every page, in both
// colour schemes, and a placement by the keyboard alone. What is wrong is printed, one
// line each, and makes the exit code 1.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { AxeBuilder } from "@axe-core/playwright";
import { chromium } from "playwright-core";

const env = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};
const link = new URL(env("HUB_LINK"));
// what the command line says runs where: {environment, cluster, clusterType, target, version, state}
const placements = JSON.parse(env("PLACEMENTS"));
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

// loaded waits until nothing of a page is held for what is to come.
async function loaded(page) {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => !document.querySelector('[aria-label="Loading"]'));
}

async function accessible(page, name) {
  const { violations } = await new AxeBuilder({ page }).analyze();
  for (const v of violations) {
    if (v.impact === "serious" || v.impact === "critical") wrong.push(`${name}: ${v.impact}: ${v.id}: ${v.nodes.map((n) => n.html).join(" ")}`);
  }
}

// checkMatrix compares the rows of an environment with what the command line says. The sandbox
// has one cluster of each type, so a type's cell has one version.
async function checkMatrix(page, environment) {
  const columns = await page.locator('[role="row"][aria-rowindex="2"] [role="columnheader"]').evaluateAll((all) => all.map((one) => [one.getAttribute("title"), one.getAttribute("aria-colindex")]));
  const indexOf = new Map(columns);
  for (const p of placements.filter((one) => one.environment === environment && one.target && one.clusterType)) {
    const row = page.locator('[role="row"]').filter({ has: page.locator(`[role="rowheader"][title="${p.clusterType}"]`) });
    const cell = row.locator(`[role="gridcell"][aria-colindex="${indexOf.get(p.target)}"]`);
    const want = `1 ${p.state} with ${p.version}`;
    const found = (await cell.count()) === 1 ? await cell.getAttribute("aria-label") : "no cell";
    if (found !== want) wrong.push(`${p.target} on ${p.clusterType}: the page has "${found}", and the command line "${want}"`);
  }
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", reducedMotion: "reduce" });
  const page = watched(await context.newPage());
  await page.goto(link.href, { waitUntil: "load" });
  await page.getByRole("grid").waitFor();
  if (page.url().includes(link.hash.slice(3))) wrong.push("the ticket is still in the address");
  const once = await browser.newContext();
  const second = await once.newPage();
  await second.goto(link.href, { waitUntil: "load" });
  await second.getByRole("alert").waitFor({ timeout: 20000 });
  await once.close();

  await loaded(page);
  await page.getByText(/· live/).waitFor();
  await checkMatrix(page, "dev");
  await page.screenshot({ path: join(screenshots, "hub-fleet.png") });

  // by the keyboard alone: into the grid, to the first target, and open it
  await page.getByRole("grid").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("link").first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  const some = placements.find((p) => p.environment === "dev" && p.target && p.clusterType);
  const pages = {
    drift: "/drift", placements: "/placements", clusters: "/clusters", cluster: `/clusters/${some.cluster}`,
    subscriptions: `/clusters/${some.cluster}?tab=subscriptions`, workloads: "/workloads",
    assignments: `/assignments?env=dev&target=${some.target}&clusterType=${some.clusterType}`, environments: "/environments",
    environment: "/environments/dev", "pull-requests": "/pull-requests", sandbox: "/sandbox", operator: "/operator", fleet: "/",
  };
  for (const [name, path] of Object.entries(pages)) {
    await page.goto(new URL(path, link).href, { waitUntil: "load" });
    await loaded(page);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await accessible(page, `${name}, ${colorScheme}`);
      await page.screenshot({ path: join(screenshots, `hub-${name}-${colorScheme}.png`) });
    }
  }
  console.log(`${Object.keys(pages).length} pages, ${placements.length} placements`);
} catch (e) {
  wrong.push(e.message);
} finally {
  await browser.close();
}
for (const line of wrong) console.log(`wrong: ${line}`);
process.exit(wrong.length ? 1 : 0);
