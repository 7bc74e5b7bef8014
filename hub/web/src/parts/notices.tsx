import { Alert, Button, Group, Skeleton, Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import { Problem } from "../api/client";
import { clockText } from "../words/time";
import "./notices.css";

/** What a query knows of how it is. */
export interface Asked {
  isPending: boolean;
  isError: boolean;
  error: Error | null;
  /** When it last had an answer, in ms; 0 for never. */
  dataUpdatedAt: number;
  refetch(): unknown;
}

/** A place held for what is being loaded; it is seen after 200 ms. */
export function Loading({ lines = 6 }: { lines?: number }) {
  return (
    <Stack className="loading" gap="xs" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        <Skeleton key={line} height={22} animate={false} />
      ))}
    </Stack>
  );
}

/** What failed, since when, what is still shown, and a way to try again. */
export function Failed({ what, asked }: { what: string; asked: Asked }) {
  const problem = asked.error instanceof Problem ? asked.error : new Problem(0, asked.error?.message ?? "no answer");
  const refused = problem.status === 403;
  return (
    <Alert color="red" role="alert" title={refused ? `You may not see ${what}` : `No answer for ${what}`} variant="outline">
      <Text size="sm">
        {problem.title}
        {problem.detail && `: ${problem.detail}`}
      </Text>
      {problem.hint && <Text size="sm">{problem.hint}</Text>}
      <Text size="sm">
        {asked.dataUpdatedAt > 0
          ? `The last answer came at ${clockText(new Date(asked.dataUpdatedAt), new Date())}. It is what is shown below.`
          : "There has been no answer since this page was opened, so nothing is shown."}
        {problem.request && ` Request ${problem.request}.`}
      </Text>
      {!refused && (
        <Group mt="xs">
          <Button size="xs" variant="outline" onClick={() => asked.refetch()}>
            Try again
          </Button>
        </Group>
      )}
    </Alert>
  );
}

/** Nothing to show: the reason, and what to do next. */
export function Empty({ reason, children }: { reason: string; children?: ReactNode }) {
  return (
    <Stack className="empty" gap={4}>
      <Text fw={600}>{reason}</Text>
      {children && (
        <Text size="sm" component="div">
          {children}
        </Text>
      )}
    </Stack>
  );
}

/** What a query has brought: its failure, the place held for it, and what is known. Without an answer nothing is said of what there is. */
export function Answered({ what, asked, children }: { what: string; asked: Asked; children: ReactNode }) {
  return (
    <>
      {asked.isError && <Failed what={what} asked={asked} />}
      {asked.isPending ? <Loading /> : asked.dataUpdatedAt > 0 && children}
    </>
  );
}
