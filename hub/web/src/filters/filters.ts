import { type State, states } from "../words/states";

/** The filters that pages have in common; they live in the URL. */
export interface Filters {
  env: string;
  cluster: string;
  clusterType: string;
  target: string;
  workload: string;
  workspace: string;
  version: string;
  /** In the order worst first. */
  states: State[];
  /** A Kubernetes label selector of clusters. */
  label: string;
  q: string;
  /** As the API takes it: "-since". */
  sort: string;
}

const texts = ["env", "cluster", "clusterType", "target", "workload", "workspace", "version", "label", "q", "sort"] as const;

/** The filters in a URL's search. Names of states that there are not are left out. */
export function filtersOf(search: URLSearchParams): Filters {
  const wanted = search.getAll("state").flatMap((value) => value.split(","));
  const filters = { states: states.filter((state) => wanted.includes(state)) } as Filters;
  for (const name of texts) filters[name] = search.get(name)?.trim() ?? "";
  return filters;
}

/** A URL's search with some filters changed. What is not a filter stays; an empty filter goes. */
export function withFilters(search: URLSearchParams, change: Partial<Filters>): URLSearchParams {
  const next = new URLSearchParams(search);
  for (const name of texts) {
    const value = change[name];
    if (value === undefined) continue;
    if (value === "") next.delete(name);
    else next.set(name, value);
  }
  if (change.states) {
    next.delete("state");
    for (const state of states) if (change.states.includes(state)) next.append("state", state);
  }
  return next;
}

/** A query of the API. */
export type Query = Record<string, string | string[] | number | boolean>;

/** The filters as the API takes them; those that are empty are left out. */
export function queryOf(filters: Partial<Filters>): Query {
  const query: Query = {};
  for (const name of texts) {
    const value = filters[name];
    if (value) query[name] = value;
  }
  if (filters.states?.length) query.state = filters.states;
  return query;
}

/** A path with a query, whatever characters the values have. */
export function href(path: string, query: Query = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) for (const one of Array.isArray(value) ? value : [value]) search.append(name, String(one));
  const text = search.toString();
  return text ? `${path}?${text}` : path;
}

/** A path of names, which may have any characters. */
export function pathOf(...names: string[]): string {
  return names.map((name) => `/${encodeURIComponent(name)}`).join("");
}

/** The name that a path of two parts has, as in /clusters/NAME. The router's own is decoded in part, so that a name with a % is not told from another. */
export function nameIn(pathname: string): string {
  const name = pathname.split("/")[2] ?? "";
  try {
    return decodeURIComponent(name);
  } catch {
    return name;
  }
}

/** Adds a state to a set of states, or takes it out. */
export function toggled(all: State[], one: State): State[] {
  return all.includes(one) ? all.filter((state) => state !== one) : [...all, one];
}
