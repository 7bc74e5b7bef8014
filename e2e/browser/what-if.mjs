// Removes a label of a cluster type on the hub's what-if page, compares what the page says with
// what the command line plans of the same, on a phone, too, and proposes it.
import { env, fits, inBothSchemes, inBrowser, loaded, phone, usual, watched, wrong, zoomed } from "./browser.mjs";

const link = new URL(env("HUB_LINK"));
// {environment, clusterType, label, title, lost: ["TYPE/TARGET"], gained: [...], files: {path: diff}}
const plan = JSON.parse(env("PLAN"));

// checkWhatIf removes a label of a cluster type in its form, by the keyboard, compares what the
// page says with what the command line does, proposes it, and closes the proposal.
async function checkWhatIf(page) {
  await page.getByRole("grid").waitFor();
  await page.goto(new URL(`/environments/${plan.environment}?tab=clustertypes`, link).href, { waitUntil: "load" });
  await loaded(page);
  // what happens meanwhile has nothing asked again
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.getByRole("link", { name: `Change ${plan.clusterType}`, exact: true }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("button", { name: `Remove label ${plan.label}`, exact: true }).focus();
  let asked = 0;
  page.on("request", (r) => r.method() === "POST" && r.url().endsWith("/api/v1/plans") && asked++);
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
  const { length } = JSON.stringify(answer);
  console.log(`what-if: the answer of ${length} characters is there ${Math.round(await took)} ms after the key`);
  await loaded(page);
  await page.getByRole("button", { name: "Propose", exact: true, disabled: false }).waitFor();
  if (asked !== 1) wrong.push(`what-if: the plan of one edit is asked for ${asked} times`);

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
  await fits(page, "what-if", phone, zoomed);

  // another tab with the same address sees the same
  const other = watched(await page.context().newPage(), [link.host]);
  await other.goto(page.url(), { waitUntil: "load" });
  await other.getByRole("status").filter({ hasText: summary }).waitFor();
  await other.getByText("YAML", { exact: true }).click();
  const editor = other.getByRole("textbox", { name: `YAML of cluster type ${plan.clusterType}` });
  await editor.waitFor();
  if ((await editor.innerText()).includes(`${plan.label}:`)) wrong.push(`what-if: the YAML still has the label ${plan.label}`);
  await inBothSchemes(other, "what-if-yaml");
  await onPhone(other);
  await other.close();

  await page.getByRole("button", { name: "Propose", exact: true }).click();
  await page.getByLabel("Title").fill(plan.title);
  const confirm = page.getByRole("dialog").getByRole("textbox", { name: /^This removes/ });
  if (await confirm.count()) await confirm.fill(plan.environment);
  await inBothSchemes(page, "propose");
  await fits(page, "propose", phone);
  await page.getByRole("button", { name: "Open the pull request" }).click();
  const pull = page.getByRole("link", { name: plan.title });
  await page.getByRole("dialog").locator(pull).waitFor();
  await page.getByRole("link", { name: "All proposals" }).click();
  await page.getByRole("region", { name: "Table of proposals" }).locator(pull).waitFor();
  await loaded(page);
  await inBothSchemes(page, "proposals");
  await page.getByRole("row").filter({ has: pull }).getByRole("button", { name: /^Close #/ }).click();
  await page.getByRole("button", { name: /^Close #\d+ for good$/ }).click();
  await page.getByRole("row").filter({ has: pull }).getByRole("cell", { name: "closed", exact: true }).waitFor();
}

// onPhone edits a label by its form in the window of a phone: the label is there again, and the
// answer says that nothing comes of it.
async function onPhone(page) {
  await page.setViewportSize(phone);
  await page.getByText("Form", { exact: true }).click();
  await page.getByRole("button", { name: "Add label", exact: true }).click();
  // the list of suggestions has the field's label, too
  const field = (label) => page.locator("input").and(page.getByLabel(label, { exact: true }));
  await field(/^Key of label \d+$/).last().fill("phone");
  await field("Value of phone").fill("small");
  await page.getByText("label phone is small").first().waitFor();
  await page.locator('[aria-busy="true"]').first().waitFor({ state: "detached" });
  await fits(page, "what-if-phone", phone);
  await page.setViewportSize(phone);
  await inBothSchemes(page, "what-if-phone");
  await page.getByRole("button", { name: "Remove the edit: label phone is small" }).click();
  await page.getByText("label phone is small").waitFor({ state: "detached" });
  await page.setViewportSize(usual);
}

await inBrowser(async (browser) => {
  const context = await browser.newContext({ viewport: usual, colorScheme: "light", reducedMotion: "reduce" });
  const page = watched(await context.newPage(), [link.host]);
  await page.goto(link.href, { waitUntil: "load" });
  await checkWhatIf(page);
});
