// Opens the hub as a user does: by a link that works once, then every page, in both
// colour schemes, and a placement and a change by the keyboard alone. With STOPPED, a
// cluster that is stopped, it looks at the drift only; with PLAN, what the command line plans
// once a label is removed, it removes the label on the what-if page and proposes it. What is
// wrong is printed, one line each, and makes the exit code 1.
import { mkdirSync, statSync } from "node:fs";
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
const stopped = process.env.STOPPED;
// {environment, clusterType, label, title, lost: ["TYPE/TARGET"], gained: [...], files: {path: diff}}
const plan = process.env.PLAN && JSON.parse(process.env.PLAN);
const screenshots = env("SCREENSHOTS");
mkdirSync(screenshots, { recursive: true });
// the folder of the guide's pictures, when they are to be made anew
const pictures = process.env.KALYPSO_PICTURES;

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
    const label = async () => ((await cell.count()) === 1 ? cell.getAttribute("aria-label") : "no cell");
    // the hub looks at a cluster every few seconds, and the command line has looked just now
    let found = await label();
    for (const end = Date.now() + 20000; found !== want && Date.now() < end; found = await label()) await page.waitForTimeout(200);
    if (found !== want) wrong.push(`${p.target} on ${p.clusterType}: the page has "${found}", and the command line "${want}"`);
  }
}

// picture is one of the guide, which a reader on a slow line is to have soon.
async function picture(page, name) {
  if (!pictures) return;
  mkdirSync(pictures, { recursive: true });
  const path = join(pictures, `hub-${name}.png`);
  await page.setViewportSize({ width: 1200, height: 640 });
  await page.emulateMedia({ colorScheme: "light" });
  await page.screenshot({ path });
  await page.setViewportSize({ width: 1280, height: 900 });
  if (statSync(path).size > 100_000) wrong.push(`${path} has ${statSync(path).size} bytes`);
}

async function open(page, path) {
  await page.goto(new URL(path, link).href, { waitUntil: "load" });
  await loaded(page);
}

async function inBothSchemes(page, name) {
  for (const colorScheme of ["light", "dark"]) {
    await page.emulateMedia({ colorScheme });
    await accessible(page, `${name}, ${colorScheme}`);
    await page.screenshot({ path: join(screenshots, `hub-${name}-${colorScheme}.png`) });
  }
}

async function get(page, path) {
  const answer = await page.request.get(new URL(path, link).href);
  if (!answer.ok()) throw new Error(`${path}: ${answer.status()}`);
  return answer.json();
}

// checkTimeline follows a change that the tutorial has brought to all clusters: it is found by
// the commit that it comes from, and opened by the keyboard.
async function checkTimeline(page) {
  const { items } = await get(page, "/api/v1/changes?env=dev&kind=platform&kind=promotion&state=applied");
  const change = items.find((one) => one.pullRequest > 0 && one.sources.length > 0);
  if (!change) throw new Error(`no change of dev that is applied has a pull request and a source: ${JSON.stringify(items)}`);
  await open(page, `/changes?env=dev&q=${change.sources[0].sha.slice(0, 10)}`);
  await page.locator(`a[href="/changes/${change.id}"]`).focus();
  await page.keyboard.press("Enter");
  const stages = page.getByRole("list", { name: "Stages" }).locator("li");
  await stages.first().waitFor();
  const found = await stages.evaluateAll((all) =>
    all.map((li) => ({ name: li.dataset.stage, at: li.querySelector("time")?.dateTime, took: li.querySelector(".stage-took")?.textContent })),
  );
  const names = found.map((stage) => stage.name).join(" ");
  if (names !== "pushed planned opened merged firstApplied applied") wrong.push(`timeline: the stages are ${names}`);
  // the forge's times, and those of clusters, are in whole seconds
  const seconds = (time) => Math.floor(Date.parse(time) / 1000);
  for (const [index, stage] of found.entries()) {
    if (!stage.at) wrong.push(`timeline: ${stage.name} has no time`);
    if (index === 0) continue;
    if (!stage.took) wrong.push(`timeline: ${stage.name} has no duration`);
    if (seconds(stage.at) < seconds(found[index - 1].at)) wrong.push(`timeline: ${stage.name} is at ${stage.at}, before ${found[index - 1].name} at ${found[index - 1].at}`);
  }
  const clusters = page.getByRole("region", { name: "Clusters" });
  const types = clusters.getByRole("button");
  for (const one of await types.all()) {
    await one.focus();
    await page.keyboard.press("Enter");
  }
  await clusters.getByRole("link").first().waitFor();
  await loaded(page);
  const applied = await clusters.locator('.lane[data-state="applied"]').count();
  if (applied !== change.total || change.reached !== change.total) wrong.push(`timeline: ${applied} of ${change.total} clusters have applied it, and the API says ${change.reached}`);
  await inBothSchemes(page, "change");
  await picture(page, "timeline");
  return change;
}

