import { Drawer, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { changes, placements } from "../api/queries";
import type { Placement } from "../api/types";
import { href } from "../filters/filters";
import { History } from "../parts/table/history";
import { assignmentPath, ClusterLink, To, WorkloadLink } from "../parts/links";
import { ListTable } from "../parts/table/list-table";
import { Empty } from "../parts/notices";
import { placementColumns, placementKey } from "../parts/table/placement-columns";
import { plain } from "../words/text";
import type { Col } from "./matrix";

/** A cell of the matrix. */
export interface Chosen {
  env: string;
  clusterType: string;
  /** "" for a whole type. */
  cluster: string;
  col: Col;
  by: "targets" | "workloads";
}

/** What is in one cell: its placements, the worst first, and where to go on. */
export function Panel({ chosen, close }: { chosen: Chosen | undefined; close(): void }) {
  return (
    <Drawer
      opened={chosen !== undefined}
      onClose={close}
      position="right"
      size="xl"
      title={chosen && `${plain(chosen.col.name)} on ${plain(chosen.cluster || chosen.clusterType)}`}
      closeButtonProps={{ "aria-label": "Close" }}
    >
      {chosen && <Inside {...chosen} />}
    </Drawer>
  );
}

function Inside({ env, clusterType, cluster, col, by }: Chosen) {
  const query = { env, ...(cluster ? { cluster } : { clusterType }), [by === "targets" ? "target" : "workload"]: col.name };
  const asked = useInfiniteQuery(placements(query));
  const first = asked.data?.pages[0]?.items[0];
  return (
    <Stack gap="sm">
      <Text size="sm">
        Workload <WorkloadLink name={col.workload} />
        {col.workspace && ` of workspace ${plain(col.workspace)}`}, environment {plain(env)}, cluster type {plain(clusterType)}
        {cluster && (
          <>
            , cluster <ClusterLink name={cluster} />
          </>
        )}
      </Text>
      {first?.policies && first.policies.length > 0 && <Text size="sm">Assigned by {first.policies.map(plain).join(", ")}</Text>}
      {first?.desired?.commit && <Brought env={env} commit={first.desired.commit} />}
      {by === "targets" && (
        <Text size="sm">
          <To path={assignmentPath(env, col.name, clusterType)}>Why it is here, or is not</To>
        </Text>
      )}
      <ListTable<Placement>
        of={["placement", "placements"]}
        query={asked}
        columns={placementColumns(["cluster", ...(by === "workloads" ? (["target"] as const) : []), "state", "since", "actual", "desired", "reason"], false)}
        rowKey={placementKey}
        csv={href("/api/v1/placements", { ...query, format: "csv" })}
        empty={
          <Empty reason="There is no placement here.">
            {by === "targets" ? <To path={assignmentPath(env, col.name, clusterType)}>See which clause of which policy does not select it</To> : "No target of the workload is assigned to this cluster type."}
          </Empty>
        }
      />
      {cluster && first?.target && (
        <>
          <Title order={2} size="h5">
            History
          </Title>
          <History environment={env} cluster={cluster} target={first.target} />
        </>
      )}
    </Stack>
  );
}

/** The change that brought what should be there. */
function Brought({ env, commit }: { env: string; commit: string }) {
  const found = useInfiniteQuery(changes({ env, q: commit })).data?.pages[0]?.items[0];
  if (!found) return null;
  return (
    <Text size="sm">
      Brought by <To path={`/changes/${found.id}`}>{plain(found.title)}</To>
      {found.author && ` of ${plain(found.author)}`}
    </Text>
  );
}
