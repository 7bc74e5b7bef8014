import { Alert, Group, Stack, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { clusters, drift, outliers, problems, sources } from "../api/queries";
import type { DriftGroup, ModelProblem, Outlier, Source } from "../api/types";
import { FilterText } from "../filters/filter-text";
import { href, queryOf } from "../filters/filters";
import { useFilters } from "../filters/use-filters";
import { Heading } from "../parts/heading";
import { assignmentPath, ClusterLink, PullRequestLink, To } from "../parts/links";
import { CSV, More } from "../parts/table/list-buttons";
import { type Column, ListTable, Rows } from "../parts/table/list-table";
import { Answered, Failed } from "../parts/notices";
import { StateMark } from "../parts/state/state-mark";
import { Since, Time } from "../parts/when";
import { Section } from "../parts/section";
import { headline, inSection, sections } from "../words/drift";
import { stateOf } from "../words/states";
import { percent, plain } from "../words/text";

/** What is wrong now and since when, by cause. */
export default function Drift() {
  const [filters, change] = useFilters();
  const query = queryOf({ states: sections.flatMap((section) => section.states), env: filters.env, workspace: filters.workspace, label: filters.label, q: filters.q });
  const asked = useInfiniteQuery(drift(query));
  const all = useInfiniteQuery(clusters(filters.env ? { env: filters.env } : {}));
  const silent = useInfiniteQuery(clusters({ ...(filters.env ? { env: filters.env } : {}), unknown: true }));
  const groups = asked.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Stack gap="md">
      <Heading>Drift and failures</Heading>
      <Answered what="the drift" asked={asked}>
        <Text fw={600} role="status">
          {all.data && silent.data && !asked.hasNextPage && headline(groups, all.data.pages[0]?.total ?? 0, silent.data.pages[0]?.total ?? 0)}
        </Text>
      </Answered>
      <Group gap="sm" role="search" aria-label="Filters">
        <FilterText label="Text" placeholder="Cluster, target, version, reason" value={filters.q} change={(q) => change({ q })} />
        <FilterText label="Label selector" placeholder="region=west-us" value={filters.label} change={(label) => change({ label })} />
        {groups.length > 0 && (
          <CSV path={href("/api/v1/drift", { ...query, format: "csv" })} />
        )}
      </Group>
      {/* without these counts nothing is said, and nothing looks as if all were well */}
      {all.isError && <Failed what="the clusters" asked={all} />}
      {silent.isError && <Failed what="the clusters that have not answered" asked={silent} />}
      <Sources />
      {sections.map(({ title, states }) => {
        const found = inSection(groups, states);
        return (
          found.length > 0 && (
            <Section key={title} title={title}>
              <Rows label={`what is ${title.toLowerCase()}`} columns={groupColumns} items={found} rowKey={(one) => `${one.environment}\n${one.state}\n${one.reason}`} />
            </Section>
          )
        );
      })}
      <div>
        <More query={asked} />
      </div>
      <Outliers env={filters.env} />
      <Model env={filters.env} />
    </Stack>
  );
}

const groupColumns: Column<DriftGroup>[] = [
  { title: "State", cell: (one) => <StateMark state={stateOf(one.state)} /> },
  { title: "For", cell: (one) => <Since time={one.since} /> },
  { title: "Environment", cell: (one) => plain(one.environment) },
  { title: "Reason", cell: (one) => <span className="reason">{plain(one.n === 1 ? one.example : one.reason)}</span> },
  {
    title: "Placements",
    figures: true,
    cell: (one) => <To path={href("/placements", { env: one.environment, state: one.state })}>{one.n.toLocaleString("en")}</To>,
  },
  { title: "Clusters", figures: true, cell: (one) => one.clusters.toLocaleString("en") },
  { title: "On", cell: (one) => <Some names={one.clusterNames ?? []} of={one.clusters} show={(name) => <ClusterLink name={name} />} /> },
  {
    title: "Began with",
    cell: (one) =>
      one.change ? (
        <>
          <To path={`/changes/${one.change.id}`}>{plain(one.change.title)}</To>
          {one.change.author && ` of ${plain(one.change.author)}`}
          {one.change.pullRequest > 0 && (
            <>
              {" "}
              <PullRequestLink one={one.change} />
            </>
          )}
        </>
      ) : (
        ""
      ),
  },
  { title: "Targets", cell: (one) => <Some names={one.targets ?? []} of={(one.targets ?? []).length} show={(name) => plain(name)} /> },
];

