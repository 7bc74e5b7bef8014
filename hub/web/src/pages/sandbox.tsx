import { Alert, Button, Checkbox, Code, Group, Select, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { client, problemOf, read } from "../api/client";
import { me, sandbox } from "../api/queries";
import type { Sandbox as SandboxData } from "../api/types";
import { pathOf } from "../filters/filters";
import { useParameter } from "../filters/use-filters";
import { Copy } from "../parts/copy";
import { Credentials } from "../parts/credentials";
import { Heading } from "../parts/heading";
import { Outside } from "../parts/links";
import { type Column, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { Since, Time } from "../parts/when";
import { Section } from "../parts/section";
import { bytes, plain } from "../words/text";

type Component = SandboxData["components"][number];
type SandboxCluster = SandboxData["clusters"][number];
type Server = SandboxData["places"][number];
type Snapshot = SandboxData["snapshots"][number];

/** What runs on this machine. */
export default function Sandbox() {
  const asked = useQuery(sandbox);
  const owner = useQuery(me).data?.role === "owner";
  const { components = [], clusters = [], places = [], snapshots = [] } = asked.data ?? {};
  return (
    <Stack gap="md">
      <Heading>Sandbox</Heading>
      <Answered what="the sandbox" asked={asked}>
        <Section title="Components">
          {components.length > 0 ? (
            <Rows label="components" columns={owner ? [...componentColumns, restartColumn] : componentColumns} items={components} rowKey={(one) => one.name} />
          ) : (
            <Empty reason="No component runs.">
              <Code>kalypso up</Code> starts the sandbox.
            </Empty>
          )}
        </Section>
        <Section title="Clusters">
          {clusters.length > 0 ? <Rows label="clusters" columns={owner ? [...clusterColumns, switchColumn] : clusterColumns} items={clusters} rowKey={(one) => one.name} /> : <Empty reason="The sandbox has no cluster." />}
        </Section>
        <Section title="Servers">
          <Rows label="servers" columns={owner ? [...serverColumns, credentialsColumn] : serverColumns} items={places} rowKey={(one) => one.name} />
        </Section>
        <Section title="Snapshots">
          {snapshots.length > 0 ? (
            <Rows label="snapshots" columns={snapshotColumns} items={snapshots} rowKey={(one) => one.name} />
          ) : (
            <Empty reason="No snapshot has been saved.">
              <Copy text="kalypso snapshot save NAME" />
            </Empty>
          )}
        </Section>
        {owner && components.length > 0 && <Log names={components.map((one) => one.name)} />}
      </Answered>
    </Stack>
  );
}

const componentColumns: Column<Component>[] = [
  { title: "Component", cell: (one) => plain(one.name) },
  { title: "State", cell: (one) => plain(one.state) },
  { title: "For", cell: (one) => <Since time={one.since} /> },
  { title: "Memory", figures: true, cell: (one) => (one.memoryBytes ? bytes(one.memoryBytes) : "") },
  { title: "Restarts", figures: true, cell: (one) => one.restarts ?? 0 },
  { title: "Reason", cell: (one) => <span className="reason">{plain(one.reason)}</span> },
];
const restartColumn: Column<Component> = { title: "Restart", cell: (one) => <Action label="Restart" of={one.name} run={() => client.POST("/sandbox/components/{name}/restart", { params: { path: { name: one.name } } })} /> };

const clusterColumns: Column<SandboxCluster>[] = [
  { title: "Cluster", cell: (one) => plain(one.name) },
  { title: "State", cell: (one) => plain(one.state) },
  { title: "Type", cell: (one) => plain(one.type) },
  { title: "Node", cell: (one) => plain(one.node) },
];
const switchColumn: Column<SandboxCluster> = {
  title: "Start or stop",
  cell: (one) => {
    const path = { params: { path: { name: one.name } } };
    return one.state === "stopped" ? (
      <Action label="Start" of={one.name} run={() => client.POST("/sandbox/clusters/{name}/start", path)} />
    ) : (
      <Action label="Stop" of={one.name} run={() => client.POST("/sandbox/clusters/{name}/stop", path)} />
    );
  },
};

/** A button that does something to the sandbox, and says what came of it where it fails. */
function Action({ label, of, run }: { label: string; of: string; run(): Promise<{ error?: unknown; response: Response }> }) {
  const queries = useQueryClient();
  const act = useMutation({ mutationFn: () => read(run()), onSettled: () => queries.invalidateQueries({ queryKey: sandbox.queryKey }) });
  return (
    <>
      <Button size="compact-xs" variant="default" loading={act.isPending} aria-label={`${label} ${of}`} onClick={() => act.mutate()}>
        {label}
      </Button>
      {act.error && (
        <Text size="sm" role="alert">
          {act.error.message}
        </Text>
      )}
    </>
  );
}

const snapshotColumns: Column<Snapshot>[] = [
  { title: "Snapshot", cell: (one) => plain(one.name) },
  { title: "Saved", cell: (one) => <Time time={one.saved} /> },
  { title: "Size", figures: true, cell: (one) => bytes(one.bytes) },
  { title: "Kalypso", cell: (one) => plain(one.version) },
  { title: "To bring it back", cell: (one) => <Copy text={`kalypso snapshot load ${one.name}`} /> },
];

const serverColumns: Column<Server>[] = [
  { title: "Server", cell: (one) => plain(one.name) },
  { title: "Address", cell: (one) => <Outside url={one.url}>{plain(one.url)}</Outside> },
  { title: "User", cell: (one) => plain(one.user) || "none" },
];
const credentialsColumn: Column<Server> = { title: "Password", cell: (one) => (one.user ? <Credentials name={one.name} /> : "none") };

/** How much of a log is kept, in characters. */
const longest = 200_000;

function Log({ names }: { names: string[] }) {
  const [name, setName] = useParameter("log");
  const [follow, setFollow] = useState(true);
  const [text, setText] = useState("");
  const [failed, setFailed] = useState("");
  const end = useRef<HTMLPreElement>(null);

  useEffect(() => {
    if (!name) return;
    const stop = new AbortController();
    setText("");
    setFailed("");
    readLog(name, follow, stop.signal, (more) => setText((all) => (all + more).slice(-longest))).catch((error: Error) => {
      if (!stop.signal.aborted) setFailed(error.message);
    });
    return () => stop.abort();
  }, [name, follow]);
  useEffect(() => {
    if (text && end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [text]);

  return (
    <Section title="Log">
      <Group gap="sm" my="xs">
        <Select size="xs" aria-label="Component whose log is shown" placeholder="Choose a component" data={names} value={name || null} onChange={(value) => setName(value ?? "")} searchable />
        <Checkbox size="xs" label="Follow" checked={follow} onChange={(event) => setFollow(event.currentTarget.checked)} />
      </Group>
      {failed && (
        <Alert color="red" variant="outline" role="alert">
          {failed}
        </Alert>
      )}
      {name && (
        <Code block className="log" ref={end} tabIndex={0}>
          {plainLog(text) || "The log is empty so far."}
        </Code>
      )}
    </Section>
  );
}

/** A log without what a terminal would act on; longer than other texts of clusters. */
function plainLog(text: string): string {
  return text.split("\n").map(plain).join("\n");
}

async function readLog(name: string, follow: boolean, signal: AbortSignal, more: (text: string) => void): Promise<void> {
  const response = await fetch(`/api/v1/sandbox/logs${pathOf(name)}?follow=${follow}`, { signal });
  if (!response.ok || !response.body) throw problemOf(response.status, response.statusText, await response.json().catch(() => undefined));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    more(value);
  }
}
