import { Alert, Button, Group, Select, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "wouter";
import type { Explanation, Finding, Pair, Placement } from "../api/types";
import { explanation, objects, placements } from "../api/queries";
import { useEnvironments } from "../api/use-environments";
import { href } from "../filters/filters";
import { useFilters } from "../filters/use-filters";
import { Heading } from "../parts/heading";
import { BranchLink, PositionLink, To } from "../parts/links";
import { type Column, ListTable, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { placementColumns, placementKey } from "../parts/table/placement-columns";
import { Section } from "../parts/section";
import { whatIfPath } from "../whatif/address";
import { nearestEdits } from "../whatif/nearest";
import { plain } from "../words/text";
import { verdict } from "../words/verdict";
import { Clauses, Policies } from "./policies";

/** Why a deployment target is on a cluster type, or is not. */
export default function Assignments() {
  const [{ env, target, clusterType }, change] = useFilters();
  const { asked: known, all } = useEnvironments();
  const names = all.map((one) => one.name);
  const environment = env || names[0] || "";
  const targets = useQuery({ ...objects(environment, "targets"), enabled: environment !== "" });
  const types = useQuery({ ...objects(environment, "clustertypes"), enabled: environment !== "" });
  const options = (asked: typeof targets, chosen: string) => [...new Set([...(asked.data?.items ?? []).map((one) => one.name ?? ""), chosen])].filter(Boolean).sort();
  return (
    <Stack gap="sm">
      <Heading>Assignments</Heading>
      <Answered what="the environments" asked={known}>
        <Group gap="sm" role="search" aria-label="What is asked about">
          <Select size="xs" label="Environment" data={names} value={environment || null} allowDeselect={false} onChange={(value) => change({ env: value ?? "" })} />
          <Select
            size="xs"
            w={280}
            label="Deployment target"
            searchable
            data={options(targets, target)}
            value={target || null}
            onChange={(value) => change({ target: value ?? "" })}
            error={targets.isError && "the environment's targets cannot be read"}
          />
          <Select
            size="xs"
            w={240}
            label="Cluster type"
            placeholder="all cluster types"
            searchable
            clearable
            data={options(types, clusterType)}
            value={clusterType || null}
            onChange={(value) => change({ clusterType: value ?? "" })}
            error={types.isError && "the environment's cluster types cannot be read"}
          />
        </Group>
        {environment && target ? (
          <Explained env={environment} target={target} clusterType={clusterType} />
        ) : (
          <Empty reason="Choose a deployment target.">With a cluster type as well, this page says what the target gets there, or which clause keeps it from there.</Empty>
        )}
      </Answered>
    </Stack>
  );
}

function Explained({ env, target, clusterType }: { env: string; target: string; clusterType: string }) {
  const asked = useQuery(explanation(env, target, clusterType));
  const found = asked.data;
  return (
    <Answered what={`the assignment of ${plain(target)}`} asked={asked}>
      {found && (
        <>
          {found.leftOut.length > 0 && <Findings title="What the environment has lost: this may be why" all={found.leftOut} />}
          <Text fw={600} role="status">
            {verdict(found)}
          </Text>
          <Text size="sm">
            Target <PositionLink at={found.target.place} /> of workload {plain(found.target.workload)}, on branch <BranchLink repo={found.controlPlane.repo} branch={found.controlPlane.branch} /> of the control
            plane.
          </Text>
          <Nearest env={env} found={found} />
          <Assigned found={found} env={env} />
          <Policies env={env} all={found.policies} />
          {found.problems.length > 0 && <Findings title="Problems" all={found.problems} />}
          {found.pair && <Gets pair={found.pair} />}
          {clusterType && <OnClusters env={env} target={found.target.name} clusterType={clusterType} />}
        </>
      )}
    </Answered>
  );
}

function Nearest({ env, found }: { env: string; found: Explanation }) {
  if (!found.nearest) return null;
  const edits = nearestEdits(found);
  return (
    <Section title="Nearest miss">
      <Text size="sm">
        Policy {plain(found.nearest.policy)} on cluster type {plain(found.nearest.clusterType)} misses by:
      </Text>
      <Clauses all={found.nearest.fails} />
      {edits.length > 0 && (
        <Button component={Link} size="compact-xs" variant="default" href={whatIfPath(env, { kind: "ClusterType", name: found.nearest.clusterType }, edits)}>
          What if {plain(found.nearest.clusterType)} had {edits.map((one) => `${one.operation === "removeLabel" ? "no " : ""}${plain(one.key)}${one.value ? `=${plain(one.value)}` : ""}`).join(", ")}
        </Button>
      )}
    </Section>
  );
}

function Assigned({ found, env }: { found: Explanation; env: string }) {
  if (found.assigned.length === 0) return null;
  return (
    <Section title="Assigned to">
      <ul>
        {found.assigned.map((one) => (
          <li key={one.clusterType}>
            <To path={href("/assignments", { env, target: found.target.name, clusterType: one.clusterType })}>{plain(one.clusterType)}</To> by {one.policies.map(plain).join(", ")}
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Findings of the plan with their places. */
export function Findings({ title, all }: { title: string; all: Finding[] }) {
  return (
    <Alert color="red" variant="outline" title={title}>
      {all.map((one, index) => (
        <div key={index}>
          <Text size="sm">
            {plain(one.severity)}: {plain(one.message)} <PositionLink at={one.place} />
          </Text>
          {one.hint && <Text size="sm">{plain(one.hint)}</Text>}
        </div>
      ))}
    </Alert>
  );
}

/** What the target gets on the cluster type: configuration with its sources, schemas, templates, files. */
function Gets({ pair }: { pair: Pair }) {
  return (
    <Section title={pair.assigned ? "What it gets" : "What it would get"}>
      {pair.config.length === 0 ? (
        <Text size="sm">No configuration applies to it.</Text>
      ) : (
        <Rows label="configuration" columns={configColumns} items={pair.config} rowKey={(one) => one.key} />
      )}
      {pair.schemas.map((schema) => (
        <Text size="sm" key={schema.of}>
          Schema of {plain(schema.of)} <PositionLink at={schema.place} />: {schema.findings.length === 0 ? "it holds" : schema.findings.map(plain).join("; ")}
        </Text>
      ))}
      {pair.templates.map((template) => (
        <Text size="sm" key={template.file}>
          Template {plain(template.name)} <PositionLink at={template.place} /> makes {plain(template.file)}
          {!template.place && ", but there is no such template"}
        </Text>
      ))}
      <ul>
        {pair.files.map((file) => (
          <li key={file.path}>
            {plain(file.action)}: {plain(file.path)}
          </li>
        ))}
      </ul>
      {pair.problems.length > 0 && <Findings title="What would be wrong" all={pair.problems} />}
    </Section>
  );
}

const configColumns: Column<Pair["config"][number]>[] = [
  { title: "Key", cell: (one) => plain(one.key) },
  { title: "Value", cell: (one) => <span className="reason">{plain(one.value)}</span> },
  {
    title: "Sources, the last decides",
    cell: (one) =>
      one.sources.map((source, index) => (
        <div key={index}>
          {plain(source.configMap)} <PositionLink at={source.place} /> {plain(source.role)}
        </div>
      )),
  },
];

function OnClusters({ env, target, clusterType }: { env: string; target: string; clusterType: string }) {
  const query = { env, target, clusterType };
  const asked = useInfiniteQuery(placements(query));
  return (
    <Section title="On clusters of the type">
      <ListTable<Placement>
        of={["placement", "placements"]}
        query={asked}
        columns={placementColumns(["cluster", "state", "since", "actual", "desired", "reason"], false)}
        rowKey={placementKey}
        csv={href("/api/v1/placements", { ...query, format: "csv" })}
        empty={<Empty reason="It runs on no cluster of this type.">Either it is not assigned, or no cluster follows the type&apos;s folder.</Empty>}
      />
    </Section>
  );
}
