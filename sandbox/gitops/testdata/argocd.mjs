// Opens Argo CD as a person does: logs in, looks at the list of applications
// and at the tree of one, filters, follows the menu, and checks that the pages
// look as they should. What is wrong is printed, one line each, and makes the
// exit code 1.
import { createRequire } from "node:module";
import { mkdirSync } from "node:fs";
import { join } from "node:path";

const env = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};
// playwright-core lies in the folder that the test names, not beside this file
const { chromium } = createRequire(join(env("MODULES"), "x.js"))("playwright-core");
const argocd = new URL(env("ARGOCD_URL"));
const applications = env("ARGOCD_APPLICATIONS").split(",");
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
const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
try {
  page.setDefaultTimeout(30000);
  page.on("pageerror", (e) => wrong.push(`script: ${e.message}`));
  page.on("requestfailed", (r) => {
    // a page that is left takes its requests along
    if (r.failure()?.errorText !== "net::ERR_ABORTED") wrong.push(`no answer: ${r.url()} (${r.failure()?.errorText})`);
  });
  // before the log in, the pages ask who is there
  page.on("response", async (r) => {
    if (r.status() < 400 || r.status() === 401) return;
    const at = wrong.push(`${r.status()}: ${r.url()}`) - 1;
    // the answer says why, if the page waits for it
    wrong[at] += await r.text().then((text) => ` ${text.slice(0, 300)}`, () => "");
  });
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith("http") && url.host !== argocd.host) wrong.push(`leaves this machine: ${r.url()}`);
  });

  await open("/login", ".login__box form button");
  await styled("login");
  await shoot("login");
  const fields = page.locator(".login__box form input");
  await fields.nth(0).fill(env("ARGOCD_USER"));
  await fields.nth(1).fill(env("ARGOCD_PASSWORD"));
  await page.click(".login__box form button");
  await page.waitForURL((url) => url.pathname.startsWith("/applications"));

  const tiles = page.locator(".applications-tiles .applications-list__entry");
  const tile = (name) => tiles.filter({ has: page.getByText(name, { exact: true }) });
  for (const name of applications) await tile(name).first().waitFor();
  await styled("applications");
  await shoot("applications");

  // a row of a filter works beside its box as well as on it
  const all = await tiles.count();
  const filter = page.locator(".filter__item").filter({ hasText: "OutOfSync" });
  await filter.locator(".filter__item__label").click();
  await expectCount(tiles, 0, "out of sync");
  await filter.locator("input").click();
  await expectCount(tiles, all, "not filtered");

  for (const name of applications) {
    await open(`/applications/argocd/${name}?view=tree&resource=`, ".application-resource-tree__node");
    await styled(name);
    const nodes = await page.locator(".application-resource-tree__node").count();
    if (nodes < 2) wrong.push(`${name}: the tree has ${nodes} nodes`);
    await shoot(`application-${name}`);
    console.log(`${name}: ${nodes} nodes in its tree`);
  }
  await page.locator(".application-resource-tree__node").first().click();
  await page.locator(".sliding-panel--opened .application-details__tab-content-full-height, .sliding-panel--opened .white-box").first().waitFor();
  await shoot("panel");

  for (const path of ["/settings", "/settings/repos", "/settings/clusters", "/user-info", "/help"]) {
    await open(path, ".page__content-wrapper");
    await page.waitForLoadState("networkidle");
    await shoot(path.slice(1).replaceAll("/", "-"));
  }
} catch (e) {
  wrong.push(e.message);
  await shoot("wrong");
} finally {
  await browser.close();
}
for (const line of wrong) console.log(`wrong: ${line}`);
process.exit(wrong.length ? 1 : 0);

async function open(path, sign) {
  await page.goto(new URL(path, argocd).href, { waitUntil: "load" });
  await page.locator(sign).first().waitFor();
}

async function shoot(name) {
  await page.screenshot({ path: join(screenshots, `argocd-${name}.png`) });
}

async function expectCount(what, want, when) {
  const deadline = Date.now() + 10000;
  let got;
  do {
    got = await what.count();
    if (got === want) return;
    await page.waitForTimeout(50);
  } while (Date.now() < deadline);
  wrong.push(`${got} tiles when ${when}, not ${want}`);
}

// styled checks that styles and fonts have come and have had their effect.
async function styled(name) {
  const found = await page.evaluate(async () => {
    await document.fonts.ready;
    const body = getComputedStyle(document.body);
    const button = document.querySelector(".argo-button");
    return {
      font: body.fontFamily,
      margin: body.marginTop,
      button: button && getComputedStyle(button).borderRadius,
      fonts: [...document.fonts].filter((f) => f.status === "loaded").length,
    };
  });
  // Chromium's own are a serif font, a margin of 8 pixels and square buttons
  if (/^"?Times|^serif/.test(found.font)) wrong.push(`${name}: the font is ${found.font}`);
  if (found.margin !== "0px") wrong.push(`${name}: the body's margin is ${found.margin}`);
  if (!found.button || found.button === "0px") wrong.push(`${name}: buttons have no rounded corners (${found.button})`);
  if (found.fonts === 0) wrong.push(`${name}: no font has come`);
}
