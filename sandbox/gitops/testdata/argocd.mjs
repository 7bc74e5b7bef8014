// Opens Argo CD as a user does: logs in, looks at the list of applications and at the tree of
// one, filters, follows the menu, and checks that the pages look as they should.
import { env, inBrowser, screenshot, usual, watched, wrong } from "../../../e2e/browser/browser.mjs";

const argocd = new URL(env("ARGOCD_URL"));
const applications = env("ARGOCD_APPLICATIONS").split(",");
let page;

await inBrowser(async (browser) => {
  page = watched(await browser.newPage({ viewport: usual }), [argocd.host], {
    timeout: 30000,
    // before the log in, the pages ask who is there; what they log of answers is said by these
    expected: (line) => line.startsWith("401: ") || line.startsWith("console: "),
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
});

async function open(path, sign) {
  await page.goto(new URL(path, argocd).href, { waitUntil: "load" });
  await page.locator(sign).first().waitFor();
}

async function shoot(name) {
  await screenshot(page, `argocd-${name}`);
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
