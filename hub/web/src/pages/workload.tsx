import { Group, Stack, Table, Text } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { objects, workload } from "../api/queries";
import type { Workload as WorkloadData } from "../api/types";
import { useEnvironments } from "../api/use-environments";
import { href } from "../filters/filters";
import { Counts } from "../parts/state/counts";
import { EditButton } from "../whatif/edit-button";
import { Heading } from "../parts/heading";
import { Histories } from "../parts/table/history";
import { PositionLink, To } from "../parts/links";
import { type Column, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { Section } from "../parts/section";
import { ladderOf } from "../words/ladder";
import { plain } from "../words/text";
import { labelsText } from "./clusters";

/** Where an application is, and how far each version has come. */
export default function Workload({ name }: { name: string }) {
  const asked = useQuery(workload(name));
  return (
    <Stack gap="sm">
      <Heading>{`Workload ${plain(name)}`}</Heading>
      <Answered what={`workload ${plain(name)}`} asked={asked}>
        {asked.data && (
          <>
            <Text size="sm">Workspace {plain(asked.data.workspace)}</Text>
            <Registrations found={asked.data} />
            <Versions found={asked.data} />
            <Targets found={asked.data} />
            <Section title="History">
              <Histories query={{ workload: name }} title={(one) => `${plain(one.target)} on ${plain(one.cluster)} in ${plain(one.environment)}`} empty={<Empty reason="It runs nowhere, so there is no history." />} />
            </Section>
          </>
        )}
      </Answered>
    </Stack>
  );
}

/** The ways to change the workload's registrations; of what has another name the environment's page has it. */
function Registrations({ found }: { found: WorkloadData }) {
  const names = Object.keys(found.environments).sort();
  const all = useQueries({ queries: names.map((env) => objects(env, "registrations")) });
  const of = names.filter((_, index) => all[index]?.data?.items.some((one) => one.name === found.name));
  return (
    <Group gap="xs">
      {of.map((env) => (
        <EditButton key={env} env={env} kind="WorkloadRegistration" name={found.name}>
          Change its registration in {plain(env)}
        </EditButton>
      ))}
    </Group>
  );
}

function Versions({ found }: { found: WorkloadData }) {
  const chain = useEnvironments().all.map((one) => one.name);
  const ladder = ladderOf(found.environments, chain);
  if (ladder.versions.length === 0) {
    return <Empty reason="It runs nowhere.">It is registered. Below is what it is assigned to; choose a target to see which clause keeps it from a cluster type.</Empty>;
  }
  return (
    <div className="list-table" tabIndex={0} role="region" aria-label="Versions">
      <Table fz="sm" withColumnBorders>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Version</Table.Th>
            {ladder.environments.map((name) => (
              <Table.Th scope="col" key={name}>
                {plain(name)}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {ladder.versions.map(({ version, n }) => (
            <Table.Tr key={version}>
              <Table.Th scope="row">{plain(version) || "no version"}</Table.Th>
              {ladder.environments.map((env, index) => (
                <Table.Td key={env}>{(n[index] ?? 0) > 0 ? <To path={href("/placements", { env, workload: found.name, version })}>{(n[index] ?? 0).toLocaleString("en")}</To> : "–"}</Table.Td>
              ))}
            </Table.Tr>
          ))}
          <Table.Tr>
            <Table.Th scope="row">State</Table.Th>
            {ladder.environments.map((env) => (
              <Table.Td key={env}>
                <Counts counts={found.environments[env]?.counts} />
              </Table.Td>
            ))}
          </Table.Tr>
        </Table.Tbody>
      </Table>
    </div>
  );
}

interface TargetLine {
  env: string;
  name: string;
  labels: Record<string, string> | undefined;
  at: { repo?: string; branch?: string; file?: string; line?: number } | undefined;
  assigned: { clusterType: string; policies: string[] }[];
}

const columns: Column<TargetLine>[] = [
  { title: "Environment", cell: (one) => plain(one.env) },
  { title: "Target", cell: (one) => <To path={href("/assignments", { env: one.env, target: one.name })}>{plain(one.name)}</To> },
  { title: "Labels", cell: (one) => <span className="reason">{labelsText(one.labels)}</span> },
  {
    title: "Assigned to",
    cell: (one) => (one.assigned.length === 0 ? "nothing" : one.assigned.map((to) => `${plain(to.clusterType)} by ${to.policies.map(plain).join(", ")}`).join("; ")),
  },
  { title: "File", cell: (one) => <PositionLink at={one.at} /> },
];

/** The targets of the workload as they are in git, and where they are assigned. */
function Targets({ found }: { found: WorkloadData }) {
  const names = Object.keys(found.environments).sort();
  const targets = useQueries({ queries: names.map((env) => objects(env, "targets")) });
  const assignments = useQueries({ queries: names.map((env) => objects(env, "assignments")) });
  const lines = names.flatMap((env, index): TargetLine[] =>
    (targets[index]?.data?.items ?? [])
      .filter((one) => one.workload === found.name)
      .map((one) => ({
        env,
        name: one.name ?? "",
        labels: one.labels,
        at: one.position,
        assigned: (assignments[index]?.data?.items ?? []).filter((to) => to.target === one.name).map((to) => ({ clusterType: to.clusterType ?? "", policies: to.policies ?? [] })),
      })),
  );
  const failed = [...targets, ...assignments].find((one) => one.isError);
  const pending = targets.some((one) => one.isPending);
  return (
    <Section title="Deployment targets">
      {failed && <Answered what="the model" asked={failed} children={undefined} />}
      {!pending && lines.length === 0 && !failed && <Empty reason="The workload has no deployment target." />}
      {lines.length > 0 && <Rows label="deployment targets" columns={columns} items={lines} rowKey={(one) => `${one.env}\n${one.name}`} />}
    </Section>
  );
}