/** How many names of a group are shown. */
const few = 3;

function Some({ names, of, show }: { names: string[]; of: number; show(name: string): React.ReactNode }) {
  return (
    <>
      {names.slice(0, few).map((name, index) => (
        <span key={name}>
          {index > 0 && ", "}
          {show(name)}
        </span>
      ))}
      {of > few && ` and ${(of - few).toLocaleString("en")} more`}
    </>
  );
}

/** The sources that do not answer, before all else: what they would know is old. */
function Sources() {
  const asked = useQuery(sources);
  const failing = (asked.data?.items ?? []).filter((one: Source) => one.state !== "ok");
  return (
    <>
      {asked.isError && <Failed what="the sources" asked={asked} />}
      {failing.map((one) => (
        <Alert key={one.name} color="red" variant="outline" title={`${plain(one.name)} does not answer`}>
          <Text size="sm">{plain(one.reason)}</Text>
          <Text size="sm">
            The last answer came at <Time time={one.lastOK} />. What it reported then is still shown.
          </Text>
        </Alert>
      ))}
    </>
  );
}

/** Clusters that have another version than nearly all of their type. */
function Outliers({ env }: { env: string }) {
  const asked = useInfiniteQuery(outliers(env ? { env } : {}));
  const found = asked.data?.pages.flatMap((page) => page.items) ?? [];
  if (!asked.isError && found.length === 0) return null;
  return (
    <Section title="Outliers">
      <ListTable<Outlier> of={["outlier", "outliers"]} query={asked} columns={outlierColumns} rowKey={(one) => `${one.environment}\n${one.cluster}\n${one.target}`} csv={href("/api/v1/outliers", { ...(env ? { env } : {}), format: "csv" })} empty={null} />
    </Section>
  );
}

const outlierColumns: Column<Outlier>[] = [
  { title: "Environment", cell: (one) => plain(one.environment) },
  { title: "Cluster", cell: (one) => <ClusterLink name={one.cluster} /> },
  { title: "Cluster type", cell: (one) => plain(one.clusterType) },
  { title: "Target", cell: (one) => <To path={assignmentPath(one.environment, one.target, one.clusterType)}>{plain(one.target)}</To> },
  { title: "Runs", cell: (one) => plain(one.version) || "no version" },
  { title: "The others run", cell: (one) => `${plain(one.usual) || "no version"}, ${percent(one.share)} of them` },
  { title: "For", cell: (one) => <Since time={one.since} /> },
];

/** What is wrong with the model: findings, and pull requests that are held. */
function Model({ env }: { env: string }) {
  const asked = useQuery(problems);
  const found = (asked.data?.items ?? []).filter((one) => !env || one.environment === env || one.environment === "");
  return (
    <>
      {asked.isError && <Failed what="the problems of the model" asked={asked} />}
      {found.length > 0 && (
        <Section title="Model">
          <Rows label="problems of the model" columns={problemColumns} items={found} rowKey={(one) => `${one.environment}\n${one.place}\n${one.message}`} />
        </Section>
      )}
    </>
  );
}

export const problemColumns: Column<ModelProblem>[] = [
  { title: "Severity", cell: (one) => plain(one.severity) },
  { title: "For", cell: (one) => <Since time={one.firstSeen} /> },
  { title: "Environment", cell: (one) => plain(one.environment) || "control plane" },
  { title: "File", cell: (one) => plain(one.place) },
  { title: "Problem", cell: (one) => <span className="reason">{[one.message, one.hint].filter(Boolean).map(plain).join("\n")}</span> },
];
