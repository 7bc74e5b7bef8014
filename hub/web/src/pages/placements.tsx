import { Button, Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { placements } from "../api/queries";
import type { Placement } from "../api/types";
import { FilterText } from "../filters/filter-text";
import { href, queryOf, toggled } from "../filters/filters";
import { TimeField } from "../filters/time-field";
import { useFilters, useParameter } from "../filters/use-filters";
import { Legend } from "../parts/state/counts";
import { Heading } from "../parts/heading";
import { ListTable } from "../parts/table/list-table";
import { Empty } from "../parts/notices";
import { isObserved, placementColumns, placementKey } from "../parts/table/placement-columns";
import { Time } from "../parts/when";

/** Every assignment on every cluster, as it should be and as it is. */
export default function Placements() {
  const [filters, change] = useFilters();
  const [at, setAt] = useParameter("at");
  const query = { ...queryOf(filters), ...(at ? { at } : {}) };
  const asked = useInfiniteQuery(placements(query));
  return (
    <Stack gap="sm">
      <Heading>Placements</Heading>
      <Legend counts={undefined} chosen={filters.states} toggle={(state) => change({ states: toggled(filters.states, state) })} />
      <Group gap="sm" role="search" aria-label="Filters">
        <FilterText label="Text" placeholder="Cluster, target, version, reason" value={filters.q} change={(q) => change({ q })} />
        <FilterText label="Label selector" placeholder="region=west-us" value={filters.label} change={(label) => change({ label })} />
        <FilterText label="Cluster type" placeholder="Cluster type" value={filters.clusterType} change={(clusterType) => change({ clusterType })} />
        <FilterText label="Target" placeholder="Target" value={filters.target} change={(target) => change({ target })} />
        <FilterText label="Workload" placeholder="Workload" value={filters.workload} change={(workload) => change({ workload })} />
        <FilterText label="Version" placeholder="Version" value={filters.version} change={(version) => change({ version })} />
        <TimeField label="Time; empty for now" value={at} change={setAt} />
      </Group>
      {at && (
        <Text size="sm" role="note">
          As it was at <Time time={at} />: what should run is from git, what ran is what the hub had observed by then. <span className="not-observed">Marked so</span> is what git asked for, and nobody had observed yet.{" "}
          <Button size="compact-xs" variant="default" onClick={() => setAt("")}>
            Now
          </Button>
        </Text>
      )}
      <ListTable<Placement>
        of={["placement", "placements"]}
        query={asked}
        columns={placementColumns(["environment", "cluster", "clusterType", "target", "state", "since", "actual", "desired", "reason"])}
        rowKey={placementKey}
        rowClass={(one) => (at && !isObserved(one) ? "not-observed-row" : undefined)}
        csv={href("/api/v1/placements", { ...query, format: "csv" })}
        empty={
          <Empty reason="No placement has what the filters ask for.">
            <Text size="sm">A placement is an assignment on a cluster that follows the environment&apos;s branch. Leave a filter out to see more.</Text>
          </Empty>
        }
      />
    </Stack>
  );
}
