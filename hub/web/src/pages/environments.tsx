import { Stack } from "@mantine/core";
import type { Environment } from "../api/types";
import { useEnvironments } from "../api/use-environments";
import { href, pathOf } from "../filters/filters";
import { Counts } from "../parts/state/counts";
import { Heading } from "../parts/heading";
import { BranchLink, CommitLink, To } from "../parts/links";
import { type Column, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { Time } from "../parts/when";
import { plain } from "../words/text";

export const plans: Record<string, string> = {
  synced: "the branch is as planned",
  planning: "the plan differs from the branch",
  error: "it cannot be planned",
};

const columns: Column<Environment>[] = [
  { title: "Environment", cell: (one) => <To path={`/environments${pathOf(one.name)}`}>{plain(one.name)}</To> },
  { title: "Placements", cell: (one) => <To path={href("/placements", { env: one.name })}><Counts counts={one.counts} /></To> },
  { title: "Plan", cell: (one) => plans[one.plan] ?? "not known" },
  {
    title: "Control plane",
    cell: (one) => (
      <>
        <BranchLink repo={one.controlPlane} branch={one.branch} /> <CommitLink repo={one.controlPlane} commit={one.commit} />
      </>
    ),
  },
  {
    title: "GitOps branch",
    cell: (one) => (
      <>
        <BranchLink repo={one.gitOps.repo} branch={one.gitOps.branch} path={one.gitOps.path} /> <CommitLink repo={one.gitOps.repo} commit={one.gitOps.commit} />
      </>
    ),
  },
  { title: "As of", cell: (one) => <Time time={one.asOf} /> },
];

/** The environments in the order in which changes go through them. */
export default function Environments() {
  const { asked, all: items } = useEnvironments();
  return (
    <Stack gap="sm">
      <Heading>Environments</Heading>
      <Answered what="the environments" asked={asked}>
        {items.length > 0 ? (
          <Rows label="environments" columns={columns} items={items} rowKey={(one) => one.name} />
        ) : (
          <Empty reason="The hub knows no environment yet.">An environment is an Environment object in the control plane, and a branch of it.</Empty>
        )}
      </Answered>
    </Stack>
  );
}
