import { ActionIcon, Autocomplete, Button, Group, Stack, Text, Textarea } from "@mantine/core";
import { useId, useRef, useState } from "react";
import { same } from "./document";
import { type LabelsInUse, valuesOf } from "./labels";
import "./forms.css";

type Row = [key: string, value: string];

interface PairsProps {
  /** What it is, as a legend. */
  label: string;
  /** What one row is called, for its buttons. */
  one: string;
  value: Record<string, string>;
  change(value: Record<string, string>): void;
  /** What to offer. */
  known?: LabelsInUse;
  /** What is wrong with a row, or "". */
  problem(key: string, value: string): string;
  /** Whether values may have several lines. */
  long?: boolean;
}

/** Keys with values as rows. A row whose key is empty, or is in an earlier row, is not written. */
export function Pairs({ label, one, value, change, known = {}, problem, long = false }: PairsProps) {
  const [rows, setRows] = useState<Row[]>(() => Object.entries(value));
  const id = useId();
  const list = useRef<HTMLFieldSetElement>(null);
  const [shown, setShown] = useState(value);
  // what something else has changed, such as undo
  if (!same(shown, value)) {
    setShown(value);
    if (!same(record(rows), value)) setRows(Object.entries(value));
  }
  const update = (next: Row[]) => {
    setRows(next);
    change(record(next));
  };
  const set = (index: number, row: Row) => update(rows.map((now, i) => (i === index ? row : now)));
  const remove = (index: number) => {
    update(rows.filter((_, i) => i !== index));
    list.current?.querySelector<HTMLElement>("[data-add]")?.focus();
  };
  return (
    <fieldset className="form-part" ref={list}>
      <legend>{label}</legend>
      <Stack gap={6}>
        {rows.map(([key, now], index) => {
          const twice = rows.findIndex(([other]) => other === key) < index;
          const wrong = key === "" ? "" : twice ? "the key is there already" : problem(key, now);
          return (
            <div key={index}>
              <div className="form-row">
                <Autocomplete
                  size="xs"
                  aria-label={`Key of ${one} ${index + 1}`}
                  placeholder="key"
                  value={key}
                  data={Object.keys(known).filter((name) => name === key || !rows.some(([other]) => other === name))}
                  error={wrong !== ""}
                  aria-describedby={wrong ? `${id}-${index}` : undefined}
                  onChange={(next) => set(index, [next, now])}
                />
                {long ? (
                  <Textarea
                    size="xs"
                    aria-label={`Value of ${key || `${one} ${index + 1}`}`}
                    rows={Math.min(8, now.split("\n").length)}
                    value={now}
                    onChange={(event) => set(index, [key, event.currentTarget.value])}
                  />
                ) : (
                  <Autocomplete size="xs" aria-label={`Value of ${key || `${one} ${index + 1}`}`} placeholder="value" value={now} data={valuesOf(known, key)} onChange={(next) => set(index, [key, next])} />
                )}
                <RemoveButton what={`${one} ${key || index + 1}`} remove={() => remove(index)} />
              </div>
              {wrong && (
                <Text size="xs" c="var(--mantine-color-error)" id={`${id}-${index}`}>
                  {wrong}
                </Text>
              )}
            </div>
          );
        })}
        <Group>
          <Button size="compact-xs" variant="default" data-add onClick={() => setRows([...rows, ["", ""]])}>
            Add {one}
          </Button>
        </Group>
      </Stack>
    </fieldset>
  );
}

export function RemoveButton({ what, remove }: { what: string; remove(): void }) {
  return (
    <ActionIcon size="sm" variant="default" aria-label={`Remove ${what}`} title={`Remove ${what}`} onClick={remove}>
      <span aria-hidden="true">×</span>
    </ActionIcon>
  );
}

function record(rows: Row[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (const [key, value] of rows) if (key !== "" && !Object.hasOwn(found, key)) found[key] = value;
  return found;
}
