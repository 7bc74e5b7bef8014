import { SegmentedControl, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { pullRequests } from "../api/queries";
import type { PullRequest } from "../api/types";
import { href, type Query } from "../filters/filters";
import { useFilters, useParameter } from "../filters/use-filters";
import { Heading } from "../parts/heading";
import { Outside } from "../parts/links";
import { type Column, ListTable } from "../parts/table/list-table";
import { Empty } from "../parts/notices";
import { SizeText } from "../parts/state/size";
import { Mark } from "../parts/state/state-mark";
import { Since, Time } from "../parts/when";
import type { State } from "../words/states";
import { Proposals } from "../whatif/proposals";
import { plain, repoName } from "../words/text";

/** What waits for whom. */
export default function PullRequests() {
  const [{ env }] = useFilters();
  const [shown, setShown] = useParameter("show");
  return (
    <Stack gap="sm">
      <Heading>Pull requests</Heading>
      <div>
        <SegmentedControl
          size="xs"
          aria-label="State"
          value={shown || "open"}
          onChange={(value) => setShown(value === "open" ? "" : value)}
          data={[
            { value: "open", label: "Open" },
            { value: "all", label: "All" },
            { value: "proposals", label: "Proposals" },
          ]}
        />
      </div>
      {shown === "proposals" ? <Proposals env={env} /> : <Waiting env={env} shown={shown} />}
    </Stack>
  );
}

function Waiting({ env, shown }: { env: string; shown: string }) {
  const query: Query = { ...(env ? { env } : {}), ...(shown === "all" ? {} : { state: ["open"] }) };
  const asked = useInfiniteQuery(pullRequests(query));
  return (
    <ListTable<PullRequest>
      of={["pull request", "pull requests"]}
      query={asked}
      columns={columns}
      rowKey={(one) => `${one.repo}#${one.number}`}
      csv={href("/api/v1/pull-requests", { ...query, format: "csv" })}
      empty={shown === "all" ? <Empty reason="There has been no pull request yet.">The scheduler opens one when the plan of an environment differs from its branch.</Empty> : <NoneOpen env={env} />}
    />
  );
}

/** That none is open, and which was merged last. */
function NoneOpen({ env }: { env: string }) {
  const asked = useInfiniteQuery(pullRequests({ ...(env ? { env } : {}), state: ["merged"] }));
  const last = asked.data?.pages[0]?.items[0];
  return (
    <Empty reason="No pull request is open.">
      {last ? (
        <>
          The last one, <Outside url={last.url}>{plain(last.title)}</Outside>, was merged <Since time={last.merged} /> ago{last.mergedBy && ` by ${plain(last.mergedBy)}`}.
        </>
      ) : (
        "The scheduler opens one when the plan of an environment differs from its branch."
      )}
    </Empty>
  );
}

const columns: Column<PullRequest>[] = [
  { title: "Environment", cell: (one) => plain(one.environment) || "control plane" },
  {
    title: "Pull request",
    cell: (one) => (
      <>
        <Outside url={one.url}>
          #{one.number} {plain(one.title)}
        </Outside>
        <Text size="xs" c="dimmed">
          {plain(repoName(one.repo))} · {plain(one.kind)} · {plain(one.author)}
        </Text>
      </>
    ),
  },
  {
    title: "State",
    cell: (one) => (
      <>
        {one.held ? `${plain(one.state)}, held` : plain(one.state)}
        {one.merged && (
          <Text size="xs" c="dimmed">
            <Time time={one.merged} /> {one.mergedBy && `by ${plain(one.mergedBy)}`}
          </Text>
        )}
      </>
    ),
  },
  { title: "Waits for", cell: (one) => <span className="reason">{plain(one.reason)}</span> },
  { title: "Assignments", cell: (one) => <SizeText size={one.size} /> },
  { title: "Clusters", figures: true, cell: (one) => one.clusters.toLocaleString("en") },
  { title: "Checks", cell: (one) => <Checks state={one.checks} /> },
  { title: "Age", cell: (one) => <Since time={one.opened} /> },
];

/** What a pull request's checks say: each result has a shape as states have it. */
const checks: Record<string, [State, string]> = { success: ["ok", "passed"], failure: ["failing", "failed"], pending: ["rolling", "running"] };

function Checks({ state }: { state: string }) {
  const [shape, word] = checks[state] ?? [];
  if (!shape) return state ? <Mark state="unknown" word={plain(state)} /> : <>none</>;
  return <Mark state={shape} word={word ?? ""} />;
}
