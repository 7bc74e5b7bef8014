import type { Subscription } from "../api/types";

/** Subscriptions in the order of a tree: each below what has applied it, and how deep. */
export function treeOf(all: Subscription[]): { depth: number; one: Subscription }[] {
  const lines: { depth: number; one: Subscription }[] = [];
  const placed = new Set<Subscription>();
  const key = (of: { namespace?: string; name: string } | undefined) => (of ? `${of.namespace ?? ""}/${of.name}` : "");
  const add = (one: Subscription, depth: number) => {
    // two can have applied each other
    if (placed.has(one)) return;
    placed.add(one);
    lines.push({ depth, one });
    for (const child of all) if (child.parent && key(child.parent) === key(one)) add(child, depth + 1);
  };
  const names = new Set(all.map(key));
  for (const one of all) if (!one.parent || !names.has(key(one.parent))) add(one, 0);
  // what is left is in a circle
  for (const one of all) add(one, 0);
  return lines;
}
