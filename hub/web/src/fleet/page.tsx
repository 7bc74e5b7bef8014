import { Alert, Button, Checkbox, Group, SegmentedControl, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { workloads } from "../api/queries";
import type { Environment } from "../api/types";
import { useEnvironments } from "../api/use-environments";
import { type Filters, queryOf, toggled } from "../filters/filters";
import { useFilters, useParameter } from "../filters/use-filters";
import { FilterText } from "../filters/filter-text";
import { Legend } from "../parts/state/counts";
import { Heading } from "../parts/heading";
import { BranchLink } from "../parts/links";
import { Answered, Empty } from "../parts/notices";
import { plain } from "../words/text";
import { Grid } from "./grid";
import type { Line } from "./matrix";
import { type Chosen, Panel } from "./panel";
import { useMatrix } from "./use-matrix";

/** What version runs where: cluster types by deployment targets of one environment. */
export default function Fleet() {
  const { asked, all } = useEnvironments();
  const [filters] = useFilters();
  const environment = filters.env ? all.find((one) => one.name === filters.env) : all[0];
  return (
    <Stack gap="sm">
      <Heading>{`Fleet${environment ? `: ${plain(environment.name)}` : ""}`}</Heading>
      <Answered what="the environments" asked={asked}>
        {environment ? (
          <MatrixOf environment={environment} />
        ) : filters.env ? (
          <Empty reason={`There is no environment ${filters.env}.`}>Choose another one above.</Empty>
        ) : (
          <Empty reason="The hub knows no environment yet.">
            An environment is an Environment object in the control plane, and a branch of it. What keeps the hub from reading them is on the page Drift.
          </Empty>
        )}
      </Answered>
    </Stack>
  );
}

function MatrixOf({ environment }: { environment: Environment }) {
  const [filters, change] = useFilters();
  const [cols, setCols] = useParameter("cols");
  const [differs, setDiffers] = useParameter("differs");
  const [open, setOpen] = useParameter("open");
  const [chosen, choose] = useState<Chosen>();
  const by = cols === "workloads" ? "workloads" : "targets";
  const { states, workspace, label, q } = filters;
  const opened = open ? open.split("\n") : [];
  const { types, cols: columns, lines, more } = useMatrix({
    env: environment.name,
    cols: by,
    filters: queryOf({ states, workspace, label, q }),
    differs: differs === "1",
    open: opened,
  });
  const expand = (line: Line) => {
    if (line.kind === "more") more(line);
    if (line.kind === "type") setOpen((line.open ? opened.filter((one) => one !== line.row.name) : [...opened, line.row.name]).join("\n"));
  };
  const filtered = states.length > 0 || [workspace, label, q, differs].some((text) => text !== "");
  const clear = () => {
    change({ states: [], workspace: "", label: "", q: "" });
    setDiffers("");
  };
  return (
    <>
      {environment.error && (
        <Alert color="red" variant="outline" title={`Environment ${environment.name} cannot be planned`}>
          {plain(environment.error)}
        </Alert>
      )}
      <Legend counts={environment.counts} chosen={states} toggle={(state) => change({ states: toggled(states, state) })} />
      <Bar filters={filters} change={change}>
        <Checkbox label="Only what differs" size="xs" checked={differs === "1"} onChange={(event) => setDiffers(event.currentTarget.checked ? "1" : "")} />
        <SegmentedControl
          size="xs"
          aria-label="Columns"
          value={by}
          onChange={(value) => setCols(value === "targets" ? "" : value)}
          data={[
            { value: "targets", label: "Targets" },
            { value: "workloads", label: "Workloads" },
          ]}
        />
      </Bar>
      <Answered what="the matrix" asked={types}>
        {lines.length > 0 ? (
          <Grid
            label={`Versions in environment ${environment.name}: cluster types by ${by === "targets" ? "deployment targets" : "workloads"}`}
            cols={columns}
            lines={lines}
            expand={expand}
            choose={(line, col) =>
              choose({ env: environment.name, clusterType: line.kind === "type" ? line.row.name : line.row.clusterType, cluster: line.kind === "cluster" ? line.row.name : "", col, by })
            }
          />
        ) : filtered ? (
          <Empty reason="Nothing here has what the filters ask for.">
            <Button size="xs" variant="default" onClick={clear}>
              Clear the filters
            </Button>
          </Empty>
        ) : (
          <Empty reason={`No cluster follows branch ${environment.gitOps.branch}.`}>
            Make a Kustomization of Flux or an Application of Argo CD on a cluster follow <BranchLink repo={environment.gitOps.repo} branch={environment.gitOps.branch} path={environment.gitOps.path} />, in
            the folder of the cluster&apos;s type.
          </Empty>
        )}
      </Answered>
      <Text size="sm">
        <kbd>Arrow keys</kbd> move in the grid, <kbd>Enter</kbd> opens what is marked.
      </Text>
      <Panel chosen={chosen} close={() => choose(undefined)} />
    </>
  );
}

function Bar({ filters, change, children }: { filters: Filters; change(next: Partial<Filters>): void; children: React.ReactNode }) {
  const found = useQuery(workloads).data?.items ?? [];
  const workspaces = [...new Set([...found.map((one) => one.workspace), filters.workspace])].filter(Boolean).sort();
  return (
    <Group gap="sm" align="center" role="search" aria-label="Filters">
      <FilterText label="Text" placeholder="Cluster, target, version, reason" value={filters.q} change={(q) => change({ q })} />
      <FilterText label="Label selector" placeholder="region=west-us" value={filters.label} change={(label) => change({ label })} />
      <Select
        size="xs"
        w={180}
        aria-label="Workspace"
        placeholder="all workspaces"
        clearable
        data={workspaces}
        value={filters.workspace || null}
        onChange={(value) => change({ workspace: value ?? "" })}
      />
      {children}
    </Group>
  );
}
