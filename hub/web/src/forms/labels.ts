/** What Kubernetes would say of a label, or "" for one that it takes. */
export function labelProblem(key: string, value: string): string {
  const parts = key.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 2) return "a key has one slash at most";
  if (parts.length === 2 && !/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(parts[0] ?? "")) return "what is before the slash is a DNS name, as in example.com";
  if (!/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(name)) return "a key is of letters, digits, - _ and . and begins and ends with a letter or digit, 63 at most";
  if (value !== "" && !/^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/.test(value)) return "a value is of letters, digits, - _ and . and begins and ends with a letter or digit, 63 at most";
  return "";
}

/** What a name of an object has wrong, or "". */
export function nameProblem(name: string): string {
  return /^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(name) ? "" : "a name is of small letters, digits, - and . and begins and ends with a letter or digit";
}

/** What a key of a ConfigMap has wrong, or "". */
export function configKeyProblem(key: string): string {
  return /^[-._a-zA-Z0-9]{1,253}$/.test(key) ? "" : "a key is of letters, digits, - _ and .";
}

/** Labels in use: each key with its values, sorted. */
export type LabelsInUse = Record<string, string[]>;

/** The values in use of a label. */
export function valuesOf(known: LabelsInUse, key: string): string[] {
  // a key may be a name that every object has
  return Object.hasOwn(known, key) ? (known[key] ?? []) : [];
}

export function labelsInUse(all: (Record<string, string> | undefined)[]): LabelsInUse {
  const values = new Map<string, Set<string>>();
  for (const labels of all) {
    for (const [key, value] of Object.entries(labels ?? {})) {
      const known = values.get(key) ?? new Set();
      values.set(key, known.add(value));
    }
  }
  return Object.fromEntries([...values].sort(([a], [b]) => a.localeCompare(b)).map(([key, known]) => [key, [...known].sort()]));
}
