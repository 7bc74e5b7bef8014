import { Autocomplete, Button, Group, NativeSelect, Stack, Text, Textarea, TextInput } from "@mantine/core";
import { plain } from "../words/text";
import type { ModelDocument } from "./document";
import { at, type Field, fieldsOf, type Schema, withAt } from "./fields";
import { templateFields } from "./kinds";
import { configKeyProblem, labelProblem, type LabelsInUse } from "./labels";
import { Pairs, RemoveButton } from "./pairs";
import { Selector } from "./selector";
import "./forms.css";

/** What a form offers of what the environment has. */
export interface Offers {
  /** Labels that objects carry, by what a selector of the field selects; "" for the object's own. */
  labels: Record<string, LabelsInUse>;
  /** Names of templates by their type. */
  templates: Record<string, string[]>;
}

interface FormProps {
  document: ModelDocument;
  schema: Schema;
  offers: Offers;
  change(document: ModelDocument): void;
}

/** A form of an object, made of its kind's schema. */
export function Form({ document, schema, offers, change }: FormProps) {
  const fields = fieldsOf(schema);
  const only = fields.filter((field) => !canShow(field, document));
  const set = (path: string[], value: unknown) => {
    const next = withAt(document, path, value);
    // an object has a spec, even an empty one
    change(path[0] === "spec" && !next.spec ? { ...next, spec: {} } : next);
  };
  return (
    <Stack gap="sm">
      <Pairs
        label="Labels"
        one="label"
        value={textsOf(document.metadata.labels)}
        known={offers.labels[""] ?? {}}
        problem={labelProblem}
        change={(labels) => set(["metadata", "labels"], labels)}
      />
      {document.kind === "ConfigMap" && (
        <Pairs label="Keys" one="key" value={textsOf(document.data)} problem={configKeyProblem} long change={(data) => change({ ...document, data })} />
      )}
      {fields
        .filter((field) => !only.includes(field))
        .map((field) => (
          <Input key={field.path.join(".")} field={field} document={document} offers={offers} set={(value) => set(field.path, value)} />
        ))}
      {only.length > 0 && <Text size="sm">The form cannot show {only.map((field) => field.path.slice(1).join(".")).join(", ")}. The YAML has it.</Text>}
    </Stack>
  );
}

interface InputProps {
  field: Field;
  document: ModelDocument;
  offers: Offers;
  set(value: unknown): void;
}

function Input({ field, document, offers, set }: InputProps) {
  const value = at(document, field.path);
  const name = field.path.slice(1).join(".");
  const common = { size: "xs", label: name, description: plain(field.description) || undefined, withAsterisk: field.required } as const;
  switch (field.kind) {
    case "selector":
      return <Selector label={name} value={value} known={offers.labels[field.path[1] ?? ""] ?? {}} change={set} />;
    case "pairs":
      return <Pairs label={name} one={`entry of ${name}`} value={textsOf(value)} problem={() => ""} change={set} />;
    case "choice":
      return <NativeSelect {...common} value={textOf(value)} data={["", ...field.options]} onChange={(event) => set(event.currentTarget.value)} />;
    case "texts":
      return <Texts name={name} values={Array.isArray(value) ? value.map(textOf) : []} change={set} />;
    default: {
      const text = textOf(value);
      const templates = offers.templates[templateFields[name] ?? ""];
      if (templates) return <Autocomplete {...common} value={text} data={templates} onChange={set} />;
      if (isLong(field, text)) return <Textarea {...common} className="form-text" rows={12} value={text} onChange={(event) => set(event.currentTarget.value)} />;
      return <TextInput {...common} value={text} onChange={(event) => set(event.currentTarget.value)} />;
    }
  }
}

/** Texts of several lines, one after the other. */
function Texts({ name, values, change }: { name: string; values: string[]; change(values: string[]): void }) {
  return (
    <fieldset className="form-part">
      <legend>{name}</legend>
      <Stack gap={6}>
        {values.map((text, index) => (
          <Group key={index} gap={6} wrap="nowrap" align="start">
            <Textarea
              className="form-text"
              flex={1}
              size="xs"
              aria-label={`${name} ${index + 1}`}
              rows={Math.min(16, Math.max(3, text.split("\n").length))}
              value={text}
              onChange={(event) => change(values.map((one, i) => (i === index ? event.currentTarget.value : one)))}
            />
            <RemoveButton what={`${name} ${index + 1}`} remove={() => change(values.filter((_, i) => i !== index))} />
          </Group>
        ))}
        <Group>
          <Button size="compact-xs" variant="default" onClick={() => change([...values, ""])}>
            Add to {name}
          </Button>
        </Group>
      </Stack>
    </fieldset>
  );
}

/** Whether a text has several lines, or is of those that have. */
function isLong(field: Field, text: string): boolean {
  return text.includes("\n") || field.path.at(-1) === "schema";
}

/** Whether the form shows all that the document has in a field. */
function canShow(field: Field, document: ModelDocument): boolean {
  const value = at(document, field.path);
  if (field.kind === "yaml") return false;
  if (field.kind === "texts") return value === undefined || value === null || (Array.isArray(value) && value.every((one) => typeof one === "string"));
  return true;
}

function textOf(value: unknown): string {
  return value === undefined || value === null ? "" : String(value);
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(Object.entries(Object(value ?? {}) as Record<string, unknown>).map(([key, one]) => [key, textOf(one)]));
}
