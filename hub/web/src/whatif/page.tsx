import { Button, Group, Stack, Text, Title } from "@mantine/core";
import { useRef } from "react";
import { useEnvironments } from "../api/use-environments";
import { useFilters } from "../filters/use-filters";
import { kindOf } from "../forms/kinds";
import { RemoveButton } from "../forms/pairs";
import { CopyButton } from "../parts/copy";
import { Heading } from "../parts/heading";
import { Answered, Empty } from "../parts/notices";
import { count, plain } from "../words/text";
import { Answer } from "./plan/answer";
import type { Edit } from "../api/types";
import { ObjectPane } from "./object-pane";
import { useAnswer } from "./plan/use-answer";
import { editText } from "./edit-list";
import { useEdits } from "./use-edits";
import "./page.css";

/** What would happen if the platform model were another. */
export default function WhatIf() {
  const [{ env }] = useFilters();
  const { asked: known, all } = useEnvironments();
  const environment = env || all[0]?.name || "";
  return (
    <Stack gap="sm">
      <Heading>{environment ? `What if ${plain(environment)} were changed` : "What if"}</Heading>
      <Answered what="the environments" asked={known}>
        {environment ? <Environment env={environment} /> : <Empty reason="The hub knows no environment yet.">An environment is an Environment object in the control plane, and a branch of it.</Empty>}
      </Answered>
    </Stack>
  );
}

function Environment({ env }: { env: string }) {
  // the edits of the address are of the environment that it was opened with
  const first = useRef(env);
  return <Editing key={env} env={env} fromAddress={first.current === env} />;
}

function Editing({ env, fromAddress }: { env: string; fromAddress: boolean }) {
  const { edits, past, dispatch, unknown, linked } = useEdits(env, fromAddress);
  const answer = useAnswer(env, edits);
  return (
    <div className="what-if">
      <Stack gap="md">
        <section aria-labelledby="edits">
          <Title order={2} size="h4" id="edits">
            {edits.length === 0 ? "Edits" : count(edits.length, "edit")}
          </Title>
          {unknown > 0 && (
            <Text size="sm" role="alert">
              The address has {count(unknown, "edit")} that this page does not know. {unknown === 1 ? "It is" : "They are"} left out.
            </Text>
          )}
          {edits.length === 0 ? (
            <Text size="sm">None yet. Choose an object and change it; nothing is written before you propose.</Text>
          ) : (
            <ul className="edits">
              {edits.map((edit, index) => (
                <EditItem key={index} edit={edit} refused={answer.refused.get(index)} remove={() => dispatch({ type: "remove", index })} />
              ))}
            </ul>
          )}
          <Group gap="xs" mt={6}>
            <Button size="compact-xs" variant="default" disabled={past.length === 0} onClick={() => dispatch({ type: "undo" })}>
              Undo
            </Button>
            <Button size="compact-xs" variant="default" disabled={edits.length === 0} onClick={() => dispatch({ type: "replace", edits: [] })}>
              Remove all
            </Button>
            {edits.length > 0 && linked && (
              <CopyButton text={window.location.href}>Copy link</CopyButton>
            )}
          </Group>
          {!linked && (
            <Text size="sm" mt={4}>
              This is too much for a link; it is kept in this tab.
            </Text>
          )}
        </section>
        <ObjectPane env={env} edits={edits} dispatch={dispatch} />
      </Stack>
      <Answer env={env} edits={edits} answer={answer} done={() => dispatch({ type: "replace", edits: [] })} />
    </div>
  );
}

function EditItem({ edit, refused, remove }: { edit: Edit; refused: string | undefined; remove(): void }) {
  const name = `${kindOf(edit.kind ?? "")?.one ?? edit.kind} ${edit.name}`;
  return (
    <li data-refused={refused ? true : undefined}>
      <span className="edit-text">
        <Text span size="sm">
          {plain(editText(edit))}
        </Text>
        <Text size="xs" c="dimmed">
          {plain(name)}
        </Text>
        {refused && (
          <Text size="xs" c="var(--mantine-color-error)">
            {refused}
          </Text>
        )}
      </span>
      <RemoveButton what={`the edit: ${plain(editText(edit))}`} remove={remove} />
    </li>
  );
}
