import { Button, Group, Text } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import type { Query } from "../filters/filters";
import { Outside, To } from "../parts/links";
import { type Column, ListTable } from "../parts/list-table";
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

/** Closes an open proposal, once it is pressed again. */
function Close({ one }: { one: Proposal }) {
  const may = useMayPropose(one.environment);
  const queries = useQueryClient();
  const [sure, setSure] = useState(false);
  const close = useMutation({
    mutationFn: () => closeProposal(one.id),
    onSettled: () => queries.invalidateQueries({ queryKey: ["proposals"] }),
  });
  if (one.state !== "open" || !may) return null;
  return (
    <>
      {sure ? (
        <Group gap={4} wrap="nowrap">
          <Button size="compact-xs" color="red" loading={close.isPending} aria-label={`Close #${one.number} for good`} onClick={() => close.mutate()}>
            Close it
          </Button>
          <Button size="compact-xs" variant="default" onClick={() => setSure(false)}>
            Keep
          </Button>
        </Group>
      ) : (
        <Button size="compact-xs" variant="default" aria-label={`Close #${one.number}`} onClick={() => setSure(true)}>
          Close
        </Button>
      )}
      {close.error && (
        <Text size="sm" role="alert">
          {close.error.message}
        </Text>
      )}
    </>
  );
}
