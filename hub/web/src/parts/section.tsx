import { Title } from "@mantine/core";
import type { ReactNode } from "react";

/** A part of a page under a heading, which is also its name for screen readers. */
export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title}>
      <Title order={2} size="h4">
        {title}
      </Title>
      {children}
    </section>
  );
}