// checkComparison compares what the page has of dev with what the command line says.
async function checkComparison(page) {
  await open(page, "/compare?left=dev&right=stage");
  const { counts } = await get(page, "/api/v1/compare?left=dev&right=stage");
  await page.getByRole("status").filter({ hasText: counts.differs + counts.promotion > 0 ? `${counts.differs} differing, ${counts.promotion} waiting` : "The same" }).waitFor();
  await inBothSchemes(page, "compare");
  await picture(page, "compare");
  for (const summary of await page.locator("summary").all()) await summary.click();
  await loaded(page);
  const rows = await page.locator(".comparison tbody tr:not(.comparison-config)").evaluateAll((all) => all.map((tr) => [...tr.cells].map((td) => td.innerText)));
  if (rows.length !== counts.differs + counts.promotion + counts.same) wrong.push(`compare: ${rows.length} rows, and the API counts ${JSON.stringify(counts)}`);
  for (const p of placements.filter((one) => one.target)) {
    const row = rows.find(([target]) => target.split("\n")[0] === p.target);
    if (!row?.[1].includes(p.version)) wrong.push(`compare: ${p.target} of dev is ${JSON.stringify(row)}, and the command line has ${p.version}`);
  }
}

async function checkDrift(page) {
  await page.getByRole("grid").waitFor();
  await open(page, "/drift");
  const unknown = page.getByRole("region", { name: "Unknown" });
  await unknown.getByRole("link", { name: stopped, exact: true }).first().waitFor();
  await page.getByRole("status").filter({ hasText: "1 cluster has not been heard of" }).waitFor();
  await inBothSchemes(page, "drift-stopped");
  await picture(page, "drift");
}

