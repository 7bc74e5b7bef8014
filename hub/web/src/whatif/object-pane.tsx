import { Button, Group, Select, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { type Dispatch, useState } from "react";
import { useSearchParams } from "wouter";
import { objects } from "../api/queries";
import type { Edit } from "../api/types";
import { editsOf } from "../forms/document";
import { type Kind, kinds, kindOf, newDocument } from "../forms/kinds";
import { nameProblem } from "../forms/labels";
import { plain } from "../words/text";
import type { EditAction } from "./edit-list";
import { ObjectEditor } from "./object-editor";

export interface ObjectPaneProps {
  env: string;
  edits: Edit[];
  dispatch: Dispatch<EditAction>;
}

/** The object that is changed: which one it is, and its form or its YAML. */
export function ObjectPane({ env, edits, dispatch }: ObjectPaneProps) {
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
          <ObjectEditor key={`${kind.kind} ${name}`} env={env} kind={kind} name={name} isNew={isNew(name)} edits={edits} dispatch={dispatch} />
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
