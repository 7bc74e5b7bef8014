/** The longest text of a cluster that is shown, in characters. */
const longest = 4096;

/** A text of a cluster without what a terminal would act on: escape sequences, control characters, and marks of direction. */
export function plain(text: string | undefined | null): string {
  if (!text) return "";
  const stripped = text
    .replace(/\u001b\[[0-9;?]*[ -/]*[@-~]/g, "")
    .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, "");
  return stripped.length > longest ? `${stripped.slice(0, longest)}…` : stripped;
}

/** A commit's first eight characters. */
export function shortCommit(commit: string | undefined): string {
  return (commit ?? "").slice(0, 8);
}

/** owner/name of a repository's address. */
export function repoName(repo: string): string {
  return repo.replace(/\.git$/, "").split("/").slice(-2).join("/");
}

const number = new Intl.NumberFormat("en");

/** "1 cluster", "1,000 clusters". */
export function count(n: number, one: string, many = `${one}s`): string {
  return `${number.format(n)} ${n === 1 ? one : many}`;
}

/** Bytes in the unit that fits. */
export function bytes(n: number): string {
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let rest = n;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${rest >= 100 || unit === 0 ? Math.round(rest) : rest.toFixed(1)} ${units[unit]}`;
}

/** A share from 0 to 1. What is not all is never 100 %, and what is not nothing never 0 %. */
export function percent(share: number): string {
  const whole = Math.round(share * 100);
  const shown = share < 1 && whole === 100 ? ">99" : share > 0 && whole === 0 ? "<1" : String(whole);
  return `${shown} %`;
}
