import { useInfiniteQuery } from "@tanstack/react-query";
import { events } from "../api/queries";
import type { PlacementEvent } from "../api/types";
import { stateOf } from "../words/states";
import { plain, shortCommit } from "../words/text";
import { ListTable } from "./list-table";
import { Empty } from "./notices";
import { StateMark } from "./state-mark";
import { Time } from "./when";

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
        { title: "Reason", cell: (one) => <span className="reason">{plain(one.reason)}</span> },
      ]}
      empty={<Empty reason="Nothing has been seen to change yet.">The history begins with the hub&apos;s first look at the cluster.</Empty>}
    />
  );
}
