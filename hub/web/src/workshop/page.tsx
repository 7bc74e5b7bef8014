import { Box, Button, Code, Group, NavLink, Select, Stack, Text, Title, UnstyledButton, useComputedColorScheme, VisuallyHidden } from "@mantine/core";
import { useSessionStorage } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useRef, useState } from "react";
import { Link, useLocation } from "wouter";
import { me, sandbox, scenario, scenarios } from "../api/queries";
import type { Scenario as ScenarioData, ScenarioDetail } from "../api/types";
import { pathOf } from "../filters/filters";
import { Credentials } from "../parts/credentials";
import { Heading } from "../parts/heading";
import { Outside, To } from "../parts/links";
import { Answered, Empty } from "../parts/notices";
import { plain } from "../words/text";
import { Blocks } from "./blocks";
import "./page.css";
import { doneOf, following, presentScenario } from "./progress";
import { Step } from "./step";

/** The workshop's scenarios, step by step: what to do next, and whether it has worked. */
export default function Workshop({ name }: { name?: string }) {
  const asked = useQuery(scenarios);
  const all = asked.data?.items ?? [];
  const chosen = name ?? presentScenario(all)?.name;
  return (
    <Stack gap="md">
      <Group justify="space-between">
        <Heading>Workshop</Heading>
        <Present />
      </Group>
      <Answered what="the scenarios" asked={asked}>
        {chosen ? (
          <div className="workshop">
            <Scenarios all={all} chosen={chosen} />
            <Scenario key={chosen} name={chosen} />
          </div>
        ) : (
          <Empty reason="The workshop has no scenarios.">
            A workshop of your own has them in its folder; <Code>kalypso up --workshop DIR</Code> makes a sandbox of it.
          </Empty>
        )}
      </Answered>
    </Stack>
  );
}

/** What Mantine goes by. */
const schemeAttribute = "data-mantine-color-scheme";

/** Larger type on white, for a projector; a page that is loaded again has it still. */
function Present() {
  const [on, setOn] = useSessionStorage({ key: "kalypso-large-type", defaultValue: false, getInitialValueInEffect: false });
  const scheme = useComputedColorScheme();
  useEffect(() => {
    if (!on) return;
    const root = document.documentElement;
    root.classList.add("present");
    // beside the colour scheme that the user has chosen, which other pages keep
    root.setAttribute(schemeAttribute, "light");
    return () => {
      root.classList.remove("present");
      root.setAttribute(schemeAttribute, scheme);
    };
  }, [on, scheme]);
  return (
    <Button size="compact-sm" variant="default" aria-pressed={on} onClick={() => setOn(!on)}>
      {on ? "Usual type" : "Large type"}
    </Button>
  );
}

function Scenarios({ all, chosen }: { all: ScenarioData[]; chosen: string }) {
  const [, navigate] = useLocation();
  const progress = (one: ScenarioData) => (one.done.includes(false) ? `${doneOf(one.done)} of ${one.done.length}` : "✓ all done");
  return (
    <>
      <Box hiddenFrom="md">
        <Select
          label="Scenario"
          data={all.map((one) => ({ value: one.name, label: `${plain(one.title)} (${progress(one)})` }))}
          value={chosen}
          allowDeselect={false}
          onChange={(value) => value && navigate(`/workshop${pathOf(value)}`)}
        />
      </Box>
      <Box component="nav" aria-label="Scenarios" className="scenarios" visibleFrom="md">
        {all.map((one) => (
          <NavLink
            key={one.name}
            component={Link}
            href={`/workshop${pathOf(one.name)}`}
            label={plain(one.title)}
            description={progress(one)}
            active={one.name === chosen}
            aria-current={one.name === chosen ? "page" : undefined}
          />
        ))}
      </Box>
    </>
  );
}

function Scenario({ name }: { name: string }) {
  const asked = useQuery(scenario(name));
  return (
    <section aria-label="Scenario" className="scenario">
      <Answered what="the scenario" asked={asked}>
        {asked.data && <Steps detail={asked.data} />}
      </Answered>
    </section>
  );
}

