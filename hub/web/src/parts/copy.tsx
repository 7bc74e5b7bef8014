import { Button, Code, CopyButton, Group } from "@mantine/core";

/** A line to run, with a button that copies it. */
export function Copy({ text }: { text: string }) {
  return (
    <Group gap="xs" wrap="nowrap">
      <Code>{text}</Code>
      <CopyButton value={text}>
        {({ copied, copy }) => (
          <Button size="compact-xs" variant="default" onClick={copy} aria-live="polite">
            {copied ? "Copied" : "Copy"}
          </Button>
        )}
      </CopyButton>
    </Group>
  );
}
