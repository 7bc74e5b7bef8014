import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { events, placements } from "../../api/queries";
import type { Placement, PlacementEvent } from "../../api/types";
import type { Query } from "../../filters/filters";
import { stateOf } from "../../words/states";
import { plain, shortCommit } from "../../words/text";
import { ChangesLink } from "../links";
import { More } from "./list-buttons";
import { ListTable } from "./list-table";
import { Answered, Empty } from "../notices";
import { placementKey } from "./placement-columns";
import { StateMark } from "../state/state-mark";
import { Time } from "../when";

const was = (version: string | undefined, commit: string | undefined) => plain(version) || shortCommit(plain(commit)) || "nothing";

/** What has happened to one placement, the last first. */
export function History({ environment, cluster, target }: { environment: string; cluster: string; target: string }) {
  const asked = useInfiniteQuery(events(environment, cluster, target));
  return (
    <ListTable<PlacementEvent>
      of={["event", "events"]}
      query={asked}
      rowKey={(one) => String(one.id)}
      columns={[
        { title: "When", cell: (one) => <Time time={one.at ?? one.seenAt} /> },
        {
          title: "State",
          cell: (one) => (
            <>
              {one.fromState && (
                <>
                  <StateMark state={stateOf(one.fromState)} /> →{" "}
                </>
              )}
              {one.toState ? <StateMark state={stateOf(one.toState)} /> : "gone"}
            </>
          ),
        },
        { title: "Version", cell: (one) => (was(one.fromVersion, one.fromCommit) === was(one.toVersion, one.toCommit) ? was(one.toVersion, one.toCommit) : `${was(one.fromVersion, one.fromCommit)} → ${was(one.toVersion, one.toCommit)}`) },
        { title: "By", cell: (one) => (one.toCommit && one.toCommit !== one.fromCommit ? <ChangesLink env={environment} commit={plain(one.toCommit)} /> : "") },
        { title: "Reason", cell: (one) => <span className="reason">{plain(one.reason)}</span> },
      ]}
      empty={<Empty reason="Nothing has been seen to change yet.">The history begins with the hub&apos;s first look at the cluster.</Empty>}
    />
  );
}

interface HistoriesProps {
  /** Of which placements. */
  query: Query;
  title(one: Placement): string;
  empty: React.ReactNode;
}

/** The history of each of some placements, opened one by one. */
export function Histories({ query, title, empty }: HistoriesProps) {
  const asked = useInfiniteQuery(placements(query));
  const items = asked.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Answered what="the placements" asked={asked}>
      {items.length === 0 && empty}
      {items.map((one) => (
        <HistoryOfOne key={placementKey(one)} one={one} title={title(one)} />
      ))}
      <More query={asked} />
    </Answered>
  );
}

function HistoryOfOne({ one, title }: { one: Placement; title: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{title}</summary>
      {open && <History environment={one.environment} cluster={one.cluster} target={one.target ?? ""} />}
    </details>
  );
}
