// Opens the forge as a user does: logs in, opens a pull request and its changed files, and
// checks that the pages look as they should.
import { env, inBrowser, screenshot, usual, watched, wrong } from "./browser.mjs";

const forge = new URL(env("FORGE_URL"));
const pull = env("PULL_URL");
const title = env("PULL_TITLE");

await inBrowser(async (browser) => {
  const page = watched(await browser.newPage({ viewport: usual }), [forge.host], {
    // Gitea logs a slow machine as an error
    expected: (line) => line.startsWith("console: slow init functions"),
  });

  await page.goto(new URL("/user/login", forge).href, { waitUntil: "load" });
  await styled(page, "login");
  await page.fill("#user_name", env("FORGE_USER"));
  await page.fill("#password", env("FORGE_PASSWORD"));
  await screenshot(page, "forge-login");
  await Promise.all([
    page.waitForURL((url) => !url.pathname.startsWith("/user/login")),
    page.click("form button.primary"),
  ]);

  await page.goto(pull, { waitUntil: "load" });
  await styled(page, "pull request");
  if (!(await page.title()).includes(title)) wrong.push(`the page's title is "${await page.title()}", without "${title}"`);
  if (!(await page.locator(".issue-title-header").innerText()).includes(title)) wrong.push(`no heading "${title}"`);
  if ((await page.locator(".render-content.markup table").count()) === 0) wrong.push("the description shows no table");
  await screenshot(page, "forge-pull-request", { fullPage: true });

  await page.locator('a.item[href$="/files"]').first().click();
  await page.waitForURL((url) => url.pathname.endsWith("/files"));
  await page.waitForLoadState("load");
  await styled(page, "changed files");
  await page.locator(".diff-file-box").first().waitFor();
  const files = await page.locator(".diff-file-box").count();
  await screenshot(page, "forge-files", { fullPage: true });
  console.log(`${title}: ${files} changed files`);
});

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
