import { TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";

interface FilterTextProps {
  label: string;
  placeholder: string;
  value: string;
  change(value: string): void;
}

/** A field whose text goes to the URL when no key has been pressed for a moment. */
export function FilterText({ label, placeholder, value, change }: FilterTextProps) {
  const [text, setText] = useState(value);
  // a space at the end of what is being written is no part of the filter yet
  useEffect(() => setText((now) => (now.trim() === value ? now : value)), [value]);
  const later = useDebouncedCallback(change, 300);
  return (
    <TextInput
      size="xs"
      w={220}
      aria-label={label}
      placeholder={placeholder}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value.trim());
      }}
    />
  );
}
