import { Checkbox, Group, Stack } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { clusters } from "../api/queries";
import type { Cluster } from "../api/types";
import { FilterText } from "../filters/filter-text";
import { href, queryOf, toggled } from "../filters/filters";
import { useFilters, useParameter } from "../filters/use-filters";
import { Counts, Legend } from "../parts/state/counts";
import { Heading } from "../parts/heading";
import { ClusterLink } from "../parts/links";
import { type Column, ListTable } from "../parts/table/list-table";
import { Empty } from "../parts/notices";
import { StateMark } from "../parts/state/state-mark";
import { Since } from "../parts/when";
import { plain } from "../words/text";

/** The clusters that the hub knows. */
export default function Clusters() {
  const [filters, change] = useFilters();
  const [unknown, setUnknown] = useParameter("unknown");
  const query = { ...queryOf({ env: filters.env, states: filters.states, label: filters.label, q: filters.q, sort: filters.sort }), ...(unknown === "1" ? { unknown: true } : {}) };
  const asked = useInfiniteQuery(clusters(query));
  return (
    <Stack gap="sm">
      <Heading>Clusters</Heading>
      <Legend counts={undefined} chosen={filters.states} toggle={(state) => change({ states: toggled(filters.states, state) })} />
      <Group gap="sm" role="search" aria-label="Filters">
        <FilterText label="Text" placeholder="Name" value={filters.q} change={(q) => change({ q })} />
        <FilterText label="Label selector" placeholder="region=west-us" value={filters.label} change={(label) => change({ label })} />
        <Checkbox size="xs" label="Only unknown ones" checked={unknown === "1"} onChange={(event) => setUnknown(event.currentTarget.checked ? "1" : "")} />
      </Group>
      <ListTable<Cluster>
        of={["cluster", "clusters"]}
        query={asked}
        columns={columns}
        rowKey={(one) => one.name}
        csv={href("/api/v1/clusters", { ...query, format: "csv" })}
        empty={
          <Empty reason="No cluster has what the filters ask for.">
            The hub finds clusters by what hub.yaml observes: contexts of a kubeconfig, or Azure Arc. Whether these answer is on the page Drift.
          </Empty>
        }
      />
    </Stack>
  );
}

/** The types of a cluster: "small in dev, stage". */
export function typesText(types: Record<string, string> | undefined): string {
  const environments = new Map<string, string[]>();
  for (const [environment, type] of Object.entries(types ?? {})) environments.set(type, [...(environments.get(type) ?? []), environment]);
  return [...environments].map(([type, names]) => `${plain(type)} in ${names.sort().map(plain).join(", ")}`).join("; ");
}

export function labelsText(labels: Record<string, string> | undefined): string {
  return Object.entries(labels ?? {})
    .map(([key, value]) => `${plain(key)}=${plain(value)}`)
    .sort()
    .join(", ");
}

const columns: Column<Cluster>[] = [
  { title: "Cluster", sorts: ["name"], cell: (one) => <ClusterLink name={one.name} /> },
  { title: "Placements", cell: (one) => <Counts counts={one.counts} /> },
  { title: "Cluster type", cell: (one) => typesText(one.types) || "follows no environment" },
  { title: "Reconciler", cell: (one) => plain(one.reconciler) || "none found" },
  {
    title: "Last seen",
    sorts: ["lastSeen"],
    cell: (one) => (
      <>
        {one.unknown && <StateMark state="unknown" />} <Since time={one.lastSeen} />
      </>
    ),
  },
  { title: "Labels", cell: (one) => <span className="reason">{labelsText(one.labels)}</span> },
];