// checkWhatIf removes a label of a cluster type in its form, by the keyboard, compares what the
// page says with what the command line does, proposes it, and closes the proposal.
async function checkWhatIf(page) {
  await page.getByRole("grid").waitFor();
  await open(page, `/environments/${plan.environment}?tab=clustertypes`);
  await page.getByRole("link", { name: `Change ${plan.clusterType}`, exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: `Remove label ${plan.label}`, exact: true }).focus();
  const answered = page.waitForResponse((r) => r.url().endsWith("/api/v1/plans"));
  const summary = `${plan.gained.length} gained, ${plan.lost.length} lost`;
  const took = page.evaluate(
    (text) =>
      new Promise((resolve) => {
        let pressed = 0;
        addEventListener("keydown", () => (pressed = performance.now()), { once: true, capture: true });
        new MutationObserver((_, observer) => {
          if (![...document.querySelectorAll('[role="status"]')].some((one) => one.textContent.includes(text))) return;
          observer.disconnect();
          resolve(performance.now() - pressed);
        }).observe(document.body, { subtree: true, childList: true, characterData: true });
      }),
    summary,
  );
  await page.keyboard.press("Enter");
  const answer = await (await answered).json();
  await page.getByRole("status").filter({ hasText: summary }).waitFor();
  console.log(`what-if: the answer is there ${Math.round(await took)} ms after the key`);
  await loaded(page);

  const rows = await page.getByRole("region", { name: "Table of assignments" }).locator("tbody tr").evaluateAll((all) => all.map((tr) => [tr.cells[0].textContent, tr.cells[1].querySelector("a").textContent, tr.cells[2].textContent]));
  const of = (word) => rows.filter(([change]) => change.endsWith(word)).map(([, target, clusterType]) => `${clusterType}/${target}`).sort().join(" ");
  for (const word of ["gained", "lost"]) if (of(word) !== plan[word].join(" ")) wrong.push(`what-if: ${word} is "${of(word)}", and the command line has "${plan[word].join(" ")}"`);
  const files = Object.fromEntries(answer.files.map((file) => [file.path, file.diff]));
  const names = (all) => Object.keys(all).sort().join(" ");
  if (names(files) !== names(plan.files)) wrong.push(`what-if: the files are ${names(files)}, and the command line has ${names(plan.files)}`);
  for (const [path, diff] of Object.entries(plan.files)) {
    if (files[path] !== diff) wrong.push(`what-if: ${path} is not as the command line has it:\n${files[path]}\n${diff}`);
    const shown = page.getByRole("region", { name: `Difference of ${path}`, exact: true });
    if ((await shown.count()) !== 1) await page.locator("summary").filter({ hasText: path }).click();
    const lines = await shown.locator("tr").evaluateAll((all) => all.map((tr) => [tr.dataset.line, tr.cells[2].textContent.slice(2)]));
    const changed = diff.split("\n").filter((line) => /^[+-]/.test(line) && !/^(\+\+\+|---) /.test(line));
    const want = changed.map((line) => `${line.startsWith("+") ? "added" : "removed"} ${line.slice(1)}`);
    const found = lines.filter(([kind]) => kind === "added" || kind === "removed").map(([kind, text]) => `${kind} ${text}`);
    if (found.join("\n") !== want.join("\n")) wrong.push(`what-if: the page shows of ${path}:\n${found.join("\n")}`);
  }
  await inBothSchemes(page, "what-if");

  // another tab with the same address sees the same
  const other = watched(await page.context().newPage());
  await other.goto(page.url(), { waitUntil: "load" });
  await other.getByRole("status").filter({ hasText: summary }).waitFor();
  await other.getByText("YAML", { exact: true }).click();
  const editor = other.getByRole("textbox", { name: `YAML of cluster type ${plan.clusterType}` });
  await editor.waitFor();
  if ((await editor.innerText()).includes(`${plan.label}:`)) wrong.push(`what-if: the YAML still has the label ${plan.label}`);
  await inBothSchemes(other, "what-if-yaml");
  await other.close();

  await page.getByRole("button", { name: "Propose", exact: true }).click();
  await page.getByLabel("Title").fill(plan.title);
  const confirm = page.getByRole("dialog").getByRole("textbox", { name: /^This removes/ });
  if (await confirm.count()) await confirm.fill(plan.environment);
  await inBothSchemes(page, "propose");
  await page.getByRole("button", { name: "Open the pull request" }).click();
  const link = page.getByRole("link", { name: plan.title });
  await page.getByRole("dialog").locator(link).waitFor();
  await page.getByRole("link", { name: "All proposals" }).click();
  await page.getByRole("region", { name: "Table of proposals" }).locator(link).waitFor();
  await loaded(page);
  await inBothSchemes(page, "proposals");
  await page.getByRole("row").filter({ has: link }).getByRole("button", { name: /^Close #/ }).click();
  await page.getByRole("button", { name: /^Close #\d+ for good$/ }).click();
  await page.getByRole("row").filter({ has: link }).getByRole("cell", { name: "closed", exact: true }).waitFor();
}

async function checkAll(page) {
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
  await picture(page, "matrix");

  // by the keyboard alone: into the grid, to the first target, and open it
  await page.getByRole("grid").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").getByRole("link").first().waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });

  const change = await checkTimeline(page);
  await checkComparison(page);

  const some = placements.find((p) => p.environment === "dev" && p.target && p.clusterType);
  const pages = {
    drift: "/drift", placements: "/placements", clusters: "/clusters", cluster: `/clusters/${some.cluster}`,
    subscriptions: `/clusters/${some.cluster}?tab=subscriptions`, workloads: "/workloads",
    assignments: `/assignments?env=dev&target=${some.target}&clusterType=${some.clusterType}`, environments: "/environments",
    changes: "/changes", past: `/placements?env=dev&at=${change.stages.merged}`, workload: `/workloads/${(await get(page, "/api/v1/workloads")).items[0].name}`,
    environment: "/environments/dev", "pull-requests": "/pull-requests", "what-if": "/what-if?env=dev&kind=ClusterType&name=large", sandbox: "/sandbox", operator: "/operator", fleet: "/",
  };
  for (const [name, path] of Object.entries(pages)) {
    await open(page, path);
    await inBothSchemes(page, name);
  }
  console.log(`${Object.keys(pages).length} pages, ${placements.length} placements`);
}

try {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, colorScheme: "light", reducedMotion: "reduce" });
  const page = watched(await context.newPage());
  await page.goto(link.href, { waitUntil: "load" });
  await (stopped ? checkDrift(page) : plan ? checkWhatIf(page) : checkAll(page));
} catch (e) {
  wrong.push(e.message);
} finally {
  await browser.close();
}
for (const line of wrong) console.log(`wrong: ${line}`);
process.exit(wrong.length ? 1 : 0);
