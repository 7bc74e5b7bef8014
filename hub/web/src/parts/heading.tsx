import { Title } from "@mantine/core";
import { useDocumentTitle } from "@mantine/hooks";

/** The heading of a page, which is also the window's title. */
export function Heading({ children }: { children: string }) {
  useDocumentTitle(`${children} · Kalypso hub`);
  return (
    <Title order={1} size="h3">
      {children}
    </Title>
  );
}
