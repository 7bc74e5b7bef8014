import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, Problem, problemOf, read } from "../api/client";
import { type LiveMeta, pageSize } from "../api/queries";
import type { Query } from "../filters/filters";
import type { Edit, EntityKind, List, Against, Plan, Proposal, ProposalInput } from "../api/types";

/** What edits are planned on, and what the plan is compared with. */
export interface Asking {
  env: string;
  /** The head when the edits were begun, "" for the one of now. */
  base: string;
  edits: Edit[];
  against: Against;
}

const bodyOf = ({ env, base, edits, against }: Asking) => ({ environment: env, edits, against, ...(base ? { base } : {}) });

/** What would happen. A plan that nobody waits for any more is cancelled. */
export const plan = (asking: Asking) =>
  queryOptions({
    queryKey: ["plan", asking],
    queryFn: async ({ signal }) => {
      const began = performance.now();
      const found = await read(client.POST("/plans", { body: bodyOf(asking), signal }));
      return { plan: found, took: performance.now() - began, asking };
    },
    placeholderData: keepPreviousData,
    retry: false,
    meta: { topics: ["environment"], environment: asking.env } satisfies LiveMeta,
  });

/** The diff of one file, of a plan that has too many. */
export const planFile = (asking: Asking, head: string, path: string) =>
  queryOptions({
    queryKey: ["plan-file", asking, head, path],
    queryFn: async ({ signal }) => (await read(client.POST("/plans", { params: { query: { file: [path] } }, body: bodyOf(asking), signal }))).files.find((one) => one.path === path),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** An object as it stands in its file. */
export const entity = (env: string, kind: EntityKind, name: string) =>
  queryOptions({
    queryKey: ["entity", env, kind, name],
    queryFn: () => read(client.GET("/environments/{env}/{kind}/{name}", { params: { path: { env, kind, name } } })),
    retry: false,
    meta: { topics: ["environment"], environment: env } satisfies LiveMeta,
  });

/** The JSON schema of a kind's documents. */
export const schema = (kind: string) =>
  queryOptions({
    queryKey: ["schema", kind],
    queryFn: () => read(client.GET("/schemas/{kind}", { params: { path: { kind } } })),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** A proposal, or the plan on the head that the branch has moved to. */
export type Proposed = { proposal: Proposal; moved?: undefined } | { proposal?: undefined; moved: Plan };

/** Opens a pull request with edits, planned on a head. With the same key the answer is the first one's. */
export async function propose(body: ProposalInput, head: string, key: string): Promise<Proposed> {
  const { data, error, response } = await client.POST("/proposals", { params: { header: { "Idempotency-Key": key, "If-Match": `"${head}"` } }, body });
  if (data) return { proposal: data };
  const now = (error as { plan?: Plan } | undefined)?.plan;
  if (response.status === 412 && now) return { moved: now };
  throw problemOf(response.status, response.statusText, error);
}

export const proposals = (query: Query) =>
  infiniteQueryOptions({
    queryKey: ["proposals", query],
    queryFn: ({ pageParam }) => read(client.GET("/proposals", { params: { query: { ...query, limit: pageSize, ...(pageParam ? { after: pageParam } : {}) } } })),
    initialPageParam: "",
    getNextPageParam: (last: List<Proposal>) => last.next || undefined,
    placeholderData: keepPreviousData,
    meta: { topics: ["pull-request"] } satisfies LiveMeta,
  });

export const closeProposal = (id: string) => read(client.DELETE("/proposals/{id}", { params: { path: { id } } }));

/** The edits, by their positions, that a refusal is about, each with what is wrong. */
export function refusedEdits(error: Error | null): Map<number, string> {
  const refused = new Map<number, string>();
  if (error instanceof Problem) for (const { location, message } of error.errors) {
    const [, index] = /^body\.edits\[(\d+)\]/.exec(location) ?? [];
    if (index) refused.set(Number(index), message);
  }
  return refused;
}
