import { AppShell, Burger, Button, Group, NavLink, Select, Text, useMantineColorScheme, VisuallyHidden } from "@mantine/core";
import { useDidUpdate, useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Link, useLocation } from "wouter";
import { Problem } from "../api/client";
import { environments, me } from "../api/queries";
import { href } from "../filters/filters";
import { useFilters } from "../filters/use-filters";
import { useAsOf } from "../live/as-of";
import { LiveProvider, useLive } from "../live/live";
import { Failed, Loading } from "../parts/notices";
import { count } from "../words/text";
import { clockText } from "../words/time";
import { Search, SearchButton } from "./search";
import { SignIn } from "./sign-in";
import { UserMenu } from "./user";

/** What all pages have around them. Without a user there is only the way in. */
export function Frame({ children }: { children: ReactNode }) {
  const asked = useQuery(me);
  if (asked.error instanceof Problem && asked.error.status === 401) return <SignIn />;
  if (asked.isPending) return <Loading />;
  if (!asked.data) return <Failed what="who you are" asked={asked} />;
  return (
    <LiveProvider>
      <Shell>{children}</Shell>
    </LiveProvider>
  );
}

function Shell({ children }: { children: ReactNode }) {
  const [opened, { toggle, close }] = useDisclosure(false);
  const [location] = useLocation();
  // what is read out and where Tab goes on belong to the page that was opened
  useDidUpdate(() => document.getElementById("main")?.focus(), [location]);
  return (
    <AppShell header={{ height: { base: 128, sm: 96, md: 56 } }} navbar={{ width: 200, breakpoint: "sm", collapsed: { mobile: !opened } }} padding="md">
      <a className="skip" href="#main">
        To the content
      </a>
      <AppShell.Header>
        <Group h="100%" px={{ base: "sm", sm: "md" }} gap="xs" wrap="wrap" justify="space-between">
          <Group gap="sm">
            <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Navigation" />
            <Text fw={700} visibleFrom="sm">
              Kalypso hub
            </Text>
            <EnvironmentSelect />
            <SearchButton />
          </Group>
          <Group gap="xs">
            <LiveState />
            <SchemeButton />
            <UserMenu />
          </Group>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs">
        <Navigation close={close} />
      </AppShell.Navbar>
      <AppShell.Main id="main" tabIndex={-1}>
        {children}
      </AppShell.Main>
      <Search />
    </AppShell>
  );
}

const pages: [path: string, label: string][] = [
  ["/", "Fleet"],
  ["/changes", "Changes"],
  ["/compare", "Compare"],
  ["/drift", "Drift"],
  ["/pull-requests", "Pull requests"],
  ["/what-if", "What-if"],
  ["/placements", "Placements"],
  ["/clusters", "Clusters"],
  ["/workloads", "Workloads"],
  ["/assignments", "Assignments"],
  ["/environments", "Environments"],
];

function Navigation({ close }: { close(): void }) {
  const [location] = useLocation();
  const [{ env }] = useFilters();
  const user = useQuery(me).data;
  const shown = [...pages];
  if (user?.features.workshop) shown.push(["/workshop", "Workshop"]);
  if (user?.features.sandbox) shown.push(["/sandbox", "Sandbox"]);
  if (user?.role === "operator" || user?.role === "owner") shown.push(["/operator", "Operator"]);
  return (
    <nav aria-label="Pages">
      {shown.map(([path, label]) => {
        const active = path === "/" ? location === "/" : location === path || location.startsWith(`${path}/`);
        return (
          <NavLink
            key={path}
            component={Link}
            href={href(path, env ? { env } : {})}
            label={label}
            active={active}
            aria-current={active ? "page" : undefined}
            onClick={close}
          />
        );
      })}
    </nav>
  );
}

function EnvironmentSelect() {
  const [{ env }, change] = useFilters();
  const names = (useQuery(environments).data?.items ?? []).map((one) => one.name);
  const data = env && !names.includes(env) ? [...names, env] : names;
  return (
    <Select
      aria-label="Environment"
      placeholder="all environments"
      size="xs"
      w={170}
      clearable
      searchable={data.length > 8}
      data={data}
      value={env || null}
      onChange={(value) => change({ env: value ?? "" })}
    />
  );
}

/** "as of 14:02:07 · live", with a button that pauses it. */
function LiveState() {
  const { connected, paused, waiting, pause } = useLive();
  const asOf = useAsOf();
  const state = paused ? "paused" : connected ? "live" : "not connected, looks every 30 s";
  return (
    <Group gap={6} wrap="nowrap">
      <Text size="sm" className="figures">
        {asOf > 0 && `as of ${clockText(new Date(asOf), new Date())} · `}
        {state}
        {waiting > 0 && ` · ${count(waiting, "event")}`}
      </Text>
      {/* times change all the while; only the state is read out */}
      <VisuallyHidden role="status">{state}</VisuallyHidden>
      <Button size="compact-xs" variant="default" onClick={() => pause(!paused)}>
        {paused ? "Resume" : "Pause"}
      </Button>
    </Group>
  );
}

const schemes = { auto: "light", light: "dark", dark: "auto" } as const;

function SchemeButton() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Button size="compact-xs" variant="default" aria-label={`Theme: ${colorScheme}. Change to ${schemes[colorScheme]}`} onClick={() => setColorScheme(schemes[colorScheme])}>
      <Text span inherit visibleFrom="sm" mr={4}>
        Theme:
      </Text>
      {colorScheme}
    </Button>
  );
}
