import { Alert, Button, Group, SegmentedControl, Select, Stack, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Dispatch, lazy, Suspense, useState } from "react";
import { useSearchParams } from "wouter";
import { repoURL } from "../api/forge";
import { environments, objects } from "../api/queries";
import { type ModelDocument, documentOf, edited, editsOf, same, withChanges, yamlOf } from "../forms/document";
import { fieldsOf, type Schema } from "../forms/fields";
import { Form, type Offers } from "../forms/form";
import { type Kind, kinds, kindOf, newDocument, templateFields } from "../forms/kinds";
import { labelsInUse, nameProblem } from "../forms/labels";
import { problemsOf } from "../forms/yaml-problems";
import { BranchLink, PositionLink, useForge } from "../parts/links";
import { Answered, Loading } from "../parts/notices";
import { plain } from "../words/text";
import type { Edit } from "../api/types";
import { entity, schema } from "./queries";
import { isOf, type TrayAction } from "./tray";

const YAMLEditor = lazy(() => import("../forms/yaml-editor"));

interface PaneProps {
  env: string;
  edits: Edit[];
  dispatch: Dispatch<TrayAction>;
}

/** The object that is changed: which one it is, and its form or its YAML. */
export function ObjectPane({ env, edits, dispatch }: PaneProps) {
  const [search, setSearch] = useSearchParams();
  const kind = kindOf(search.get("kind") ?? "") ?? (kinds[0] as Kind);
  const name = search.get("name") ?? "";
  const make = search.get("make") === "1";
  const choose = (next: { kind?: string; name?: string; make?: boolean }) =>
    setSearch(
      (now) => {
        const changed = new URLSearchParams(now);
        const wanted: Record<string, string> = { kind: next.kind ?? kind.kind, name: next.name ?? "", make: next.make ? "1" : "" };
        for (const [key, value] of Object.entries(wanted)) {
          if (value) changed.set(key, value);
          else changed.delete(key);
        }
        return changed;
      },
      { replace: true },
    );
  const all = useQuery({ ...objects(env, kind.list ?? "clustertypes"), enabled: kind.list !== undefined });
  const there = kind.list ? (all.data?.items ?? []).map((one) => one.name ?? "").filter(Boolean) : [];
  const isNew = (one: string) => kind.list !== undefined && !there.includes(one);
  const made = edits.filter((one) => one.operation === "putObject" && one.kind === kind.kind && isNew(one.name ?? "")).map((one) => one.name ?? "");
  const names = [...new Set([...there, ...made, ...(name && !make ? [name] : [])])].sort();
  return (
    <section aria-labelledby="object">
      <Title order={2} size="h4" id="object">
        Object
      </Title>
      <Group gap="xs" align="end">
        <Select
          size="xs"
          w={170}
          label="Kind"
          allowDeselect={false}
          data={kinds.map((one) => ({ value: one.kind, label: one.many }))}
          value={kind.kind}
          onChange={(value) => choose({ kind: value ?? "" })}
        />
        {kind.list ? (
          <Select
            size="xs"
            flex="1 1 160px"
            label={kind.one.charAt(0).toUpperCase() + kind.one.slice(1)}
            placeholder={make ? "a new one" : "choose one"}
            searchable
            data={names}
            value={make ? null : name || null}
            onChange={(value) => choose({ name: value ?? "" })}
            error={all.isError && "they cannot be read"}
          />
        ) : (
          <ByName key={kind.kind} kind={kind} name={name} open={(one) => choose({ name: one })} />
        )}
        {kind.list && (
          <Button size="xs" variant="default" aria-pressed={make} onClick={() => choose({ make: true })}>
            New
          </Button>
        )}
      </Group>
      {make ? (
        <NewName
          key={kind.kind}
          kind={kind}
          taken={names}
          create={(created) => {
            dispatch({ type: "object", kind: kind.kind, name: created, edits: editsOf(undefined, newDocument(kind.kind, created)) });
            choose({ name: created });
          }}
        />
      ) : (
        name &&
        (all.data || !kind.list) &&
        (isNew(name) && !made.includes(name) ? (
          <Text size="sm" mt="sm">
            {plain(env)} has no {kind.one} {plain(name)}.
          </Text>
        ) : (
          <Chosen key={`${kind.kind} ${name}`} env={env} kind={kind} name={name} isNew={isNew(name)} edits={edits} dispatch={dispatch} />
        ))
      )}
    </section>
  );
}

