/** Environments as columns, versions as rows, counts as cells. */
export interface Ladder {
  environments: string[];
  versions: { version: string; n: number[] }[];
}

const order = new Intl.Collator("en", { numeric: true });

/** The ladder of a workload: the newest version first, as far as versions tell. Environments are in the order given; others follow. */
export function ladderOf(environments: Record<string, { versions?: Record<string, number> }>, chain: string[]): Ladder {
  const names = Object.keys(environments).sort((a, b) => indexIn(chain, a) - indexIn(chain, b) || a.localeCompare(b));
  const versions = new Set(names.flatMap((name) => Object.keys(environments[name]?.versions ?? {})));
  return {
    environments: names,
    versions: [...versions].sort((a, b) => order.compare(b, a)).map((version) => ({ version, n: names.map((name) => environments[name]?.versions?.[version] ?? 0) })),
  };
}

function indexIn(chain: string[], name: string): number {
  const at = chain.indexOf(name);
  return at < 0 ? chain.length : at;
}
