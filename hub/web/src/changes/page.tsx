import { Group, Select, Stack } from "@mantine/core";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { changes, environments } from "../api/queries";
import type { Change } from "../api/types";
import { FilterText } from "../filters/filter-text";
import { href, type Query } from "../filters/filters";
import { useFilters, useParameter } from "../filters/use-filters";
import { Heading } from "../parts/heading";
import { To } from "../parts/links";
import { Listed } from "../parts/table/list-table";
import { Empty } from "../parts/notices";
import { Since } from "../parts/when";
import { changeKinds, type ChangeState, changeStateOf, changeStates, changeWord, noChange } from "../words/change";
import { plain } from "../words/text";
import { ChangeMark } from "../parts/state/state-mark";
import { StageBar, StageHead } from "./stage-bar";
import "./page.css";

const states = (Object.keys(changeStates) as ChangeState[]).map((value) => ({ value, label: changeWord(value) }));

/** Where each change is on its way from a push to the clusters, the newest first. */
export default function Changes() {
  const [{ env, q }, change] = useFilters();
  const [kind, setKind] = useParameter("kind");
  const [state, setState] = useParameter("state");
  const query: Query = Object.fromEntries(Object.entries({ env, kind, state, q }).filter(([, value]) => value));
  const asked = useInfiniteQuery(changes(query));
  return (
    <Stack gap="sm">
      <Heading>Changes</Heading>
      <Group gap="sm" role="search" aria-label="Filters">
        <FilterText label="Title, author or commit" placeholder="Title, author or commit" value={q} change={(text) => change({ q: text })} />
        <Select size="xs" w={150} aria-label="Kind" placeholder="all kinds" clearable data={[...changeKinds]} value={kind || null} onChange={(value) => setKind(value ?? "")} />
        <Select size="xs" w={150} aria-label="State" placeholder="all states" clearable data={states} value={state || null} onChange={(value) => setState(value ?? "")} />
      </Group>
      <Listed<Change> of={["change", "changes"]} query={asked} csv={href("/api/v1/changes", { ...query, format: "csv" })} empty={<None q={q} filtered={Boolean(kind || state)} />}>
        {(items) => (
          <div className="changes">
            <div className="change-head" aria-hidden="true">
              <span>Change</span>
              <span>State</span>
              <StageHead />
            </div>
            <ul className="change-list" aria-label="Changes">
              {items.map((one) => (
                <Line key={one.id} one={one} />
              ))}
            </ul>
          </div>
        )}
      </Listed>
    </Stack>
  );
}

function Line({ one }: { one: Change }) {
  const began = one.stages.pushed ?? one.stages.opened ?? one.stages.merged;
  return (
    <li className="change-line">
      <div className="change-what">
        <div className="change-title">
          <To path={`/changes/${one.id}`}>{plain(one.title) || plain(one.sha).slice(0, 8)}</To>
        </div>
        <div className="change-about">
          {plain(one.environment)} · {plain(one.kind)}
          {one.pullRequest > 0 && ` #${one.pullRequest}`} · {plain(one.author) || "author not known"} · <Since time={began} />
        </div>
      </div>
      <ChangeMark state={changeStateOf(one.state)} />
      <StageBar change={one} />
    </li>
  );
}

function None({ q, filtered }: { q: string; filtered: boolean }) {
  const known = useQuery(environments).data?.items ?? [];
  if (filtered) return <Empty reason="No change has what the filters ask for.">Leave a filter out to see more.</Empty>;
  return (
    <Empty reason={plain(noChange(q, known))}>
      A change is a pull request of a branch that clusters follow, or a commit of it that came without one. It is found by its title, its author, and any of its commits: seven digits are enough.
    </Empty>
  );
}
