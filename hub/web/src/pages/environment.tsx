import { Alert, Code, Group, Stack, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { environments, type ObjectKind, objectKinds, objects, problems } from "../api/queries";
import type { ObjectDocument } from "../api/types";
import { href } from "../filters/filters";
import { useParameter } from "../filters/use-filters";
import { kindOfList } from "../forms/kinds";
import { Counts } from "../parts/state/counts";
import { EditButton } from "../whatif/edit-button";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { BranchLink, CommitLink, PositionLink, To } from "../parts/links";
import { type Column, Rows } from "../parts/table/list-table";
import { Answered, Empty, Failed } from "../parts/notices";
import { Time } from "../parts/when";
import { Section } from "../parts/section";
import { useMayPropose } from "../whatif/permission";
import { plain } from "../words/text";
import { labelsText } from "./clusters";
import { problemColumns } from "./drift";
import { plans } from "./environments";

/** The plan of an environment, what is wrong with it, and the objects that it has. */
export default function Environment({ name }: { name: string }) {
  const asked = useQuery(environments);
  const found = asked.data?.items.find((one) => one.name === name);
  const known = useQuery(problems);
  const wrong = (known.data?.items ?? []).filter((one) => one.environment === name);
  const [tab, setTab] = useParameter("tab");
  return (
    <Stack gap="sm">
      <Heading>{`Environment ${plain(name)}`}</Heading>
      <Answered what="the environments" asked={asked}>
        {!found ? (
          <Empty reason={`There is no environment ${plain(name)}.`}>
            <To path="/environments">See those that there are</To>
          </Empty>
        ) : (
          <>
            {found.error && (
              <Alert color="red" variant="outline" title="The environment cannot be planned">
                <span className="reason">{plain(found.error)}</span>
              </Alert>
            )}
            <Facts
              facts={[
                ["Placements", <Counts key="counts" counts={found.counts} />],
                ["Plan", plans[found.plan] ?? "not known"],
                [
                  "Control plane",
                  <span key="control">
                    {plain(found.controlPlane)} <BranchLink repo={found.controlPlane} branch={found.branch} /> <CommitLink repo={found.controlPlane} commit={found.commit} />
                  </span>,
                ],
                [
                  "GitOps branch",
                  <span key="gitops">
                    {plain(found.gitOps.repo)} <BranchLink repo={found.gitOps.repo} branch={found.gitOps.branch} path={found.gitOps.path} /> <CommitLink repo={found.gitOps.repo} commit={found.gitOps.commit} />
                  </span>,
                ],
                ["As of", <Time key="asof" time={found.asOf} />],
              ]}
            />
            {known.isError && <Failed what="the problems of the model" asked={known} />}
            {wrong.length > 0 && (
              <Section title="Problems">
                <Rows label="problems" columns={problemColumns} items={wrong} rowKey={(one) => `${one.place}\n${one.message}`} />
              </Section>
            )}
            <Tabs value={tab || "clustertypes"} onChange={(value) => setTab(value ?? "")} keepMounted={false}>
              <Tabs.List>
                {Object.entries(objectKinds).map(([kind, title]) => (
                  <Tabs.Tab key={kind} value={kind}>
                    {title}
                  </Tabs.Tab>
                ))}
              </Tabs.List>
              {(Object.keys(objectKinds) as ObjectKind[]).map((kind) => (
                <Tabs.Panel key={kind} value={kind} pt="sm">
                  <Objects env={name} kind={kind} />
                </Tabs.Panel>
              ))}
            </Tabs>
          </>
        )}
      </Answered>
    </Stack>
  );
}

const position: Column<ObjectDocument> = { title: "File", cell: (one) => <PositionLink at={one.position} /> };
const labels: Column<ObjectDocument> = { title: "Labels", cell: (one) => <span className="reason">{labelsText(one.labels)}</span> };

function columnsOf(env: string, kind: ObjectKind): Column<ObjectDocument>[] {
  switch (kind) {
    case "assignments":
      return [
        { title: "Target", cell: (one) => <To path={href("/assignments", { env, target: one.target ?? "", clusterType: one.clusterType ?? "" })}>{plain(one.target)}</To> },
        { title: "Cluster type", cell: (one) => plain(one.clusterType) },
        { title: "Policies", cell: (one) => (one.policies ?? []).map(plain).join(", ") },
      ];
    case "targets":
      return [{ title: "Target", cell: (one) => <To path={href("/assignments", { env, target: one.name ?? "" })}>{plain(one.name)}</To> }, { title: "Workload", cell: (one) => plain(one.workload) }, labels, position];
    default:
      return [
        { title: "Name", cell: (one) => plain(one.name) },
        labels,
        {
          title: "Content",
          cell: (one) => (
            <details>
              <summary>Show</summary>
              <Code block className="log">
                {plain(JSON.stringify(one.spec, undefined, 2))}
              </Code>
            </details>
          ),
        },
        position,
        ...changeColumn(env, kind),
      ];
  }
}

/** The way to change an object, for a kind that can be changed and a user who may. */
function changeColumn(env: string, kind: ObjectKind): Column<ObjectDocument>[] {
  const of = kindOfList(kind);
  if (!of) return [];
  return [
    {
      title: "Change",
      cell: (one) => (
        <EditButton env={env} kind={of.kind} name={one.name} label={`Change ${plain(one.name)}`}>
          Change
        </EditButton>
      ),
    },
  ];
}

function Objects({ env, kind }: { env: string; kind: ObjectKind }) {
  const asked = useQuery(objects(env, kind));
  const title = objectKinds[kind];
  const of = kindOfList(kind);
  const may = useMayPropose(env);
  const columns = columnsOf(env, kind).filter((one) => may || one.title !== "Change");
  return (
    <Answered what={title.toLowerCase()} asked={asked}>
      {of && (
        <Group mb="xs">
          <EditButton env={env} kind={of.kind} make>
            New {of.one}
          </EditButton>
        </Group>
      )}
      {asked.data && asked.data.items.length === 0 && <Empty reason={`The environment has no ${title.toLowerCase()}.`} />}
      {asked.data && asked.data.items.length > 0 && <Rows label={title.toLowerCase()} columns={columns} items={asked.data.items} rowKey={(one) => `${one.name} ${one.target} ${one.clusterType}`} />}
    </Answered>
  );
}
