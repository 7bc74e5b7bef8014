// Opens the forge as a person does: logs in, opens a pull request and its
// changed files, and checks that the pages look as they should. What is wrong
// is printed, one line each, and makes the exit code 1.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { chromium } from "playwright-core";

const env = (name) => {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set`);
  return value;
};
const forge = new URL(env("FORGE_URL"));
const pull = env("PULL_URL");
const title = env("PULL_TITLE");
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
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  page.setDefaultTimeout(20000);
  // Gitea logs a slow machine as an error
  page.on("console", (m) => m.type() === "error" && !m.text().startsWith("slow init functions") && wrong.push(`console: ${m.text()}`));
  page.on("pageerror", (e) => wrong.push(`script: ${e.message}`));
  page.on("requestfailed", (r) => {
    // a page that is left takes its requests along
    if (r.failure()?.errorText !== "net::ERR_ABORTED") wrong.push(`no answer: ${r.url()} (${r.failure()?.errorText})`);
  });
  page.on("response", (r) => r.status() >= 400 && wrong.push(`${r.status()}: ${r.url()}`));
  page.on("request", (r) => {
    const url = new URL(r.url());
    if (url.protocol.startsWith("http") && url.host !== forge.host) wrong.push(`leaves this machine: ${r.url()}`);
  });

  await page.goto(new URL("/user/login", forge).href, { waitUntil: "load" });
  await styled(page, "login");
  await page.fill("#user_name", env("FORGE_USER"));
  await page.fill("#password", env("FORGE_PASSWORD"));
  await page.screenshot({ path: join(screenshots, "login.png") });
  await Promise.all([
    page.waitForURL((url) => !url.pathname.startsWith("/user/login")),
    page.click("form button.primary"),
  ]);

  await page.goto(pull, { waitUntil: "load" });
  await styled(page, "pull request");
  if (!(await page.title()).includes(title)) wrong.push(`the page's title is "${await page.title()}", without "${title}"`);
  if (!(await page.locator(".issue-title-header").innerText()).includes(title)) wrong.push(`no heading "${title}"`);
  if ((await page.locator(".render-content.markup table").count()) === 0) wrong.push("the description shows no table");
  await page.screenshot({ path: join(screenshots, "pull-request.png"), fullPage: true });

  await page.locator('a.item[href$="/files"]').first().click();
  await page.waitForURL((url) => url.pathname.endsWith("/files"));
  await page.waitForLoadState("load");
  await styled(page, "changed files");
  await page.locator(".diff-file-box").first().waitFor();
  const files = await page.locator(".diff-file-box").count();
  await page.screenshot({ path: join(screenshots, "files.png"), fullPage: true });
  console.log(`${title}: ${files} changed files`);
} catch (e) {
  wrong.push(e.message);
} finally {
  await browser.close();
}
for (const line of wrong) console.log(`wrong: ${line}`);
process.exit(wrong.length ? 1 : 0);

// styled checks that stylesheets have come and have had their effect.
async function styled(page, name) {
  const found = await page.evaluate(() => {
    const body = getComputedStyle(document.body);
    const bar = document.querySelector("#navbar");
    const button = document.querySelector(".ui.button");
    return {
      sheets: [...document.styleSheets].filter((s) => {
        try {
          return s.cssRules.length > 0;
        } catch {
          return false;
        }
      }).length,
      font: body.fontFamily,
      margin: body.marginTop,
      bar: bar && getComputedStyle(bar).display,
      button: button && getComputedStyle(button).borderRadius,
    };
  });
  if (found.sheets === 0) wrong.push(`${name}: no stylesheet has rules`);
  // Chromium's own are a serif font and a margin of 8 pixels
  if (!/sans-serif|system-ui/.test(found.font)) wrong.push(`${name}: the font is ${found.font}`);
  if (found.margin !== "0px") wrong.push(`${name}: the body's margin is ${found.margin}`);
  if (found.bar !== "flex") wrong.push(`${name}: the navigation bar is laid out as ${found.bar}`);
  if (found.button === "0px") wrong.push(`${name}: buttons have no rounded corners`);
}
