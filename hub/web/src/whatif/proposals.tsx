import { Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import type { Query } from "../filters/filters";
import { ConfirmButton } from "../parts/confirm-button";
import { Outside, To } from "../parts/links";
import { type Column, ListTable } from "../parts/table/list-table";
import { Empty } from "../parts/notices";
import { Since } from "../parts/when";
import { plain } from "../words/text";
import { whatIfPath } from "./address";
import type { Proposal } from "../api/types";
import { useMayPropose } from "./permission";
import { closeProposal, proposals } from "./queries";

/** What was proposed here, and what has become of it. */
export function Proposals({ env }: { env: string }) {
  const query: Query = env ? { env } : {};
  const asked = useInfiniteQuery(proposals(query));
  return (
    <ListTable<Proposal>
      of={["proposal", "proposals"]}
      query={asked}
      columns={columns}
      rowKey={(one) => one.id}
      empty={
        <Empty reason="Nothing has been proposed yet.">
          <To path={whatIfPath(env)}>See what would happen if something were changed</To>, and propose it there.
        </Empty>
      }
    />
  );
}

const columns: Column<Proposal>[] = [
  { title: "Environment", cell: (one) => plain(one.environment) },
  {
    title: "Proposal",
    cell: (one) => (
      <>
        <Outside url={one.url}>
          #{one.number} {plain(one.title)}
        </Outside>
        <Text size="xs" c="dimmed">
          {plain(one.author)} · <span>{plain(one.branch)}</span>
        </Text>
      </>
    ),
  },
  {
    title: "State",
    cell: (one) => (
      <>
        {plain(one.state)}
        {one.state === "open" && one.fourEyes && (
          <Text size="xs" c="dimmed">
            waits for somebody else&apos;s approval
          </Text>
        )}
      </>
    ),
  },
  { title: "Age", cell: (one) => <Since time={one.createdAt} /> },
  { title: "Close", cell: (one) => <Close one={one} /> },
];

/** Closes an open proposal. */
function Close({ one }: { one: Proposal }) {
  const may = useMayPropose(one.environment);
  const queries = useQueryClient();
  const close = useMutation({
    mutationFn: () => closeProposal(one.id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["proposals"] }),
  });
  if (one.state !== "open" || !may) return null;
  return (
    <>
      <ConfirmButton
        label={`Close #${one.number}`}
        busy={close.isPending}
        question="The pull request is closed without being merged, and its branch is removed."
        yes="Close it"
        yesLabel={`Close #${one.number} for good`}
        run={() => close.mutate()}
      >
        Close
      </ConfirmButton>
      {close.error && (
        <Text size="sm" role="alert">
          {close.error.message}
        </Text>
      )}
    </>
  );
}
