import { Alert, Code, Group, Stack, Tabs, Text } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { cluster, me, placements } from "../api/queries";
import type { Cluster as ClusterData, Placement, Subscription } from "../api/types";
import { href, queryOf } from "../filters/filters";
import { useFilters, useParameter } from "../filters/use-filters";
import { Copy } from "../parts/copy";
import { Counts } from "../parts/state/counts";
import { EditButton } from "../whatif/edit-button";
import { Facts } from "../parts/facts";
import { Heading } from "../parts/heading";
import { Histories } from "../parts/table/history";
import { BranchLink, CommitLink, Outside } from "../parts/links";
import { type Column, ListTable, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { placementColumns, placementKey } from "../parts/table/placement-columns";
import { Since, Time } from "../parts/when";
import { plain } from "../words/text";
import { treeOf } from "../words/tree";
import { labelsText, typesText } from "./clusters";

/** What should and does run on one cluster. */
export default function Cluster({ name }: { name: string }) {
  const asked = useQuery(cluster(name));
  const [tab, setTab] = useParameter("tab");
  const found = asked.data;
  return (
    <Stack gap="sm">
      <Heading>{`Cluster ${plain(name)}`}</Heading>
      <Answered what={`cluster ${plain(name)}`} asked={asked}>
        {found && (
          <>
            <Head found={found} />
            <Tabs value={tab || "placements"} onChange={(value) => setTab(value === "placements" ? "" : (value ?? ""))} keepMounted={false}>
              <Tabs.List>
                <Tabs.Tab value="placements">Placements</Tabs.Tab>
                <Tabs.Tab value="subscriptions">Subscriptions</Tabs.Tab>
                <Tabs.Tab value="history">History</Tabs.Tab>
                <Tabs.Tab value="raw">As it is stored</Tabs.Tab>
              </Tabs.List>
              <Tabs.Panel value="placements" pt="sm">
                <PlacementsOf name={name} />
              </Tabs.Panel>
              <Tabs.Panel value="subscriptions" pt="sm">
                <Subscriptions all={found.subscriptions ?? []} />
              </Tabs.Panel>
              <Tabs.Panel value="history" pt="sm">
                <Histories query={{ cluster: name }} title={(one) => `${plain(one.target)} in ${plain(one.environment)}`} empty={<Empty reason="Nothing is assigned to this cluster, so there is no history." />} />
              </Tabs.Panel>
              <Tabs.Panel value="raw" pt="sm">
                <Code block className="log">
                  {plain(JSON.stringify(found, undefined, 2))}
                </Code>
              </Tabs.Panel>
            </Tabs>
          </>
        )}
      </Answered>
    </Stack>
  );
}

function Head({ found }: { found: ClusterData }) {
  const user = useQuery(me).data;
  return (
    <>
      {found.unknown && (
        <Alert color="gray" variant="outline" title="Nothing certain is known of this cluster">
          <Text size="sm" className="reason">
            {plain(found.unknown)}
          </Text>
          <Text size="sm">
            The last contact was at <Time time={found.lastSeen} />. What is shown is from then.
          </Text>
        </Alert>
      )}
      <Facts
        facts={[
          ["Placements", <Counts key="counts" counts={found.counts} />],
          ["Cluster type", typesText(found.types) || "it follows no environment's branch"],
          ["Reconciler", plain(found.reconciler) || "none found"],
          ["Source", `${plain(found.source)}${found.approximate ? ", taken out of texts" : ""}`],
          ["Last seen", <Time key="seen" time={found.lastSeen} />],
          ["First seen", <Time key="first" time={found.firstSeen} />],
          ["Labels", labelsText(found.labels) || "none"],
        ]}
      />
      <Group gap="xs">
        {Object.entries(found.types ?? {}).map(([env, type]) => (
          <EditButton key={env} env={env} kind="ClusterType" name={type}>
            Change cluster type {plain(type)} of {plain(env)}
          </EditButton>
        ))}
        <Copy text={`${user?.features.sandbox ? "kalypso " : ""}kubectl --context ${shellWord(found.name)} get kustomizations,applications -A`} />
        {user?.links.argocd && found.reconciler?.includes("argocd") && <Outside url={user.links.argocd}>Argo CD</Outside>}
      </Group>
    </>
  );
}

/** A name as a word of a shell. */
function shellWord(name: string): string {
  return /^[\w@%+=:,./-]+$/.test(name) ? name : `'${name.replaceAll("'", "'\\''")}'`;
}

function PlacementsOf({ name }: { name: string }) {
  const [filters] = useFilters();
  const query = queryOf({ cluster: name, env: filters.env, states: filters.states, q: filters.q, sort: filters.sort });
  const asked = useInfiniteQuery(placements(query));
  return (
    <ListTable<Placement>
      of={["placement", "placements"]}
      query={asked}
      columns={placementColumns(["environment", "target", "workload", "state", "since", "actual", "desired", "reason"])}
      rowKey={placementKey}
      csv={href("/api/v1/placements", { ...query, format: "csv" })}
      empty={<Empty reason="Nothing is assigned to this cluster.">A cluster gets what is in the folder of its cluster type, on the branch that it follows. The tab Subscriptions has what it follows.</Empty>}
    />
  );
}

const subscriptionColumns: Column<{ depth: number; one: Subscription }>[] = [
  {
    title: "Subscription",
    cell: ({ depth, one }) => (
      <span style={{ paddingLeft: depth * 20 }}>
        {plain(one.kind)} {plain([one.namespace, one.name].filter(Boolean).join("/"))}
      </span>
    ),
  },
  { title: "Follows", cell: ({ one }) => <BranchLink repo={one.repo} branch={one.branch} path={one.path} /> },
  { title: "Fetched", cell: ({ one }) => <CommitLink repo={one.repo} commit={one.commit} /> },
  { title: "Applied", cell: ({ one }) => <CommitLink repo={one.repo} commit={one.applied} /> },
  { title: "Compliance", cell: ({ one }) => plain(one.state) },
  { title: "For", cell: ({ one }) => <Since time={one.at} /> },
  { title: "Reason", cell: ({ one }) => <span className="reason">{plain(one.reason)}</span> },
  {
    title: "Objects",
    cell: ({ one }) => (
      <details>
        <summary>{(one.objects ?? []).length}</summary>
        <ul className="objects">
          {(one.objects ?? []).map((object) => (
            <li key={`${object.group} ${object.kind} ${object.namespace} ${object.name}`}>
              {plain(object.kind)} {plain([object.namespace, object.name].filter(Boolean).join("/"))}
              {object.outOfSync && ", differs from git"}
            </li>
          ))}
        </ul>
      </details>
    ),
  },
];

function Subscriptions({ all }: { all: Subscription[] }) {
  if (all.length === 0) return <Empty reason="The cluster follows nothing.">Make a Kustomization of Flux or an Application of Argo CD on it follow an environment&apos;s branch.</Empty>;
  return <Rows label="subscriptions" columns={subscriptionColumns} items={treeOf(all)} rowKey={({ one }) => `${one.kind} ${one.namespace} ${one.name} ${one.path}`} />;
}
