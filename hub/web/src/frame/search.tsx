import { Button, Kbd } from "@mantine/core";
import { Spotlight, type SpotlightActionGroupData, spotlight } from "@mantine/spotlight";
import { useDebouncedValue } from "@mantine/hooks";
import { keepPreviousData, useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useLocation } from "wouter";
import { changes, clusters, workloads } from "../api/queries";
import type { Workload } from "../api/types";
import { href, pathOf } from "../filters/filters";
import { isCommit } from "../words/change";
import { plain } from "../words/text";

export function SearchButton() {
  return (
    <Button size="compact-sm" variant="default" onClick={spotlight.open} rightSection={<Kbd size="xs">/</Kbd>}>
      Search
    </Button>
  );
}

/** How many of each kind are shown. */
const most = 8;

/** Finds workloads and targets among all, and clusters and the changes of a commit by asking the hub. It opens with the key "/". */
export function Search() {
  const [opened, setOpened] = useState(false);
  const [text, setText] = useState("");
  // a key that is followed by another asks for nothing
  const [wanted] = useDebouncedValue(text, 150, { leading: true });
  const [, navigate] = useLocation();
  const known = useQuery({ ...workloads, enabled: opened }).data?.items ?? [];
  const found = useInfiniteQuery({ ...clusters({ q: wanted }), enabled: opened && wanted !== "", placeholderData: keepPreviousData });
  const byCommit = useInfiniteQuery({ ...changes({ q: wanted }), enabled: opened && isCommit(wanted), placeholderData: keepPreviousData });
  const go = (label: string, path: string) => ({ id: path, label: plain(label), onClick: () => navigate(path) });
  const matches = (name: string) => name.toLowerCase().includes(text.toLowerCase());

  const groups: SpotlightActionGroupData[] = [
    { group: "Workloads", actions: known.filter((one) => matches(one.name)).slice(0, most).map((one) => go(one.name, `/workloads${pathOf(one.name)}`)) },
    { group: "Deployment targets", actions: targetsOf(known).filter(matches).slice(0, most).map((target) => go(target, href("/placements", { target }))) },
    {
      group: "Clusters",
      actions: text === "" ? [] : (found.data?.pages[0]?.items ?? []).slice(0, most).map((one) => go(one.name, `/clusters${pathOf(one.name)}`)),
    },
    { group: "Changes", actions: isCommit(text) ? (byCommit.data?.pages[0]?.items ?? []).slice(0, most).map((one) => go(`${one.title} (${one.environment})`, `/changes/${one.id}`)) : [] },
  ].filter((group) => group.actions.length > 0);

  return (
    <Spotlight
      shortcut={["/", "mod + K"]}
      actions={groups}
      // what is given is filtered already
      filter={(_, actions) => actions}
      query={text}
      onQueryChange={setText}
      onSpotlightOpen={() => setOpened(true)}
      onSpotlightClose={() => setOpened(false)}
      nothingFound={wanted !== text || found.isFetching || byCommit.isFetching ? "Looking" : "No workload, deployment target or cluster has that in its name, and no change has it as a commit"}
      searchProps={{ placeholder: "Workload, deployment target, cluster or commit", "aria-label": "Search" }}
      attributes={{ content: { "aria-label": "Search" } }}
      overlayProps={{ blur: 0 }}
      scrollable
      maxHeight={420}
    />
  );
}

function targetsOf(all: Workload[]): string[] {
  return [...new Set(all.flatMap((one) => Object.values(one.environments ?? {}).flatMap((environment) => environment.targets ?? [])))].sort();
}
