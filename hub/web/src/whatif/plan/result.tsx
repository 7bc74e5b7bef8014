import { Alert, Code, Stack, Text } from "@mantine/core";
import { memo } from "react";
import { href } from "../../filters/filters";
import { assignmentPath, ClusterLink, PositionLink, To, WorkloadLink } from "../../parts/links";
import { type Column, Rows } from "../../parts/table/list-table";
import { Section } from "../../parts/section";
import { positionOf } from "../../words/position";
import { count, plain } from "../../words/text";
import { ChangeSign } from "./change-sign";
import type { Plan, PlanAssignment, PlanFinding } from "../../api/types";
import { Files } from "./files";
import type { Asking } from "../queries";

/** What a plan is compared with. */
export const againsts = { planned: "Planned", merged: "Merged", running: "Running" } as const;

/** What a plan does, in a line: it is read out when it has changed. */
export function summaryOf({ assignments: { gainedCount, lostCount, changedCount }, fileCount, findings, policyTests }: Plan): string {
  const wrong = findings.filter((one) => one.new && one.severity === "error").length + policyTests.failed.length;
  return [
    `${gainedCount.toLocaleString("en")} gained`,
    `${lostCount.toLocaleString("en")} lost`,
    `${changedCount.toLocaleString("en")} changed`,
    count(fileCount, "file"),
    ...(wrong > 0 ? [count(wrong, "thing wrong", "things wrong")] : []),
  ].join(", ");
}

/** All that a plan says. While the next answer is awaited nothing of it changes, so nothing is drawn again at each key. */
export const Result = memo(function Result({ plan, asking }: { plan: Plan; asking: Asking }) {
  const { gained, lost, changed, gainedCount, lostCount, changedCount, same } = plan.assignments;
  const all = gainedCount + lostCount + changedCount;
  const lines = [...lost.map(line("removed", "lost")), ...gained.map(line("added", "gained")), ...changed.map(line("changed", "changed"))];
  return (
    <Stack gap="sm">
      {lines.length > 0 && (
        <Section title="Assignments">
          <Rows label="assignments" columns={assignmentColumns(plan.environment)} items={lines} rowKey={({ one, change }) => `${change} ${one.clusterType} ${one.target}`} />
          <Text size="sm" mt={4}>
            {lines.length < all && `These are ${lines.length.toLocaleString("en")} of ${all.toLocaleString("en")}. `}
            {count(same, "assignment")} {same === 1 ? "stays as it is" : "stay as they are"}.
          </Text>
        </Section>
      )}
      {plan.unchangedBecause && <Unchanged plan={plan} asking={asking} />}
      <Findings plan={plan} />
      <PolicyTests plan={plan} />
      {plan.configuration.length > 0 && (
        <Section title="Configuration">
          <Rows label="configuration" columns={configurationColumns(plan)} items={plan.configuration} rowKey={(one) => `${one.clusterType} ${one.target} ${one.key}`} />
        </Section>
      )}
      <Files title={`Files of ${plain(plan.environment)}`} files={plan.files} n={plan.fileCount} asking={asking} head={plan.head} />
      <Files title="Files of the control plane" files={plan.source.files} n={plan.source.files.length} asking={asking} head={plan.head} />
    </Stack>
  );
});

interface Line {
  one: PlanAssignment;
  change: "added" | "removed" | "changed";
  word: string;
}

const line = (change: Line["change"], word: string) => (one: PlanAssignment) => ({ one, change, word });

function assignmentColumns(env: string): Column<Line>[] {
  return [
    { title: "Change", cell: ({ change, word }) => <ChangeSign change={change} word={word} /> },
    {
      title: "Target",
      cell: ({ one }) => (
        <>
          <To path={assignmentPath(env, one.target, one.clusterType)}>{plain(one.target)}</To>
          <Text size="xs" c="dimmed">
            <WorkloadLink name={one.workload} />
          </Text>
        </>
      ),
    },
    { title: "Cluster type", cell: ({ one }) => plain(one.clusterType) },
    { title: "Policies", cell: ({ one }) => one.policies.map(plain).join(", ") },
    { title: "Clusters", cell: ({ one }) => <Clusters env={env} one={one} /> },
  ];
}

/** How many clusters are named. */
const named = 3;

