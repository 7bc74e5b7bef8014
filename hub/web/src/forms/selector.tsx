import { Autocomplete, Button, Group, NativeSelect, Stack, Text, TextInput } from "@mantine/core";
import { useRef, useState } from "react";
import { type Clause, clausesOf, hasValues, isWhole, type Operator, operators, selectorOf } from "./clauses";
import { same } from "./document";
import { type LabelsInUse, valuesOf } from "./labels";
import { RemoveButton } from "./pairs";
import "./forms.css";

interface SelectorProps {
  label: string;
  value: unknown;
  change(value: Record<string, unknown>): void;
  known: LabelsInUse;
}

/** A label selector as rows, one for each clause. All have to hold. */
export function Selector({ label, value, change, known }: SelectorProps) {
  const found = clausesOf(value);
  const [rows, setRows] = useState<Clause[]>(found ?? []);
  const list = useRef<HTMLFieldSetElement>(null);
  if (found && !same(selectorOf(rows), selectorOf(found))) setRows(found);
  if (!found) {
    return (
      <fieldset className="form-part">
        <legend>{label}</legend>
        <Text size="sm">This selector has what a form cannot show. The YAML has all of it.</Text>
      </fieldset>
    );
  }
  const update = (next: Clause[]) => {
    setRows(next);
    change(selectorOf(next));
  };
  const set = (index: number, part: Partial<Clause>) => update(rows.map((one, i) => (i === index ? { ...one, ...part } : one)));
  return (
    <fieldset className="form-part" ref={list}>
      <legend>{label}</legend>
      <Stack gap={6}>
        {rows.length === 0 && <Text size="sm">No clause, which selects everything.</Text>}
        {rows.map((one, index) => (
          <div className="form-row form-clause" key={index}>
            <Autocomplete size="xs" aria-label={`Label of clause ${index + 1}`} placeholder="label" value={one.key} data={Object.keys(known)} onChange={(key) => set(index, { key })} />
            <NativeSelect
              size="xs"
              aria-label={`Operator of clause ${index + 1}`}
              value={one.operator}
              data={Object.entries(operators).map(([operator, text]) => ({ value: operator, label: text }))}
              onChange={(event) => {
                const operator = event.currentTarget.value as Operator;
                set(index, { operator, values: hasValues(operator) ? (operator === "=" ? one.values.slice(0, 1) : one.values) : [] });
              }}
            />
            {!hasValues(one.operator) ? (
              <span />
            ) : one.operator === "=" ? (
              <Autocomplete
                size="xs"
                aria-label={`Value of clause ${index + 1}`}
                placeholder="value"
                value={one.values[0] ?? ""}
                data={valuesOf(known, one.key)}
                onChange={(value) => set(index, { values: value ? [value] : [] })}
              />
            ) : (
              <Values label={`Values of clause ${index + 1}`} values={one.values} change={(values) => set(index, { values })} />
            )}
            {!isWhole(one) && (
              <Text size="xs" className="form-note" role="status">
                This clause is not whole yet, so it is left out.
              </Text>
            )}
            <RemoveButton
              what={`clause ${one.key || index + 1}`}
              remove={() => {
                update(rows.filter((_, i) => i !== index));
                list.current?.querySelector<HTMLElement>("[data-add]")?.focus();
              }}
            />
          </div>
        ))}
        <Group>
          <Button size="compact-xs" variant="default" data-add onClick={() => setRows([...rows, { key: "", operator: "=", values: [] }])}>
            Add clause
          </Button>
        </Group>
      </Stack>
    </fieldset>
  );
}

/** Values with commas between them; while they are written they are as they are written. */
function Values({ label, values, change }: { label: string; values: string[]; change(values: string[]): void }) {
  const [text, setText] = useState(values.join(", "));
  const valuesIn = (written: string) => written.split(",").map((one) => one.trim()).filter(Boolean);
  if (!same(valuesIn(text), values)) setText(values.join(", "));
  return (
    <TextInput
      size="xs"
      aria-label={label}
      placeholder="values, with commas"
      value={text}
      onChange={(event) => {
        setText(event.currentTarget.value);
        change(valuesIn(event.currentTarget.value));
      }}
    />
  );
}
