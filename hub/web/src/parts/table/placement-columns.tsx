import { Text } from "@mantine/core";
import type { Placement } from "../../api/types";
import { stateOf } from "../../words/states";
import { plain } from "../../words/text";
import { assignmentPath, ClusterLink, RevisionText, To, WorkloadLink } from "../links";
import type { Column } from "./list-table";
import { StateMark } from "../state/state-mark";
import { Since, Time } from "../when";
import "./placement-columns.css";

/** Whether the hub has ever seen what a cluster has. */
export function isObserved({ actual, state }: Pick<Placement, "actual" | "state">): boolean {
  return state !== "unknown" || Boolean(actual?.commit || actual?.version);
}

const all = {
  environment: { title: "Environment", cell: (one: Placement) => plain(one.environment) },
  cluster: { title: "Cluster", sorts: ["cluster"], cell: (one: Placement) => <ClusterLink name={one.cluster} /> },
  clusterType: { title: "Cluster type", cell: (one: Placement) => plain(one.clusterType) || "not known" },
  workload: { title: "Workload", cell: (one: Placement) => (one.workload ? <WorkloadLink name={one.workload} /> : "not known") },
  target: {
    title: "Target",
    sorts: ["target"],
    cell: (one: Placement) => (one.target && one.clusterType ? <To path={assignmentPath(one.environment, one.target, one.clusterType)}>{plain(one.target)}</To> : plain(one.target) || "not known"),
  },
  state: { title: "State", sorts: ["state"], cell: (one: Placement) => <StateMark state={stateOf(one.state)} /> },
  since: { title: "For", sorts: ["-since", "since"], cell: (one: Placement) => <Since time={one.since} /> },
  actual: {
    title: "Runs",
    cell: (one: Placement) => (
      <>
        {isObserved(one) ? <RevisionText revision={one.actual} /> : <span className="not-observed">not observed</span>}
        {isObserved(one) && one.state === "unknown" && (
          <Text size="sm" c="dimmed">
            seen <Time time={one.asOf} />
          </Text>
        )}
        {one.approximate && (
          <Text size="sm" c="dimmed">
            taken out of a text
          </Text>
        )}
      </>
    ),
  },
  desired: { title: "Should run", cell: (one: Placement) => <RevisionText revision={one.desired} /> },
  reason: { title: "Reason", cell: (one: Placement) => <span className="reason">{plain(one.reason)}</span> },
} satisfies Record<string, Column<Placement>>;

/** Columns of a table of placements. Where the table is not the page's own, the URL does not sort it. */
export function placementColumns(names: (keyof typeof all)[], sorted = true): Column<Placement>[] {
  return names.map((name) => (sorted ? all[name] : { title: all[name].title, cell: all[name].cell }));
}

export const placementKey = (one: Placement) => `${one.environment}\n${one.cluster}\n${one.target ?? ""}`;