/** Opens an object of a kind that the API does not list. */
function ByName({ kind, name, open }: { kind: Kind; name: string; open(name: string): void }) {
  const [text, setText] = useState(name);
  return (
    <form
      className="by-name"
      onSubmit={(event) => {
        event.preventDefault();
        open(text.trim());
      }}
    >
      <TextInput size="xs" flex={1} label={`Name of the ${kind.one}`} value={text} onChange={(event) => setText(event.currentTarget.value)} />
      <Button size="xs" variant="default" type="submit" disabled={text.trim() === ""}>
        Open
      </Button>
    </form>
  );
}

/** Asks for the name of a new object. */
function NewName({ kind, taken, create }: { kind: Kind; taken: string[]; create(name: string): void }) {
  const [name, setName] = useState("");
  const problem = name === "" ? "" : taken.includes(name) ? `there is a ${kind.one} ${name} already` : nameProblem(name);
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        if (name !== "" && problem === "") create(name);
      }}
    >
      <Group gap="xs" align="start" mt="sm" wrap="nowrap">
        <TextInput size="xs" flex={1} aria-label={`Name of the new ${kind.one}`} placeholder={`Name of the new ${kind.one}`} autoFocus required value={name} error={problem} onChange={(event) => setName(event.currentTarget.value)} />
        <Button size="xs" type="submit" disabled={name === "" || problem !== ""}>
          Create
        </Button>
      </Group>
    </form>
  );
}

interface ChosenProps extends PaneProps {
  kind: Kind;
  name: string;
  /** It is only in the edits. */
  isNew: boolean;
}

function Chosen({ env, kind, name, isNew, edits, dispatch }: ChosenProps) {
  const asked = useQuery({ ...entity(env, kind.plural, name), enabled: !isNew });
  const shape = useQuery(schema(kind.kind));
  const mine = edits.filter((one) => isOf(one, kind.kind, name));
  const change = (next: Edit[]) => dispatch({ type: "object", kind: kind.kind, name, edits: next });
  if (isNew) {
    return (
      <Answered what={`the schema of ${kind.one}s`} asked={shape}>
        <Edited env={env} kind={kind} name={name} before={undefined} text="" schema={shape.data as Schema} mine={mine} change={change} />
      </Answered>
    );
  }
  const found = asked.data;
  const forge = useForge();
  const own = useQuery(environments).data?.items.find((one) => one.name === env);
  const shared = found && own && (found.branch !== own.branch || repoURL(forge, found.repository) !== repoURL(forge, own.controlPlane));
  const before = found && documentOf(found.yaml);
  return (
    <Answered what={`${kind.one} ${plain(name)}`} asked={asked}>
      {found && (
        <>
          <Text size="xs" c="dimmed" mt={4}>
            <PositionLink at={{ repo: found.repository, branch: found.branch, file: found.file, line: found.line }} />
          </Text>
          {shared && (
            <Text size="sm" mt={4}>
              It is on branch <BranchLink repo={found.repository} branch={found.branch} />, which other environments may read too: a change of it is a proposal of its own.
            </Text>
          )}
          {before && <Edited env={env} kind={kind} name={name} before={before} text={found.yaml} schema={found.schema as Schema} mine={mine} change={change} />}
        </>
      )}
    </Answered>
  );
}

interface EditedProps {
  env: string;
  kind: Kind;
  name: string;
  /** What is in git, and its text; undefined for a new object. */
  before: ModelDocument | undefined;
  text: string;
  schema: Schema;
  /** The edits of this object. */
  mine: Edit[];
  change(edits: Edit[]): void;
}