function Clusters({ env, one }: { env: string; one: PlanAssignment }) {
  if (one.clusterCount === 0) return <>none follows it</>;
  const more = one.clusterCount - Math.min(named, one.clusters.length);
  return (
    <>
      {one.clusters.slice(0, named).map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          <ClusterLink name={name} />
        </span>
      ))}
      {more > 0 && (
        <>
          {" and "}
          <To path={href("/placements", { env, clusterType: one.clusterType })}>{more.toLocaleString("en")} more</To>
        </>
      )}
    </>
  );
}

function configurationColumns(plan: Plan): Column<Plan["configuration"][number]>[] {
  return [
    { title: "Key", cell: (one) => <Code>{plain(one.key)}</Code> },
    {
      title: "Of",
      cell: (one) => (
        <>
          {plain(one.target)}
          <Text size="xs" c="dimmed">
            on {plain(one.clusterType)}
          </Text>
        </>
      ),
    },
    { title: "Before", cell: (one) => <Value value={one.before} /> },
    {
      title: "After",
      cell: (one) => (
        <>
          <Value value={one.after} />
          <Text size="xs" c="dimmed">
            <Place plan={plan} place={one.place} />
          </Text>
        </>
      ),
    },
  ];
}

function Value({ value }: { value: string | undefined }) {
  return value === undefined ? <>not set</> : <span className="plan-value">{plain(value)}</span>;
}

/** Where something is: a file with its line, of the branch that is edited where no other is named before it. */
function Place({ plan, place }: { plan: Plan; place: string }) {
  const [, branch, rest] = /^[^:]*@([^:]+):(.+)$/.exec(place) ?? [];
  if (branch && branch !== plan.branch) return <Code>{plain(place)}</Code>;
  const { file, line } = positionOf((rest ?? place).replace(/^(.+:\d+):\d+$/, "$1"));
  return <PositionLink at={{ repo: plan.controlPlane, branch: plan.branch, file, line }} />;
}

/** Why nothing changes, and where it is explained. */
function Unchanged({ plan, asking }: { plan: Plan; asking: Asking }) {
  const one = asking.edits.find((edit) => edit.kind === "ClusterType");
  return (
    <section aria-label="Why nothing changes">
      <Text size="sm" className="reason">
        {plain(plan.unchangedBecause)}
      </Text>
      <Text size="sm">
        <To path={href("/assignments", { env: plan.environment, ...(one?.name ? { clusterType: one.name } : {}) })}>See which clause keeps a target from a cluster type</To>
      </Text>
    </section>
  );
}

function Findings({ plan }: { plan: Plan }) {
  const fresh = plan.findings.filter((one) => one.new);
  const known = plan.findings.filter((one) => !one.new);
  if (plan.findings.length === 0) return null;
  const list = (all: PlanFinding[]) => <Rows label="findings" columns={findingColumns(plan)} items={all} rowKey={(one) => `${one.rule} ${one.place} ${one.message}`} />;
  return (
    <Section title="Findings">
      {fresh.length > 0 && list(fresh)}
      {known.length > 0 && (
        <details>
          <summary>{count(known.length, "finding")} without the edits, too</summary>
          {list(known)}
        </details>
      )}
    </Section>
  );
}

function findingColumns(plan: Plan): Column<PlanFinding>[] {
  return [
    { title: "Severity", cell: (one) => plain(one.severity) },
    {
      title: "Finding",
      cell: (one) => (
        <>
          {plain(one.message)}
          {one.hint && <div>{plain(one.hint)}</div>}
          <Text size="xs" c="dimmed">
            <Place plan={plan} place={one.place} /> · {plain(one.rule)}
          </Text>
        </>
      ),
    },
  ];
}

function PolicyTests({ plan }: { plan: Plan }) {
  const { passed, notRun, failed } = plan.policyTests;
  if (passed + notRun + failed.length === 0) return null;
  return (
    <Section title="Policy tests">
      <Text size="sm">
        {passed.toLocaleString("en")} passed, {failed.length.toLocaleString("en")} failed{notRun > 0 && `, ${notRun.toLocaleString("en")} not run`}.
      </Text>
      {failed.map((one) => (
        <Alert key={`${one.place} ${one.name}`} color="red" variant="outline" mt={4} title={`Failed: ${plain(one.name)}`}>
          <Text size="sm" className="reason">
            {plain(one.message)} <Place plan={plan} place={one.place} />
          </Text>
          {one.hint && <Text size="sm">{plain(one.hint)}</Text>}
        </Alert>
      ))}
    </Section>
  );
}
