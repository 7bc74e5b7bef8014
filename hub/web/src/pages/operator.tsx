import { Button, Group, Select, Stack, Tabs, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, read } from "../api/client";
import { hubNow } from "../api/clock";
import { audit, sources, tokens } from "../api/queries";
import type { AuditEntry, Source, Token } from "../api/types";
import { useParameter } from "../filters/use-filters";
import { ConfirmButton } from "../parts/confirm-button";
import { Copy } from "../parts/copy";
import { Heading } from "../parts/heading";
import { type Column, ListTable, Rows } from "../parts/table/list-table";
import { Answered, Empty } from "../parts/notices";
import { Since, Time } from "../parts/when";
import { plain } from "../words/text";

/** What operators look after: tokens, what was done, and the sources. */
export default function Operator() {
  const [tab, setTab] = useParameter("tab");
  return (
    <Stack gap="sm">
      <Heading>Operator</Heading>
      <Tabs value={tab || "tokens"} onChange={(value) => setTab(value === "tokens" ? "" : (value ?? ""))} keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="tokens">Tokens</Tabs.Tab>
          <Tabs.Tab value="audit">Audit</Tabs.Tab>
          <Tabs.Tab value="sources">Sources</Tabs.Tab>
        </Tabs.List>
        <Tabs.Panel value="tokens" pt="sm">
          <Tokens />
        </Tabs.Panel>
        <Tabs.Panel value="audit" pt="sm">
          <Audit />
        </Tabs.Panel>
        <Tabs.Panel value="sources" pt="sm">
          <Sources />
        </Tabs.Panel>
      </Tabs>
    </Stack>
  );
}

const tokenColumns: Column<Token>[] = [
  { title: "Token", cell: (one) => plain(one.name) },
  { title: "Role", cell: (one) => plain(one.role) },
  { title: "Sees", cell: (one) => [...(one.workspaces ?? []), ...(one.environments ?? [])].map(plain).join(", ") || "all" },
  { title: "Expires", cell: (one) => <Time time={one.expires} /> },
  { title: "Last used", cell: (one) => (one.lastUsed ? <Since time={one.lastUsed} /> : "never") },
  { title: "Revoke", cell: (one) => <Revoke name={one.name} /> },
];

function Tokens() {
  const asked = useQuery(tokens);
  return (
    <Stack gap="sm">
      <NewToken />
      <Answered what="the tokens" asked={asked}>
        {(asked.data?.items ?? []).length > 0 ? (
          <Rows label="tokens" columns={tokenColumns} items={asked.data?.items ?? []} rowKey={(one) => one.name} />
        ) : (
          <Empty reason="There is no token.">Make one above, for scripts that use the API.</Empty>
        )}
      </Answered>
    </Stack>
  );
}

function Revoke({ name }: { name: string }) {
  const queries = useQueryClient();
  const revoke = useMutation({
    mutationFn: () => read(client.DELETE("/tokens/{name}", { params: { path: { name } } })),
    onSettled: () => queries.invalidateQueries({ queryKey: tokens.queryKey }),
  });
  return (
    <>
      <ConfirmButton
        label={`Revoke ${name}`}
        busy={revoke.isPending}
        question="Requests with this token are refused from now on. It cannot be brought back."
        yes="Revoke it"
        yesLabel={`Revoke ${name} for good`}
        run={() => revoke.mutate()}
      >
        Revoke
      </ConfirmButton>
      {revoke.error && (
        <Text size="sm" role="alert">
          {revoke.error.message}
        </Text>
      )}
    </>
  );
}

const days = { "1": "1 day", "30": "30 days", "90": "90 days", "365": "1 year" };

/** Makes a token. Its text is shown once. */
function NewToken() {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<"viewer" | "proposer" | "operator">("viewer");
  const [valid, setValid] = useState("30");
  const make = useMutation({
    mutationFn: () => read(client.POST("/tokens", { body: { name: name.trim(), role, workspaces: [], environments: [], expires: new Date(hubNow().getTime() + Number(valid) * 86_400_000).toISOString() } })),
    onSuccess: () => setName(""),
    onSettled: () => queries.invalidateQueries({ queryKey: tokens.queryKey }),
  });
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        make.mutate();
      }}
    >
      <Group gap="sm" align="end">
        <TextInput size="xs" label="Name" required value={name} onChange={(event) => setName(event.currentTarget.value)} />
        <Select size="xs" label="Role" allowDeselect={false} data={["viewer", "proposer", "operator"]} value={role} onChange={(value) => value && setRole(value as typeof role)} />
        <Select size="xs" label="Valid for" allowDeselect={false} data={Object.entries(days).map(([value, label]) => ({ value, label }))} value={valid} onChange={(value) => value && setValid(value)} />
        <Button type="submit" size="xs" loading={make.isPending}>
          Make a token
        </Button>
      </Group>
      {make.error && (
        <Text size="sm" role="alert">
          {make.error.message}
        </Text>
      )}
      {make.data && (
        <Stack gap={4} mt="xs" role="status">
          <Text size="sm">This is the only time that the token is shown.</Text>
          <Copy text={make.data.secret} />
        </Stack>
      )}
    </form>
  );
}

const auditColumns: Column<AuditEntry>[] = [
  { title: "When", cell: (one) => <Time time={one.at} /> },
  { title: "Who", cell: (one) => plain(one.actor) },
  { title: "By", cell: (one) => plain(one.via) },
  { title: "Action", cell: (one) => plain(one.action) },
  { title: "On", cell: (one) => plain(one.subject) },
  { title: "Outcome", cell: (one) => plain(one.outcome) },
  { title: "Request", cell: (one) => plain(one.requestID) },
  { title: "Detail", cell: (one) => <span className="reason">{plain(one.detail)}</span> },
];

function Audit() {
  const asked = useInfiniteQuery(audit);
  return (
    <ListTable<AuditEntry>
      of={["entry", "entries"]}
      query={asked}
      columns={auditColumns}
      rowKey={(one) => `${one.at} ${one.requestID} ${one.action} ${one.subject}`}
      csv="/api/v1/audit?format=csv"
      empty={<Empty reason="Nothing has been done that is written down." />}
    />
  );
}

const sourceColumns: Column<Source>[] = [
  { title: "Source", cell: (one) => plain(one.name) },
  { title: "State", cell: (one) => plain(one.state) },
  { title: "Last answer", cell: (one) => <Since time={one.lastOK} /> },
  { title: "Last try", cell: (one) => <Since time={one.lastTry} /> },
  { title: "Took", figures: true, cell: (one) => `${(one.tookMs ?? 0).toLocaleString("en")} ms` },
  { title: "Reason", cell: (one) => <span className="reason">{plain(one.reason)}</span> },
];

function Sources() {
  const asked = useQuery(sources);
  return (
    <Answered what="the sources" asked={asked}>
      {(asked.data?.items ?? []).length > 0 ? (
        <Rows label="sources" columns={sourceColumns} items={asked.data?.items ?? []} rowKey={(one) => one.name} />
      ) : (
        <Empty reason="No source has been looked at yet.">hub.yaml says what is observed.</Empty>
      )}
    </Answered>
  );
}