function Steps({ detail }: { detail: ScenarioDetail }) {
  const queries = useQueryClient();
  const [done, setDone] = useState(detail.done);
  // from 0; -1 when all are done and none was opened
  const [open, setOpen] = useState(() => following(detail.done, -1));
  const last = useRef(detail.done);
  const moved = useRef(false);
  const opened = useRef<HTMLLIElement>(null);

  const ticked = useCallback(
    (now: boolean[]) => {
      const before = last.current;
      if (now.every((is, step) => is === before[step])) return;
      last.current = now;
      setDone(now);
      queries.invalidateQueries({ queryKey: scenarios.queryKey });
      // it goes on by itself when the open step has become done
      setOpen((step) => {
        if (!now[step] || before[step]) return step;
        moved.current = true;
        return following(now, step);
      });
    },
    [queries],
  );
  useEffect(() => {
    if (moved.current) opened.current?.scrollIntoView({ block: "nearest" });
    moved.current = false;
  }, [open]);

  // with no step open there is no check that says what is done
  const listed = useQuery(scenarios).data?.items.find((one) => one.name === detail.name)?.done;
  useEffect(() => {
    if (open < 0 && listed) ticked(listed);
  }, [open, listed, ticked]);

  const count = doneOf(done);
  return (
    <Stack gap="sm">
      <Title order={2} size="h4">
        {plain(detail.title)}
      </Title>
      <Blocks blocks={detail.intro} scenario={detail.name} />
      {detail.needs.length > 0 && (
        <Text size="sm">
          Before it:{" "}
          {detail.needs.map((needed, index) => (
            <span key={needed}>
              {index > 0 && ", "}
              <To path={`/workshop${pathOf(needed)}`}>{plain(needed)}</To>
            </span>
          ))}
        </Text>
      )}
      <Servers />
      <VisuallyHidden role="status">
        {count} of {done.length} steps are done
      </VisuallyHidden>
      <ol className="steps">
        {detail.steps.map((step, index) => (
          <li key={index} ref={index === open ? opened : undefined} data-done={done[index]}>
            <UnstyledButton className="step-head" aria-expanded={index === open} onClick={() => setOpen(index === open ? -1 : index)}>
              <span className="step-mark" aria-hidden="true">
                {done[index] ? "✓" : index + 1}
              </span>
              <span>
                {plain(step.title)}
                <VisuallyHidden>{done[index] ? ", done" : ", not done"}</VisuallyHidden>
              </span>
            </UnstyledButton>
            {index === open && <Step step={step} scenario={detail.name} number={index + 1} ticked={ticked} />}
          </li>
        ))}
      </ol>
      {count === done.length && (
        <Text fw={600}>
          All steps are done. <Next after={detail.name} />
        </Text>
      )}
    </Stack>
  );
}

function Next({ after }: { after: string }) {
  const all = useQuery(scenarios).data?.items ?? [];
  const next = all[all.findIndex((one) => one.name === after) + 1];
  if (!next || next.apart) return <>That was the last one.</>;
  return (
    <>
      Next: <To path={`/workshop${pathOf(next.name)}`}>{plain(next.title)}</To>
    </>
  );
}

/** Where the forge and Argo CD are, with how to sign in. */
function Servers() {
  const user = useQuery(me).data;
  const { places = [] } = useQuery({ ...sandbox, enabled: Boolean(user?.features.sandbox) }).data ?? {};
  const shown = places.filter((one) => one.user);
  if (shown.length === 0) return null;
  return (
    <Group gap="md" component="section" aria-label="Servers" className="servers">
      {shown.map((one) => (
        <Group key={`${one.name} ${one.url}`} gap={6}>
          <Text size="sm">
            <Outside url={one.url}>{plain(one.name)}</Outside>: user {plain(one.user)}
            {user?.role === "owner" && ", password"}
          </Text>
          {user?.role === "owner" && <Credentials name={one.name} />}
        </Group>
      ))}
    </Group>
  );
}
