/** A position as the API writes it, `file:line`. */
export function positionOf(text: string): { file: string; line?: number } {
  const [, file, line] = /^(.+):(\d+)$/.exec(text) ?? [];
  return file ? { file, line: Number(line) } : { file: text };
}
