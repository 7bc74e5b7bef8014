import { infiniteQueryOptions, keepPreviousData, useInfiniteQuery, useQueries, useQueryClient } from "@tanstack/react-query";
import { useMemo } from "react";
import { client, read } from "../api/client";
import { type LiveMeta, pageSize } from "../api/queries";
import type { Matrix } from "../api/types";
import type { Query } from "../filters/filters";
import { type Line, linesOf, type Opened, onlyDiffering, whole, type WholeMatrix } from "./matrix";

/** What is asked of the matrix. */
export interface MatrixQuery {
  env: string;
  cols: "targets" | "workloads";
  /** Filters, as the API takes them. */
  filters: Query;
  differs: boolean;
  /** The cluster types whose clusters are shown. */
  open: string[];
}

const ask = (env: string, query: Query) => read(client.GET("/environments/{env}/matrix", { params: { path: { env }, query: query as object } }));

function matrixQuery({ env, cols, filters }: MatrixQuery) {
  return infiniteQueryOptions({
    queryKey: ["matrix", env, cols, filters],
    queryFn: ({ pageParam }) => ask(env, { ...filters, rows: "types", cols, limit: pageSize, ...(pageParam ? { after: pageParam } : {}) }),
    initialPageParam: "",
    getNextPageParam: (last: Matrix) => last.next || undefined,
    enabled: env !== "",
    placeholderData: keepPreviousData,
    meta: { topics: ["placement", "environment"], environment: env } satisfies LiveMeta,
  });
}

/** The clusters of one type: as many pages as have been asked for. */
function clustersQuery({ env, cols, filters }: MatrixQuery, clusterType: string) {
  return {
    queryKey: ["matrix-clusters", env, cols, filters, clusterType],
    queryFn: async ({ client: queries }: { client: ReturnType<typeof useQueryClient> }) => {
      const wanted = queries.getQueryData<number>(pagesKey(env, clusterType)) ?? 1;
      const pages: Matrix[] = [];
      for (let after = ""; pages.length < wanted; after = pages.at(-1)?.next ?? "") {
        if (pages.length > 0 && !after) break;
        pages.push(await ask(env, { ...filters, rows: "clusters", clusterType, cols, limit: pageSize, ...(after ? { after } : {}) }));
      }
      return { asOf: pages[0]?.asOf, matrices: pages };
    },
    placeholderData: keepPreviousData,
    meta: { topics: ["placement", "environment"], environment: env } satisfies LiveMeta,
  };
}

const pagesKey = (env: string, clusterType: string) => ["matrix-clusters-pages", env, clusterType];

/** The matrix with the clusters of the types that are open, as lines of the grid. */
export function useMatrix(query: MatrixQuery) {
  const queries = useQueryClient();
  const types = useInfiniteQuery(matrixQuery(query));
  const inside = useQueries({ queries: query.open.map((clusterType) => clustersQuery(query, clusterType)) });

  const all = useMemo((): WholeMatrix => {
    const found = whole(types.data?.pages ?? []);
    return query.differs ? onlyDiffering(found) : found;
  }, [types.data, query.differs]);

  const opened = new Map<string, Opened>();
  query.open.forEach((clusterType, index) => {
    const one = inside[index];
    const pages = one?.data?.matrices ?? [];
    const state = one?.isError ? "failed" : one?.isFetching && pages.length === 0 ? "loading" : pages.at(-1)?.next ? "more" : "all";
    opened.set(clusterType, { rows: whole(pages).rows, state });
  });
  const rest = types.isFetchingNextPage ? "loading" : types.isFetchNextPageError ? "failed" : types.hasNextPage ? "more" : "all";

  /** Asks for what comes after a line. */
  const more = (line: Line & { kind: "more" }) => {
    if (line.clusterType === "") {
      void types.fetchNextPage();
      return;
    }
    if (line.state === "more") queries.setQueryData(pagesKey(query.env, line.clusterType), (n: number | undefined) => (n ?? 1) + 1);
    void inside[query.open.indexOf(line.clusterType)]?.refetch();
  };
  return { types, cols: all.cols, lines: linesOf(all.rows, opened, rest), more };
}
