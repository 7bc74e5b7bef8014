import { Alert, Button, Group, SegmentedControl, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { lazy, Suspense, useMemo, useState } from "react";
import { repoURL } from "../api/forge";
import { environments, objects } from "../api/queries";
import type { Edit, ObjectDocument } from "../api/types";
import { useParameter } from "../filters/use-filters";
import { type ModelDocument, documentOf, edited, editsOf, same, withChanges, yamlOf } from "../forms/document";
import { fieldsOf, type Schema } from "../forms/fields";
import { Form, type Offers } from "../forms/form";
import { type Kind, templateFields } from "../forms/kinds";
import { labelsInUse } from "../forms/labels";
import { problemsOf } from "../forms/yaml-problems";
import { BranchLink, PositionLink, useForge } from "../parts/links";
import { Answered, Loading } from "../parts/notices";
import { plain } from "../words/text";
import { isOf } from "./edit-list";
import type { ObjectPaneProps } from "./object-pane";
import { entity, schema } from "./queries";

const YAMLEditor = lazy(() => import("../forms/yaml-editor"));

interface ObjectEditorProps extends ObjectPaneProps {
  kind: Kind;
  name: string;
  /** It is only in the edits. */
  isNew: boolean;
}

/** One object: where it is, and its form or its YAML. */
export function ObjectEditor({ env, kind, name, isNew, edits, dispatch }: ObjectEditorProps) {
  const asked = useQuery({ ...entity(env, kind.plural, name), enabled: !isNew });
  const shape = useQuery(schema(kind.kind));
  const forge = useForge();
  const own = useQuery(environments).data?.items.find((one) => one.name === env);
  const mine = edits.filter((one) => isOf(one, kind.kind, name));
  const change = (next: Edit[]) => dispatch({ type: "object", kind: kind.kind, name, edits: next });
  if (isNew) {
    return (
      <Answered what={`the schema of a ${kind.one}`} asked={shape}>
        <Edited env={env} kind={kind} name={name} before={undefined} text="" schema={shape.data as Schema} mine={mine} change={change} />
      </Answered>
    );
  }
  const found = asked.data;
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
          {before ? (
            <Edited env={env} kind={kind} name={name} before={before} text={found.yaml} schema={found.schema as Schema} mine={mine} change={change} />
          ) : (
            <Text size="sm" mt="sm">
              What the file has of it cannot be read as one object, so it cannot be changed here.
            </Text>
          )}
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
  const [shown, setShown] = useParameter("view");
  const view = shown === "yaml" ? "yaml" : "form";
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
          onChange={(next) => setShown(next === "yaml" ? next : "")}
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
  const types = useQuery(objects(env, "clustertypes")).data?.items;
  const targets = useQuery(objects(env, "targets")).data?.items;
  const configs = useQuery(objects(env, "configs")).data?.items;
  const wantsTemplates = fieldsOf(shape).some((field) => templateFields[field.path[1] ?? ""]);
  const templates = useQuery({ ...objects(env, "templates"), enabled: wantsTemplates }).data?.items;
  // there are many objects, and a key changes none of them
  return useMemo(() => offersOf(kind, types ?? [], targets ?? [], configs ?? [], templates ?? []), [kind, types, targets, configs, templates]);
}

function offersOf(kind: string, types: ObjectDocument[], targets: ObjectDocument[], configs: ObjectDocument[], templates: ObjectDocument[]): Offers {
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
