import { Button, Code, Group } from "@mantine/core";
import { useClipboard } from "@mantine/hooks";
import "./copy.css";

interface CopyButtonProps {
  text: string;
  /** What is copied, where several things can be. */
  what?: string;
  children?: string;
}

/** Copies a text, and says whether it has. */
export function CopyButton({ text, what, children = "Copy" }: CopyButtonProps) {
  const { copy, copied, error } = useClipboard();
  return (
    <Button
      size="compact-xs"
      variant="default"
      className="copy-button"
      aria-live="polite"
      aria-label={what && !copied && !error ? `${children}: ${what}` : undefined}
      title={error ? "The browser does not let this page copy: select the text instead" : undefined}
      onClick={() => copy(text)}
    >
      {error ? "Not copied" : copied ? "Copied" : children}
    </Button>
  );
}

/** A line to run, with a button that copies it. */
export function Copy({ text }: { text: string }) {
  return (
    <Group gap="xs" wrap="nowrap" className="copy">
      <Code>{text}</Code>
      <CopyButton text={text} />
    </Group>
  );
}
