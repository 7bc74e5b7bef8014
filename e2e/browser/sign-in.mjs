// Signs in to a hub at an OpenID provider, as a user whose role sees one environment, signs out,
// and signs in as one who sees all.
import { env, fits, inBothSchemes, inBrowser, loaded, phone, usual, watched, wrong, zoomed } from "./browser.mjs";

const hub = new URL(env("HUB_URL"));
const provider = new URL(env("PROVIDER_URL"));
// {name, password, role, environments: those that the user sees}
const users = JSON.parse(env("USERS"));
// all environments that there are
const all = JSON.parse(env("ENVIRONMENTS"));

const statusOf = async (page, path) => (await page.request.get(new URL(path, hub).href)).status();

// signIn goes from a page of the hub to the provider and back to that page.
async function signIn(page, { name, password }, path) {
  await page.goto(new URL(path, hub).href, { waitUntil: "load" });
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  await inBothSchemes(page, "sign-in");
  await fits(page, "sign-in", phone, zoomed);
  const way = page.getByRole("link", { name: /^Sign in with/ });
  await way.focus();
  await page.keyboard.press("Enter");
  await page.waitForURL((url) => url.host === provider.host);
  await page.locator("#username").fill(name);
  await page.locator("#password").fill(password);
  await page.getByRole("button", { name: "Login" }).click();
  await page.waitForURL((url) => url.host === hub.host && url.pathname + url.search === path);
  await loaded(page);
}

// checkScope holds that a user sees their own environments and no other, in whatever way they ask.
async function checkScope(page, { name, role, environments }) {
  const { items } = await (await page.request.get(new URL("/api/v1/environments", hub).href)).json();
  const found = items.map((one) => one.name).sort().join(" ");
  if (found !== environments.join(" ")) wrong.push(`${name}: the API has the environments ${found}, want ${environments.join(" ")}`);
  for (const environment of all) {
    const seen = environments.includes(environment);
    await page.goto(new URL(`/environments/${environment}`, hub).href, { waitUntil: "load" });
    await loaded(page);
    const shown = (await page.getByText(`There is no environment ${environment}.`).count()) === 0;
    if (shown !== seen) wrong.push(`${name}: the page of ${environment} says ${shown ? "what it is" : "that there is none"}`);
    const status = await statusOf(page, `/api/v1/environments/${environment}/matrix`);
    if (status !== (seen ? 200 : 404)) wrong.push(`${name}: the matrix of ${environment} is answered with ${status}`);
    await page.goto(new URL(`/placements?env=${environment}`, hub).href, { waitUntil: "load" });
    await loaded(page);
    const rows = await page.getByRole("region", { name: "Table of placements" }).locator("tbody tr").count();
    if (rows > 0 !== seen) wrong.push(`${name}: ${rows} placements of ${environment} are shown`);
  }
  const operator = (await page.getByRole("link", { name: "Operator", exact: true }).count()) > 0;
  if (operator !== (role === "operator")) wrong.push(`${name}: the navigation ${operator ? "has" : "lacks"} the page Operator`);
  const audit = await statusOf(page, "/api/v1/audit");
  if (audit !== (role === "operator" ? 200 : 403)) wrong.push(`${name}: the audit is answered with ${audit}`);
}

// signOut ends the session: neither the API nor a page that was open before has anything more.
async function signOut(page, { name, role }) {
  const menu = page.getByRole("button", { name: new RegExp(`^${name}`) });
  await menu.focus();
  await page.keyboard.press("Enter");
  await page.getByText(`with the role ${role}.`).waitFor();
  await inBothSchemes(page, "user");
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
  const status = await statusOf(page, "/api/v1/me");
  if (status !== 401) wrong.push(`after signing out, ${name} is answered with ${status}`);
  await page.goBack();
  await page.getByRole("heading", { name: "You are not signed in" }).waitFor();
}

await inBrowser(async (browser) => {
  const seen = `/placements?env=${users[0].environments[0]}`;
  for (const user of users) {
    // another browser: the provider knows nobody in it yet
    const context = await browser.newContext({ viewport: usual, colorScheme: "light", reducedMotion: "reduce" });
    const page = watched(await context.newPage(), [hub.host, provider.host], {
      // who is not signed in, and what is not there for somebody
      expected: (line) => /^(401|404): /.test(line) || /^console: Failed to load resource: .* (401|404) /.test(line),
    });
    await signIn(page, user, seen);
    await checkScope(page, user);
    await signOut(page, user);
    await context.close();
  }
  console.log(`${users.length} users`);
});
