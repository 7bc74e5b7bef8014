import { counted, type State, states, worse } from "./states";

/** Placements of one version in one state. */
export interface Part {
  version: string;
  state: State;
  n: number;
}

/** A cell of the matrix in words. */
export interface CellText {
  /** The worst state in it. */
  state: State;
  text: string;
  /** All of it in one sentence, for screen readers and titles. */
  label: string;
}

const number = new Intl.NumberFormat("en");

/** A cell's text: `1.4.2`, `118/120 · 2 failing`, or `1.4.1→1.4.2 38/120` while rolling. */
export function cellText(parts: Part[]): CellText {
  const total = sum(parts);
  const state = parts.reduce<State>((worst, part) => worse(worst, part.state), "ok");
  const counts: Record<string, number> = {};
  for (const part of parts) counts[part.state] = (counts[part.state] ?? 0) + part.n;
  const label = counted(counts).map(([name, n]) => `${number.format(n)} ${name} with ${versionsOf(parts.filter((part) => part.state === name)).join(", ")}`).join("; ");
  return { state, text: text(parts, total, counts), label };
}

function text(parts: Part[], total: number, counts: Record<string, number>): string {
  const versions = versionsOf(parts);
  const done = counts.ok ?? 0;
  const of = `${number.format(done)}/${number.format(total)}`;
  if (done === total) return total > 1 ? `${few(versions)} · ${number.format(total)}` : few(versions);
  if (done + (counts.rolling ?? 0) === total) {
    const from = versionsOf(parts.filter((part) => part.state === "rolling"));
    const to = versionsOf(parts.filter((part) => part.state === "ok")).filter((version) => !from.includes(version));
    return to.length > 0 ? `${few(from)}→${few(to)} ${of}` : `${few(from)} rolling ${of}`;
  }
  const bad = counted(counts).filter(([state]) => state !== "ok");
  if (total === 1) return `${few(versions)} · ${bad.map(([state]) => state).join(", ")}`;
  return `${of} · ${bad.map(([state, n]) => `${number.format(n)} ${state}`).join(", ")}`;
}

/** Versions, that of most placements first. */
function versionsOf(parts: Part[]): string[] {
  const n = new Map<string, number>();
  for (const part of parts) n.set(part.version || "no version", (n.get(part.version || "no version") ?? 0) + part.n);
  return [...n].sort((a, b) => b[1] - a[1] || a[0].localeCompare(b[0])).map(([version]) => version);
}

function few(versions: string[]): string {
  return versions.length > 2 ? `${versions[0]} and ${versions.length - 1} others` : versions.join(", ");
}

const sum = (parts: Part[]) => parts.reduce((total, part) => total + part.n, 0);

/** Whether placements differ in version, or one is not ok. */
export function differs(parts: Part[]): boolean {
  return versionsOf(parts).length > 1 || parts.some((part) => part.state !== states.at(-1));
}
