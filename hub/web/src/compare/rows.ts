import type { ComparisonRow } from "../api/types";
import { percent } from "../words/text";

type Half = NonNullable<ComparisonRow["left"]>;

/** The groups of a comparison, and what pages call them. */
export const groups = {
  differs: { title: "Differs", empty: "Nothing differs but what waits for promotion." },
  promotion: { title: "Waits for promotion", empty: "Nothing waits for promotion." },
  same: { title: "The same", empty: "Nothing is the same." },
} as const;
export type Group = keyof typeof groups;

/** The versions of a side, that of most placements first: `1.4.2`, or `1.4.2 90 %, 1.4.1 10 %`. */
export function versionsText(half: Half | undefined): string {
  if (!half) return "not there";
  const [first, ...rest] = [...half.versions].sort((a, b) => b.n - a.n || a.version.localeCompare(b.version));
  if (!first) return "runs nowhere";
  const name = (version: string) => version || "no version";
  if (rest.length === 0) return name(first.version);
  return [first, ...rest].map(({ version, share }) => `${name(version)} ${percent(share)}`).join(", ");
}

/** The versions that git asks for, where others run; "" where they are what runs. */
export function wanted(half: Half | undefined): string {
  const desired = new Set(half?.desiredVersion.split(",").map((version) => version.trim()));
  const running = new Set(half?.versions.map(({ version }) => version));
  return desired.size === running.size && [...desired].every((version) => running.has(version)) ? "" : (half?.desiredVersion ?? "");
}

/** Names that are on one side only. */
export interface OneSided {
  what: "cluster type" | "policy";
  side: "left" | "right";
  names: string[];
}

/** What is on one side only. A target that is on one side only has no other to compare with, and policies are not known of all of the past. */
export function oneSided({ left, right }: Pick<ComparisonRow, "left" | "right">): OneSided[] {
  if (!left || !right) return [];
  const only = (here: string[], there: string[]) => here.filter((name) => !there.includes(name));
  const all: OneSided[] = [
    { what: "cluster type", side: "left", names: only(left.clusterTypes, right.clusterTypes) },
    { what: "cluster type", side: "right", names: only(right.clusterTypes, left.clusterTypes) },
  ];
  if (left.policies.length > 0 && right.policies.length > 0) {
    const placed = (half: Half, names: string[]) =>
      names.map((name) => {
        const place = half.policyPositions.find((one) => one.name === name)?.place;
        return place ? `${name} (${place})` : name;
      });
    all.push(
      { what: "policy", side: "left", names: placed(left, only(left.policies, right.policies)) },
      { what: "policy", side: "right", names: placed(right, only(right.policies, left.policies)) },
    );
  }
  return all.filter(({ names }) => names.length > 0);
}

/** The two that are compared when nobody has chosen: an environment, and the one that follows it. */
export function sidesOf(left: string, right: string, chain: string[]): [string, string] {
  const one = left || chain.find((name) => name !== right) || "";
  const next = chain[chain.indexOf(one) + 1] ?? chain.find((name) => name !== one) ?? one;
  return [one, right || next];
}
