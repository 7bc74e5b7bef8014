import { SegmentedControl, Stack, Text } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { pullRequests } from "../api/queries";
import type { PullRequest } from "../api/types";
import { href, type Query } from "../filters/filters";
import { useFilters, useParameter } from "../filters/use-filters";
import { Heading } from "../parts/heading";
import { Outside } from "../parts/links";
import { type Column, ListTable } from "../parts/list-table";
import { Empty } from "../parts/notices";
import { Since, Time } from "../parts/when";
import { plain } from "../words/text";

/** What waits for whom. */
export default function PullRequests() {
  const [{ env }] = useFilters();
  const [shown, setShown] = useParameter("show");
  const query: Query = shown === "all" ? {} : { state: ["open"] };
  const asked = useInfiniteQuery(pullRequests(query));
  return (
    <Stack gap="sm">
      <Heading>Pull requests</Heading>
      {env && <Text size="sm">Those of all environments are here.</Text>}
      <div>
        <SegmentedControl
          size="xs"
          aria-label="State"
          value={shown || "open"}
          onChange={(value) => setShown(value === "open" ? "" : value)}
          data={[
            { value: "open", label: "Open" },
            { value: "all", label: "All" },
          ]}
        />
      </div>
      <ListTable<PullRequest>
        of={["pull request", "pull requests"]}
        query={asked}
        columns={columns}
        rowKey={(one) => `${one.repo}#${one.number}`}
        csv={href("/api/v1/pull-requests", { ...query, format: "csv" })}
        empty={shown === "all" ? <Empty reason="There has been no pull request yet.">The scheduler opens one when the plan of an environment differs from its branch.</Empty> : <NoneOpen />}
      />
    </Stack>
  );
}

/** That none is open, and which was merged last. */
function NoneOpen() {
  const asked = useInfiniteQuery(pullRequests({ state: ["merged"] }));
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

/** owner/name of a repository's address. */
function repoName(repo: string): string {
  return repo.replace(/\.git$/, "").split("/").slice(-2).join("/");
}

const columns: Column<PullRequest>[] = [
  { title: "Environment", cell: (one) => plain(one.environment) },
  {
    title: "Pull request",
    cell: (one) => (
      <Outside url={one.url}>
        #{one.number} {plain(one.title)}
      </Outside>
    ),
  },
  { title: "Repository", cell: (one) => plain(repoName(one.repo)) },
  { title: "Kind", cell: (one) => plain(one.kind) },
  { title: "State", cell: (one) => (one.held ? `${plain(one.state)}, held: it removes much, and waits to be released` : plain(one.state)) },
  { title: "Author", cell: (one) => plain(one.author) },
  { title: "Age", cell: (one) => <Since time={one.opened} /> },
  { title: "Merged", cell: (one) => (one.merged ? <Merged one={one} /> : "not yet") },
];

function Merged({ one }: { one: PullRequest }) {
  return (
    <>
      <Time time={one.merged} /> {one.mergedBy && `by ${plain(one.mergedBy)}`}
    </>
  );
}
