import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useRef, useState } from "react";
import { client, Problem, read } from "../api/client";
import { me, stepCheck } from "../api/queries";
import type { ScenarioBlock, ScenarioStep, StepCheck } from "../api/types";
import { pathOf } from "../filters/filters";
import { ConfirmButton } from "../parts/confirm-button";
import { To } from "../parts/links";
import { plain } from "../words/text";
import { clockText } from "../words/time";
import { Blocks } from "./blocks";
import { stateWords } from "./progress";

interface Position {
  scenario: string;
  /** From 1. */
  number: number;
}

/** The step that is open: what it is about, how it is, and help. `ticked` gets what is done of the scenario, by whomever. */
export function Step({ step, ticked, ...at }: { step: ScenarioStep; ticked(done: boolean[]): void } & Position) {
  const asked = useQuery(stepCheck(at.scenario, at.number));
  const owner = useQuery(me).data?.role === "owner";
  // what was so when there was an answer last says nothing of now
  const check = asked.error ? undefined : asked.data;
  const down = asked.error instanceof Problem && asked.error.status === 0;
  useEffect(() => {
    if (check) ticked(check.done);
  }, [check, ticked]);
  return (
    <Stack gap="sm" className="step-body">
      <Blocks blocks={step.blocks} scenario={at.scenario} check={check} />
      {down ? <Down /> : asked.error ? <State state="unknown" reason={asked.error.message} /> : check ? <State {...check} /> : <State state="unknown" reason="" looking />}
      <Help key={`${at.scenario} ${at.number}`} step={step} owner={owner} check={check} {...at} />
    </Stack>
  );
}

function Down() {
  return (
    <Alert color="red" variant="outline" role="alert" title="The hub does not answer">
      <Text size="sm">
        The sandbox may be down: <Code>kalypso up</Code> brings it back, and this page goes on by itself. What was done stays done.
      </Text>
    </Alert>
  );
}

/** How the step is. Only a change of it is read out. */
function State({ state, reason, lacks, at, looking }: { state: StepCheck["state"]; reason: string; lacks?: string; at?: string; looking?: boolean }) {
  const { shape, text } = looking ? { shape: "…", text: "Looking." } : stateWords[state];
  return (
    <div className="step-state" data-state={looking ? "looking" : state}>
      <Text fw={600} role="status">
        <span aria-hidden="true">{shape} </span>
        {text}
      </Text>
      {reason && (
        <div className="step-reason" tabIndex={0} role="group" aria-label="Reason">
          {plain(reason)}
        </div>
      )}
      {lacks && (
        <Text size="sm">
          Do <To path={`/workshop${pathOf(lacks)}`}>{plain(lacks)}</To> first.
        </Text>
      )}
      {at && (
        <Text size="xs" c="dimmed" className="figures">
          looked at {clockText(new Date(at), new Date())}
        </Text>
      )}
    </div>
  );
}

/** Hints, what there is to do, and having it done. */
function Help({ step, owner, check, ...at }: { step: ScenarioStep; owner: boolean; check: StepCheck | undefined } & Position) {
  const [given, setGiven] = useState<ScenarioBlock[][]>([]);
  const [shown, setShown] = useState<ScenarioBlock[]>();
  const path = { name: at.scenario, step: at.number };
  const hint = useMutation({
    mutationFn: () => read(client.GET("/workshop/scenarios/{name}/steps/{step}/hint", { params: { path, query: { number: given.length + 1 } } })),
    onSuccess: ({ blocks }) => setGiven([...given, blocks]),
  });
  const show = useMutation({
    mutationFn: () => read(client.GET("/workshop/scenarios/{name}/steps/{step}/solve", { params: { path } })),
    onSuccess: ({ blocks }) => setShown(blocks),
  });
  const queries = useQueryClient();
  const look = () => queries.invalidateQueries({ queryKey: stepCheck(at.scenario, at.number).queryKey });
  const goOn = useMutation({ mutationFn: () => read(client.POST("/workshop/scenarios/{name}/steps/{step}/check", { params: { path } })), onSettled: look });
  const solve = useMutation({ mutationFn: () => read(client.POST("/workshop/scenarios/{name}/steps/{step}/solve", { params: { path } })), onSettled: look });
  const left = step.hints - given.length;
  const seen = check?.state === "simulated" || (step.reading && (check?.state === "done" || check?.state === "passed"));
  const failed = hint.error ?? show.error ?? goOn.error ?? solve.error;
  const running = check?.solving && !check.solving.ended;
  const done = check?.done[at.number - 1];
  return (
    <>
      {given.map((blocks, index) => (
        <div key={index} className="step-hint">
          <Text size="sm" fw={600}>
            Hint {index + 1} of {step.hints}
          </Text>
          <Blocks blocks={blocks} scenario={at.scenario} />
        </div>
      ))}
      {shown && <Blocks blocks={shown} scenario={at.scenario} />}
      <Group gap="xs">
        {seen && owner && !done && (
          <Button size="sm" loading={goOn.isPending} onClick={() => goOn.mutate()}>
            Go on
          </Button>
        )}
        {left > 0 && (
          <Button size="sm" variant="default" loading={hint.isPending} onClick={() => hint.mutate()}>
            Hint ({left} left)
          </Button>
        )}
        {step.solvable && !shown && (
          <Button size="sm" variant="default" loading={show.isPending} onClick={() => show.mutate()}>
            Show what to do
          </Button>
        )}
        {step.solvable && owner && !done && (
          <ConfirmButton size="sm" busy={solve.isPending || Boolean(running)} question="Kalypso does the step in the sandbox, as you would: it clones, pushes and merges." yes="Yes, do it" run={() => solve.mutate()}>
            Do it for me
          </ConfirmButton>
        )}
      </Group>
      {failed && (
        <Alert color="red" variant="outline" role="alert">
          {failed.message}
        </Alert>
      )}
      <Output check={check} {...at} />
    </>
  );
}

/** What a step prints while it is done, or why it did not work. */
function Output({ check, scenario, number }: { check: StepCheck | undefined } & Position) {
  const run = check?.solving;
  const end = useRef<HTMLPreElement>(null);
  const text = run?.output ?? "";
  useEffect(() => {
    if (text && end.current) end.current.scrollTop = end.current.scrollHeight;
  }, [text]);
  if (!run || run.scenario !== scenario || run.step !== number) return null;
  return (
    <div>
      <Text size="sm" role="status">
        {run.error ? `It did not work: ${plain(run.error)}` : run.ended ? "It was done." : run.waits ? `It waits: ${plain(run.waits)}` : "It is being done."}
      </Text>
      {text && (
        <Code block className="log" ref={end} tabIndex={0} role="group" aria-label="Output">
          {text.split("\n").map(plain).join("\n")}
        </Code>
      )}
    </div>
  );
}
