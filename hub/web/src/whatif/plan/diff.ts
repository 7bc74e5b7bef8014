/** A line of a unified diff. */
export interface DiffLine {
  kind: "hunk" | "same" | "added" | "removed" | "note";
  text: string;
  /** Its number in the file before and after, where it is in it. */
  before?: number;
  after?: number;
}

/** The lines of a unified diff of one file, without its head. */
export function diffLines(diff: string): DiffLine[] {
  const lines: DiffLine[] = [];
  let before = 0;
  let after = 0;
  let inside = false;
  const all = diff.split("\n");
  if (all.at(-1) === "") all.pop();
  for (const line of all) {
    const [, first, second] = /^@@ -(\d+)(?:,\d+)? \+(\d+)/.exec(line) ?? [];
    if (first && second) {
      inside = true;
      before = Number(first);
      after = Number(second);
      lines.push({ kind: "hunk", text: line });
    } else if (!inside) continue;
    else if (line.startsWith("+")) lines.push({ kind: "added", text: line.slice(1), after: after++ });
    else if (line.startsWith("-")) lines.push({ kind: "removed", text: line.slice(1), before: before++ });
    else if (line.startsWith("\\")) lines.push({ kind: "note", text: line.slice(2) });
    else lines.push({ kind: "same", text: line.slice(1), before: before++, after: after++ });
  }
  return lines;
}
