import { Button, Group, Popover, Stack, Text } from "@mantine/core";
import { type ReactNode, useState } from "react";

interface ConfirmButtonProps {
  /** What the button says. */
  children: string;
  /** What it is on, for those who hear it without what is around it. */
  label?: string;
  size?: "sm" | "compact-xs";
  /** Whether it is being done. */
  busy: boolean;
  /** What will come of it. */
  question: ReactNode;
  /** The words of the button that does it, and its name for screen readers. */
  yes: string;
  yesLabel?: string;
  run(): void;
}

/** A button for what cannot be taken back: it asks once more. */
export function ConfirmButton({ children, label, size = "compact-xs", busy, question, yes, yesLabel, run }: ConfirmButtonProps) {
  const [opened, setOpened] = useState(false);
  return (
    <Popover opened={opened} onChange={setOpened} position="bottom-start" withArrow trapFocus returnFocus>
      <Popover.Target>
        <Button size={size} variant="default" loading={busy} aria-label={label} onClick={() => setOpened(!opened)}>
          {children}
        </Button>
      </Popover.Target>
      <Popover.Dropdown aria-label={label ?? children}>
        <Stack gap="xs" maw={260}>
          <Text size="sm">{question}</Text>
          <Group gap="xs">
            <Button
              size="xs"
              aria-label={yesLabel}
              onClick={() => {
                setOpened(false);
                run();
              }}
            >
              {yes}
            </Button>
            <Button size="xs" variant="default" onClick={() => setOpened(false)}>
              No
            </Button>
          </Group>
        </Stack>
      </Popover.Dropdown>
    </Popover>
  );
}
