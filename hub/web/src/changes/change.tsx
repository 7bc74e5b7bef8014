import { Alert, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { hubNow } from "../api/clock";
import { change } from "../api/queries";
import type { Change as ChangeData, ChangeDetail } from "../api/types";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { BranchLink, CommitLink, PullRequestLink, To } from "../parts/links";
import { type Column, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { SizeText } from "../parts/state/size";
import { Time } from "../parts/when";
import { changeStateOf } from "../words/change";
import { count, plain, repoName } from "../words/text";
import { durationText } from "../words/time";
import { ChangeMark } from "../parts/state/state-mark";
import { Section } from "../parts/section";
import { Lanes } from "./lanes-view";
import { Stages } from "./stage-bar";
import { shortStages, stagesOf, tookInAll } from "./stages";

/** One change on its way from a push to every cluster. */
export default function Change({ id }: { id: number }) {
  const asked = useQuery(change(id));
  const found = asked.data;
  return (
    <Stack gap="md">
      <Heading>{found ? plain(found.title) || `Change ${id}` : `Change ${id}`}</Heading>
      <Answered what={`change ${id}`} asked={asked}>
        {found && <Inside found={found} />}
      </Answered>
    </Stack>
  );
}

function Inside({ found }: { found: ChangeDetail }) {
  const state = changeStateOf(found.state);
  const took = tookInAll(stagesOf(found, shortStages, hubNow()));
  return (
    <>
      <Group gap="xs">
        <ChangeMark state={state} />
        <Text size="sm" className="reason">
          {[plain(found.reason), state === "applied" && took !== undefined ? `on ${count(found.total, "cluster")} after ${durationText(took)}` : ""].filter(Boolean).join(", ")}
        </Text>
      </Group>
      {found.epoch.number > 1 && (
        <Alert color="gray" variant="outline" title={`Branch ${plain(found.branch)} was pushed over`}>
          <Text size="sm">
            Its commits are counted anew since <Time time={found.epoch.began} />, this change among them. What clusters had before is not compared with it.
          </Text>
        </Alert>
      )}
      <Stages change={found} />
      <Facts
        facts={[
          ["Kind", plain(found.kind)],
          ["Environment", plain(found.environment)],
          ["Author", [plain(found.author) || "not known", found.approvedBy && `approved by ${plain(found.approvedBy)}`, found.mergedBy && `merged by ${plain(found.mergedBy)}`].filter(Boolean).join(", ")],
          ["Pull request", found.pullRequest > 0 ? <PullRequestLink key="pull" one={found} /> : "none: the commit was pushed to the branch"],
          [
            "Commit",
            <span key="commit">
              <CommitLink repo={found.repo} commit={found.sha} /> {plain(repoName(found.repo))} <BranchLink repo={found.repo} branch={found.branch} />
            </span>,
          ],
          ...(found.size ? [["Assignments", <SizeText key="size" size={found.size} />] as [string, React.ReactNode]] : []),
        ]}
      />
      <Section title="Clusters">
        <Lanes change={found} />
      </Section>
      {found.next && <Next next={found.next} />}
      <Section title="Sources">
        {found.sources.length > 0 ? (
          <Rows label="sources" columns={sourceColumns} items={found.sources} rowKey={(one) => `${one.repo} ${one.sha}`} />
        ) : (
          <Empty reason="Which commits it comes from is not known.">A pull request of the scheduler names the commit that it was planned from. One that a user has opened does not.</Empty>
        )}
      </Section>
    </>
  );
}

/** What of a change goes to the next environment, and what that waits for. */
function Next({ next }: { next: NonNullable<ChangeDetail["next"]> }) {
  return (
    <section aria-label="Promotion">
      <Title order={2} size="h4">
        <To path={`/changes/${next.change}`}>Promotion</To> to {plain(next.environment)}
      </Title>
      <Text size="sm" component="div">
        <Group gap="xs">
          <ChangeMark state={changeStateOf(next.state)} />
          {next.pullRequest > 0 && <PullRequestLink one={next} />}
          <span className="reason">{plain(next.reason)}</span>
        </Group>
      </Text>
    </section>
  );
}

const sourceColumns: Column<ChangeData["sources"][number]>[] = [
  { title: "Commit", cell: (one) => <CommitLink repo={one.repo} commit={one.sha} /> },
  { title: "Subject", cell: (one) => <span className="reason">{plain(one.subject)}</span> },
  { title: "Author", cell: (one) => plain(one.author) },
  { title: "Repository", cell: (one) => <To path={`/changes?q=${encodeURIComponent(one.sha)}`}>{plain(repoName(one.repo))}</To> },
  { title: "At", cell: (one) => <Time time={one.at} /> },
];
