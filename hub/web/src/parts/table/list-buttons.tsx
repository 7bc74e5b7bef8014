import { Button } from "@mantine/core";

interface MoreProps {
  /** A list that is read page by page. */
  query: { hasNextPage: boolean; isFetchingNextPage: boolean; fetchNextPage(): Promise<unknown> };
  size?: "xs" | "compact-xs";
}

/** The way to the next page of a list, where there is one. */
export function More({ query, size = "xs" }: MoreProps) {
  if (!query.hasNextPage) return null;
  return (
    <Button size={size} variant="default" loading={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
      More
    </Button>
  );
}

/** Downloads a list as CSV. */
export function CSV({ path }: { path: string }) {
  return (
    <Button component="a" href={path} download size="xs" variant="default">
      CSV
    </Button>
  );
}
