import { Text, TextInput } from "@mantine/core";
import { useDebouncedCallback } from "@mantine/hooks";
import { useEffect, useState } from "react";
import { hubNow } from "../api/clock";
import { fieldOfTime, parseTime, timeOfField } from "../words/time";

interface TimeFieldProps {
  label: string;
  /** As the API takes it; "" for none. */
  value: string;
  change(value: string): void;
}

/** A moment of the past, in the browser's zone. It goes to the URL when no key has been pressed for a moment. */
export function TimeField({ label, value, change }: TimeFieldProps) {
  const [text, setText] = useState(fieldOfTime(parseTime(value)));
  useEffect(() => setText(fieldOfTime(parseTime(value))), [value]);
  const later = useDebouncedCallback((field: string) => change(timeOfField(field)), 500);
  return (
    <TextInput
      type="datetime-local"
      leftSection={<Text size="xs">at</Text>}
      size="xs"
      w={200}
      aria-label={label}
      max={fieldOfTime(hubNow())}
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        later(event.currentTarget.value);
      }}
    />
  );
}
