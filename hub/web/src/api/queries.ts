import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import type { Query } from "../filters/filters";
import { client, read, setCSRF } from "./client";
import type { Comparison, List, ObjectDocument } from "./types";

/** The live topics that make a query's answer old, and the environment that it is of, if it is of one. */
export interface LiveMeta extends Record<string, unknown> {
  topics: Topic[];
  environment?: string;
}

// of many placements that change at once the hub says only that their environment has changed
export const topics = ["placement", "cluster", "environment", "pull-request", "change", "problem", "source"] as const;
export type Topic = (typeof topics)[number];

const live = (...names: Topic[]): { meta: LiveMeta } => ({ meta: { topics: names } });

/** How many items are asked for at a time. */
export const pageSize = 50;

/** A list that is read page by page. */
function paged<T>(key: readonly unknown[], meta: LiveMeta, ask: (after: string) => Promise<List<T>>) {
  return infiniteQueryOptions({
    queryKey: key,
    queryFn: ({ pageParam }) => ask(pageParam),
    initialPageParam: "",
    getNextPageParam: (last: List<T>) => last.next || undefined,
    placeholderData: keepPreviousData,
    meta,
  });
}

/** What only the past says no event makes old. */
const liveUnlessPast = (query: Query, ...names: Topic[]): LiveMeta => ({ topics: query.at ? [] : names });

const page = (after: string, query: Query) => ({ ...query, limit: pageSize, ...(after ? { after } : {}) });

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: async () => {
    const found = await read(client.GET("/me"));
    setCSRF(found.csrf);
    return found;
  },
  staleTime: Number.POSITIVE_INFINITY,
});

export const signIn = queryOptions({
  queryKey: ["sign-in"],
  queryFn: () => read(client.GET("/sign-in")),
  staleTime: Number.POSITIVE_INFINITY,
});

export const environments = queryOptions({
  queryKey: ["environments"],
  queryFn: () => read(client.GET("/environments")),
  ...live("environment", "placement"),
});

export const placements = (query: Query) =>
  paged(["placements", query], liveUnlessPast(query, "placement", "environment"), (after) => read(client.GET("/placements", { params: { query: page(after, query) } })));

export const events = (environment: string, cluster: string, target: string) =>
  paged(["events", environment, cluster, target], { topics: ["placement", "environment"], environment }, (after) =>
    read(client.GET("/placements/{environment}/{cluster}/{target}/events", { params: { path: { environment, cluster, target }, query: page(after, {}) } })),
  );

export const clusters = (query: Query) =>
  paged(["clusters", query], live("placement", "cluster", "environment").meta, (after) => read(client.GET("/clusters", { params: { query: page(after, query) } })));

export const cluster = (name: string) =>
  queryOptions({
    queryKey: ["cluster", name],
    queryFn: () => read(client.GET("/clusters/{name}", { params: { path: { name } } })),
    ...live("placement", "cluster", "environment"),
  });

export const workloads = queryOptions({
  queryKey: ["workloads"],
  queryFn: () => read(client.GET("/workloads")),
  ...live("placement", "environment"),
});

export const workload = (name: string) =>
  queryOptions({
    queryKey: ["workload", name],
    queryFn: () => read(client.GET("/workloads/{name}", { params: { path: { name } } })),
    ...live("placement", "environment"),
  });

export const drift = (query: Query) =>
  paged(["drift", query], live("placement", "environment").meta, (after) => read(client.GET("/drift", { params: { query: page(after, query) } })));

export const outliers = (query: Query) =>
  paged(["outliers", query], live("placement", "environment").meta, (after) => read(client.GET("/outliers", { params: { query: page(after, query) } })));

export const changes = (query: Query) =>
  paged(["changes", query], live("change", "pull-request").meta, (after) => read(client.GET("/changes", { params: { query: page(after, query) } })));

export const change = (id: number) =>
  queryOptions({
    queryKey: ["change", id],
    queryFn: () => read(client.GET("/changes/{id}", { params: { path: { id } } })),
    ...live("change", "pull-request"),
  });

