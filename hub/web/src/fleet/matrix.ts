import type { Matrix } from "../api/types";
import { type CellText, cellText, differs, type Part } from "../words/cell";
import { stateOf } from "../words/states";

/** A column: a deployment target, or a workload. */
export interface Col {
  name: string;
  workload: string;
  workspace: string;
}

/** A row: a cluster type, or a cluster of one. */
export interface MatrixRow {
  name: string;
  clusterType: string;
  /** How many clusters of the type there are. */
  clusters: number;
  /** What is in the columns, by the column's name. A column that is absent has no placement. */
  cells: Map<string, Part[]>;
}

/** The matrix put together from its pages. */
export interface WholeMatrix {
  /** By workload, then by name. */
  cols: Col[];
  rows: MatrixRow[];
}

/** Puts the pages of a matrix together. Each has indexes of its own. */
export function whole(pages: Matrix[]): WholeMatrix {
  const cols = new Map<string, Col>();
  const rows: MatrixRow[] = [];
  for (const page of pages) {
    for (const col of page.cols) cols.set(col.name, col);
    const own = page.rows.map((row): MatrixRow => ({ ...row, cells: new Map() }));
    for (const [row, col, version, state, n] of page.cells) {
      const cells = own[row ?? -1]?.cells;
      const name = page.cols[col ?? -1]?.name;
      if (!cells || name === undefined || n === undefined) continue;
      const parts = cells.get(name) ?? [];
      parts.push({ version: page.versions[version ?? -1] ?? "", state: stateOf(page.states[state ?? -1] ?? ""), n });
      cells.set(name, parts);
    }
    rows.push(...own);
  }
  return { cols: [...cols.values()].sort((a, b) => a.workload.localeCompare(b.workload) || a.name.localeCompare(b.name)), rows };
}

/** Only the columns in which placements differ or are not ok, and the rows that have such a cell. */
export function onlyDiffering(all: WholeMatrix): WholeMatrix {
  const common = new Map<string, string>();
  const cols = all.cols.filter((col) => {
    const parts = all.rows.flatMap((row) => row.cells.get(col.name) ?? []);
    common.set(col.name, commonVersion(parts));
    return differs(parts);
  });
  const odd = (row: MatrixRow, col: Col) => (row.cells.get(col.name) ?? []).some((part) => part.state !== "ok" || part.version !== common.get(col.name));
  return { cols, rows: all.rows.filter((row) => cols.some((col) => odd(row, col))) };
}

function commonVersion(parts: Part[]): string {
  const n = new Map<string, number>();
  let most = "";
  for (const part of parts) {
    n.set(part.version, (n.get(part.version) ?? 0) + part.n);
    if ((n.get(part.version) ?? 0) > (n.get(most) ?? 0)) most = part.version;
  }
  return most;
}

const texts = new WeakMap<Part[], CellText>();

/** The text of a cell, made once. */
export function textOf(parts: Part[]): CellText {
  const known = texts.get(parts);
  if (known) return known;
  const made = cellText(parts);
  texts.set(parts, made);
  return made;
}

/** A line of the grid. */
export type Line =
  | { kind: "type"; row: MatrixRow; open: boolean }
  | { kind: "cluster"; row: MatrixRow }
  /** More rows can be had: of clusters of a type, or of the matrix itself for "". */
  | { kind: "more"; clusterType: string; state: "loading" | "more" | "failed" };

/** A target's name without that of its workload, which stands above it. */
export function shortName({ name, workload }: Col): string {
  const prefix = `${workload}-`;
  return name.startsWith(prefix) && name.length > prefix.length ? name.slice(prefix.length) : name;
}

/** What is known of the clusters of an opened type. */
export interface Opened {
  rows: MatrixRow[];
  state: "loading" | "more" | "failed" | "all";
}

/** The lines of the grid: types, below those that are open their clusters, and where there are more. */
export function linesOf(rows: MatrixRow[], opened: Map<string, Opened>, rest: "loading" | "more" | "failed" | "all"): Line[] {
  const lines: Line[] = [];
  for (const row of rows) {
    const inside = opened.get(row.name);
    lines.push({ kind: "type", row, open: inside !== undefined });
    if (!inside) continue;
    for (const cluster of inside.rows) lines.push({ kind: "cluster", row: cluster });
    if (inside.state !== "all") lines.push({ kind: "more", clusterType: row.name, state: inside.state });
  }
  if (rest !== "all") lines.push({ kind: "more", clusterType: "", state: rest });
  return lines;
}

/** A position in the grid: line from 0, column from 0, which is that of the names. */
export interface GridPosition {
  line: number;
  col: number;
}

/** Where a key moves to, or undefined for a key that does not move. */
export function moved(at: GridPosition, key: string, ctrl: boolean, lines: number, cols: number, page: number): GridPosition | undefined {
  const last = { line: Math.max(0, lines - 1), col: cols };
  const to = (line: number, col: number): GridPosition => ({ line: Math.min(Math.max(0, line), last.line), col: Math.min(Math.max(0, col), last.col) });
  switch (key) {
    case "ArrowUp":
      return to(at.line - 1, at.col);
    case "ArrowDown":
      return to(at.line + 1, at.col);
    case "ArrowLeft":
      return to(at.line, at.col - 1);
    case "ArrowRight":
      return to(at.line, at.col + 1);
    case "PageUp":
      return to(at.line - page, at.col);
    case "PageDown":
      return to(at.line + page, at.col);
    case "Home":
      return to(ctrl ? 0 : at.line, 0);
    case "End":
      return to(ctrl ? last.line : at.line, last.col);
    default:
      return undefined;
  }
}