function Edited({ env, kind, name, before, text, schema, mine, change }: EditedProps) {
  const [search, setSearch] = useSearchParams();
  const view = search.get("view") === "yaml" ? "yaml" : "form";
  const setView = (next: string) =>
    setSearch(
      (now) => {
        const changed = new URLSearchParams(now);
        if (next === "yaml") changed.set("view", next);
        else changed.delete("view");
        return changed;
      },
      { replace: true },
    );
  const after = edited(before, mine);
  const offers = useOffers(env, kind.kind, schema);
  if (!after) {
    return (
      <Alert color="gray" variant="outline" mt="sm" title={`${plain(name)} is deleted`}>
        <Button size="compact-xs" variant="default" onClick={() => change([])}>
          Keep it
        </Button>
      </Alert>
    );
  }
  return (
    <Stack gap="sm" mt="sm">
      <Group justify="space-between" gap="xs">
        <SegmentedControl
          size="xs"
          aria-label="Edit as"
          value={view}
          onChange={setView}
          data={[
            { value: "form", label: "Form" },
            { value: "yaml", label: "YAML" },
          ]}
        />
        <Group gap="xs">
          {before && (
            <Button size="compact-xs" variant="default" disabled={mine.length === 0} onClick={() => change([])}>
              As it is in git
            </Button>
          )}
          <Button size="compact-xs" variant="default" onClick={() => change(editsOf(before, undefined))}>
            Delete {kind.one}
          </Button>
        </Group>
      </Group>
      {view === "form" ? (
        <Form document={after} schema={schema} offers={offers} change={(next) => change(editsOf(before, next))} />
      ) : (
        <YAMLText kind={kind} name={name} before={before} after={after} text={text} schema={schema} mine={mine} change={change} />
      )}
    </Stack>
  );
}

function YAMLText({ kind, name, before, after, text, schema, mine, change }: Omit<EditedProps, "env"> & { after: ModelDocument }) {
  const edits = JSON.stringify(mine);
  const [draft, setDraft] = useState<{ text: string; edits: string }>();
  const written = draft?.edits === edits ? draft.text : textOf(before, after, text, mine);
  const problems = (one: string) => problemsOf(one, schema, { kind: kind.kind, name });
  const found = documentOf(written);
  const unread = found?.kind !== kind.kind || found.metadata.name !== name;
  const write = (next: string) => {
    const document = documentOf(next);
    const readable = document?.kind === kind.kind && document.metadata.name === name;
    const wanted: Edit[] = !readable ? mine : before && same(before, document) ? [] : [{ operation: "putObject", kind: kind.kind, name, content: next }];
    setDraft({ text: next, edits: JSON.stringify(wanted) });
    if (readable) change(wanted);
  };
  return (
    <div>
      <Suspense fallback={<Loading lines={8} />}>
        <YAMLEditor label={`YAML of ${kind.one} ${plain(name)}`} text={written} change={write} problems={problems} />
      </Suspense>
      <Text size="xs" mt={4} role="status" c={unread ? "var(--mantine-color-error)" : "dimmed"}>
        {unread ? "This text is not the object: what is shown is of the last text that was." : "Fields that the schema does not have are marked at their lines. Tab leaves the editor."}
      </Text>
    </div>
  );
}

/** The text of an object with its edits made: its own, where it was written as text. */
function textOf(before: ModelDocument | undefined, after: ModelDocument, text: string, mine: Edit[]): string {
  const [first] = mine;
  if (mine.length === 1 && first?.operation === "putObject" && first.content !== undefined) return first.content;
  return before ? withChanges(text, before, after) : yamlOf(after);
}

/** What a form of a kind offers. */
function useOffers(env: string, kind: string, shape: Schema): Offers {
  const types = useQuery(objects(env, "clustertypes")).data?.items ?? [];
  const targets = useQuery(objects(env, "targets")).data?.items ?? [];
  const configs = useQuery(objects(env, "configs")).data?.items ?? [];
  const wantsTemplates = fieldsOf(shape).some((field) => templateFields[field.path[1] ?? ""]);
  const templates = useQuery({ ...objects(env, "templates"), enabled: wantsTemplates }).data?.items ?? [];
  const labels = (all: { labels?: Record<string, string> }[]) => labelsInUse(all.map((one) => one.labels));
  const byType: Offers["templates"] = {};
  for (const one of templates) {
    const type = (one.spec as { type?: string } | undefined)?.type ?? "";
    (byType[type] ??= []).push(one.name ?? "");
  }
  return {
    labels: {
      "": labels(kind === "ClusterType" ? types : [...types, ...targets, ...configs]),
      clusterTypeSelector: labels(types),
      deploymentTargetSelector: labels(targets),
    },
    templates: byType,
  };
}
