import { Group, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { workloads } from "../api/queries";
import type { Workload } from "../api/types";
import { FilterText } from "../filters/filter-text";
import { useFilters } from "../filters/use-filters";
import { Counts } from "../parts/state/counts";
import { Heading } from "../parts/heading";
import { WorkloadLink } from "../parts/links";
import { type Column, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { plain } from "../words/text";

/** The workloads, and how each is in each environment. */
export default function Workloads() {
  const [{ q, env }, change] = useFilters();
  const asked = useQuery(workloads);
  const found = (asked.data?.items ?? []).filter((one) => (!env || env in one.environments) && (one.name.includes(q) || one.workspace.includes(q)));
  const environments = [...new Set(found.flatMap((one) => Object.keys(one.environments)))].filter((name) => !env || name === env).sort();
  const columns: Column<Workload>[] = [
    { title: "Workload", cell: (one) => <WorkloadLink name={one.name} /> },
    { title: "Workspace", cell: (one) => plain(one.workspace) },
    ...environments.map(
      (name): Column<Workload> => ({
        title: name,
        cell: (one) => {
          const here = one.environments[name];
          if (!here) return "none";
          return Object.keys(here.counts).length > 0 ? <Counts counts={here.counts} /> : "none";
        },
      }),
    ),
  ];
  return (
    <Stack gap="sm">
      <Heading>Workloads</Heading>
      <Group role="search" aria-label="Filters">
        <FilterText label="Text" placeholder="Workload or workspace" value={q} change={(text) => change({ q: text })} />
      </Group>
      <Answered what="the workloads" asked={asked}>
        {found.length > 0 ? (
          <Rows label="workloads" columns={columns} items={found} rowKey={(one) => one.name} />
        ) : (
          <Empty reason={q || env ? "No workload has what the filters ask for." : "The hub knows no workload yet."}>A workload is a Workload object that a WorkloadRegistration of the control plane names.</Empty>
        )}
      </Answered>
    </Stack>
  );
}
