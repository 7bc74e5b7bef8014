// Opens the hub as a user does: by a link that works once, then every page, in both colour
// schemes and on a phone, and a placement and a change by the keyboard alone. With STOPPED, a
// cluster that is stopped, it looks at the drift only.
import { env, fits, inBothSchemes, inBrowser, loaded, phone, picture, screenshot, usual, watched, wrong, zoomed } from "./browser.mjs";

const link = new URL(env("HUB_LINK"));
// what the command line says runs where: {environment, cluster, clusterType, target, version, state}
const placements = JSON.parse(env("PLACEMENTS"));
// the paths that the app has, as in /clusters/:name
const routes = JSON.parse(env("ROUTES"));
const stopped = process.env.STOPPED;

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

// visited are the paths that were opened.
const visited = [];

async function open(page, path) {
  visited.push(new URL(path, link).pathname);
  await page.goto(new URL(path, link).href, { waitUntil: "load" });
  await loaded(page);
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
  await inBothSchemes(page, "hub-change");
  await picture(page, "timeline");
  return change;
}

// checkComparison compares what the page has of dev with what the command line says.
async function checkComparison(page) {
  await open(page, "/compare?left=dev&right=stage");
  const { counts } = await get(page, "/api/v1/compare?left=dev&right=stage");
  await page.getByRole("status").filter({ hasText: counts.differs + counts.promotion > 0 ? `${counts.differs} differing, ${counts.promotion} waiting` : "The same" }).waitFor();
  await inBothSchemes(page, "hub-compare");
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
  await inBothSchemes(page, "hub-drift-stopped");
  await picture(page, "drift");
}

// checkWorkshop opens a step of a scenario, with what its check says.
async function checkWorkshop(page) {
  const { items } = await get(page, "/api/v1/workshop/scenarios");
  await open(page, `/workshop/${items[0].name}`);
  const second = page.locator(".step-head").nth(1);
  if ((await second.getAttribute("aria-expanded")) !== "true") await second.click();
  await page.locator('.step-state:not([data-state="looking"])').waitFor();
  await inBothSchemes(page, "hub-scenario");
  await fits(page, "hub-scenario", phone, zoomed);
  await second.evaluate((one) => one.scrollIntoView({ block: "center" }));
  await picture(page, "workshop");
}

async function checkAll(browser, page) {
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
  await screenshot(page, "hub-fleet");
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
    environment: "/environments/dev", "pull-requests": "/pull-requests", "what-if": "/what-if?env=dev&kind=ClusterType&name=large", sandbox: "/sandbox", operator: "/operator",
    compare: "/compare?left=dev&right=stage", change: `/changes/${change.id}`, scenarios: "/workshop", fleet: "/",
  };
  for (const [name, path] of Object.entries(pages)) {
    await open(page, path);
    await inBothSchemes(page, `hub-${name}`);
    await fits(page, `hub-${name}`, phone, zoomed);
  }
  await checkWorkshop(page);
  for (const route of routes) {
    const like = new RegExp(`^${route.replace(/:\w+/g, "[^/]+")}$`);
    if (route !== link.pathname && !visited.some((path) => like.test(path))) wrong.push(`no page at ${route} was opened`);
  }
  console.log(`${Object.keys(pages).length} pages, ${placements.length} placements`);
}

await inBrowser(async (browser) => {
  const context = await browser.newContext({ viewport: usual, colorScheme: "light", reducedMotion: "reduce" });
  const page = watched(await context.newPage(), [link.host]);
  await page.goto(link.href, { waitUntil: "load" });
  await (stopped ? checkDrift(page) : checkAll(browser, page));
});
