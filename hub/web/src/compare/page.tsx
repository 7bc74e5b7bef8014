import { Alert, Group, Select, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useState } from "react";
import { comparison } from "../api/queries";
import type { Comparison, Environment } from "../api/types";
import { useEnvironments } from "../api/use-environments";
import { FilterText } from "../filters/filter-text";
import { href, pathOf, type Query } from "../filters/filters";
import { TimeField } from "../filters/time-field";
import { useFilters, useParameter } from "../filters/use-filters";
import { Heading } from "../parts/heading";
import { CommitLink, To } from "../parts/links";
import { CSV, More } from "../parts/table/list-buttons";
import { Answered, Empty } from "../parts/notices";
import { count, plain } from "../words/text";
import { clockText, fullText, parseTime } from "../words/time";
import { type Group as GroupName, groups, sidesOf } from "./rows";
import { ComparisonTable, type Sides } from "./table";

/** How one environment differs from another, or from itself at another time. */
export default function Compare() {
  const { asked: known, all } = useEnvironments();
  const [filters, change] = useFilters();
  const [left, setLeft] = useParameter("left");
  const [right, setRight] = useParameter("right");
  const [leftAt, setLeftAt] = useParameter("leftAt");
  const [rightAt, setRightAt] = useParameter("rightAt");
  const names = all.map((one) => one.name);
  const [one, other] = sidesOf(left || (right ? "" : filters.env), right, names);
  const query: Query = Object.fromEntries(Object.entries({ leftAt, rightAt, q: filters.q }).filter(([, value]) => value));
  return (
    <Stack gap="sm">
      <Heading>Compare</Heading>
      <Answered what="the environments" asked={known}>
        <Group gap="sm" role="search" aria-label="What is compared">
          <Group gap={4}>
            <Select size="xs" w={150} aria-label="Left environment" data={names} value={one || null} allowDeselect={false} onChange={(value) => setLeft(value ?? "")} />
            <TimeField label="Left time; empty for now" value={leftAt} change={setLeftAt} />
          </Group>
          <Text size="sm">with</Text>
          <Group gap={4}>
            <Select size="xs" w={150} aria-label="Right environment" data={names} value={other || null} allowDeselect={false} onChange={(value) => setRight(value ?? "")} />
            <TimeField label="Right time; empty for now" value={rightAt} change={setRightAt} />
          </Group>
          <FilterText label="Text" placeholder="Target or workload" value={filters.q} change={(q) => change({ q })} />
        </Group>
        {names.length === 0 ? (
          <Empty reason="The hub knows no environment yet.">An environment is an Environment object in the control plane, and a branch of it.</Empty>
        ) : one === other && leftAt === rightAt ? (
          <Empty reason={`That is ${plain(one)} on both sides.`}>Choose another environment on one side, or another time.</Empty>
        ) : (
          <Compared left={one} right={other} query={query} all={all} />
        )}
      </Answered>
    </Stack>
  );
}

/** What is compared: two environments, and the times and the filter as the API takes them. */
interface Asked {
  left: string;
  right: string;
  query: Query;
}

function Compared({ all, ...asking }: Asked & { all: Environment[] }) {
  const { left, right, query } = asking;
  const asked = useInfiniteQuery(comparison(left, right, { ...query, group: "differs" }));
  const first = asked.data?.pages[0];
  const [open, setOpen] = useState(false);
  if (!first) return <Answered what="the comparison" asked={asked} children={undefined} />;
  const { counts } = first;
  const environmentOf = (side: Comparison["left"]) => all.find((one) => one.name === side.environment);
  // files of the past are not where they are now
  const ofSide = (side: Comparison["left"]) => ({ name: titleOf(side), environment: side.at ? undefined : environmentOf(side) });
  const sides: Sides = { left: ofSide(first.left), right: ofSide(first.right) };
  const asOf = parseTime(first.asOf);
  // what is of other sides is not shown below these, not even for a moment
  const group = (name: GroupName) => <InGroup key={JSON.stringify([name, asking])} name={name} asking={asking} sides={sides} n={counts[name]} />;
  return (
    <Answered what="the comparison" asked={asked}>
      <div className={asked.isPlaceholderData ? "old-answer" : undefined} aria-busy={asked.isPlaceholderData}>
        <Side side={first.left} environment={environmentOf(first.left)} />
        <Side side={first.right} environment={environmentOf(first.right)} />
        <Group justify="space-between">
          <Text size="sm" fw={600} role="status">
            {counts.differs + counts.promotion === 0
              ? `The same${asOf ? `, as of ${clockText(asOf, new Date())}` : ""}: ${count(counts.same, "target")}`
              : `${count(counts.differs + counts.promotion + counts.same, "target")}: ${counts.differs.toLocaleString("en")} differing, ${counts.promotion.toLocaleString("en")} waiting for promotion, ${counts.same.toLocaleString("en")} the same`}
          </Text>
          <CSV path={href("/api/v1/compare", { left, right, ...query, format: "csv" })} />
        </Group>
        {counts.differs > 0 && group("differs")}
        {counts.promotion > 0 && group("promotion")}
        {counts.same > 0 && (
          <details onToggle={(event) => setOpen(event.currentTarget.open)}>
            <summary>
              {groups.same.title}: {counts.same.toLocaleString("en")}
            </summary>
            {open && group("same")}
          </details>
        )}
      </div>
    </Answered>
  );
}

function titleOf(side: Comparison["left"]): string {
  const at = parseTime(side.at);
  return `${plain(side.environment)}${at ? ` at ${fullText(at)}` : ""}`;
}

/** What keeps a side from being known whole. */
function Side({ side, environment }: { side: Comparison["left"]; environment: Environment | undefined }) {
  if (!side.error && side.problems === 0) return null;
  return (
    <Alert color={side.error ? "red" : "gray"} variant="outline" title={side.error ? `Not all of ${titleOf(side)} is known` : `${titleOf(side)} has ${count(side.problems, "problem")}`}>
      {side.error && (
        <Text size="sm" className="reason">
          {plain(side.error)}
        </Text>
      )}
      <Text size="sm">
        It is read at commit <CommitLink repo={environment?.gitOps.repo} commit={side.commit} />; <To path={`/environments${pathOf(side.environment)}`}>its page</To> has what is wrong with it.
      </Text>
    </Alert>
  );
}

function InGroup({ name, asking: { left, right, query }, sides, n }: { name: GroupName; asking: Asked; sides: Sides; n: number }) {
  const asked = useInfiniteQuery(comparison(left, right, { ...query, group: name }));
  const items = asked.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <section aria-label={groups[name].title}>
      {name !== "same" && (
        <Title order={2} size="h4">
          {groups[name].title}
        </Title>
      )}
      <Answered what={`what ${groups[name].title.toLowerCase()}`} asked={asked}>
        {items.length > 0 ? <ComparisonTable label={groups[name].title} rows={items} sides={sides} /> : <Empty reason={groups[name].empty} />}
        {asked.hasNextPage && (
          <Group justify="space-between" mt="xs">
            <Text size="sm">
              {items.length} of {n.toLocaleString("en")}
            </Text>
            <More query={asked} />
          </Group>
        )}
      </Answered>
    </section>
  );
}