/** The clusters that a change comes to, those that fail and the slowest first. */
export const changeClusters = (id: number, clusterType: string) =>
  paged(["change-clusters", id, clusterType], live("change").meta, (after) =>
    read(client.GET("/changes/{id}/clusters", { params: { path: { id }, query: { clusterType: [clusterType], limit: 20, ...(after ? { after } : {}) } } })),
  );

/** Two environments, or two moments of them, target by target. */
export const comparison = (left: string, right: string, query: Query) =>
  infiniteQueryOptions({
    queryKey: ["compare", left, right, query],
    queryFn: ({ pageParam }) => read(client.GET("/compare", { params: { query: { left, right, ...page(pageParam, query) } } })),
    initialPageParam: "",
    getNextPageParam: (last: Comparison) => last.next || undefined,
    placeholderData: keepPreviousData,
    meta: { topics: query.leftAt && query.rightAt ? [] : ["placement", "environment"] } satisfies LiveMeta,
  });

export const problems = queryOptions({
  queryKey: ["problems"],
  queryFn: () => read(client.GET("/problems")),
  ...live("problem", "environment"),
});

export const pullRequests = (query: Query) =>
  paged(["pull-requests", query], live("pull-request").meta, (after) => read(client.GET("/pull-requests", { params: { query: page(after, query) } })));

export const sources = queryOptions({
  queryKey: ["sources"],
  queryFn: () => read(client.GET("/sources")),
  ...live("source"),
});

export const explanation = (env: string, target: string, clusterType: string) =>
  queryOptions({
    queryKey: ["explain", env, target, clusterType],
    queryFn: () => read(client.GET("/explain", { params: { query: { env, target, ...(clusterType ? { clusterType } : {}) } } })),
    meta: { topics: ["environment"], environment: env } satisfies LiveMeta,
  });

/** The kinds of an environment's objects, and what a page calls them. */
export const objectKinds = {
  clustertypes: "Cluster types",
  targets: "Deployment targets",
  policies: "Scheduling policies",
  assignments: "Assignments",
  configs: "Configuration",
  schemas: "Schemas",
  templates: "Templates",
  registrations: "Registrations",
  rollouts: "Rollouts",
} as const;
export type ObjectKind = keyof typeof objectKinds;

export const objects = (env: string, kind: ObjectKind) =>
  queryOptions({
    queryKey: ["objects", env, kind],
    queryFn: async () => (await read(client.GET(`/environments/{env}/{kind}`, { params: { path: { env, kind } } }))) as List<ObjectDocument>,
    meta: { topics: ["environment"], environment: env } satisfies LiveMeta,
  });

export const tokens = queryOptions({
  queryKey: ["tokens"],
  queryFn: () => read(client.GET("/tokens")),
});

export const audit = paged(["audit"], { topics: [] }, (after) => read(client.GET("/audit", { params: { query: page(after, {}) } })));

export const sandbox = queryOptions({
  queryKey: ["sandbox"],
  queryFn: () => read(client.GET("/sandbox")),
  // what runs on this machine makes no events
  refetchInterval: 5_000,
});

/** The scenarios with what is done of them; a terminal may have done it. */
export const scenarios = queryOptions({
  queryKey: ["scenarios"],
  queryFn: () => read(client.GET("/workshop/scenarios")),
  refetchInterval: 10_000,
});

export const scenario = (name: string) =>
  queryOptions({
    queryKey: ["scenario", name],
    queryFn: () => read(client.GET("/workshop/scenarios/{name}", { params: { path: { name } } })),
  });

/** How the step is that is open. The hub makes one check for all who ask within two seconds. */
export const stepCheck = (name: string, step: number) =>
  queryOptions({
    queryKey: ["step-check", name, step],
    queryFn: () => read(client.GET("/workshop/scenarios/{name}/steps/{step}/check", { params: { path: { name, step } } })),
    refetchInterval: 2_000,
    gcTime: 0,
  });
