import { Button, Group, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { Failed, Loading } from "../../parts/notices";
import { Section } from "../../parts/section";
import { count, plain } from "../../words/text";
import { ChangeSign } from "./change-sign";
import type { PlanFile } from "../../api/types";
import { diffLines } from "./diff";
import { type Asking, planFile } from "../queries";

/** How many files are listed at a time, and up to how many are open from the beginning. */
const shownAtOnce = 200;
const openAtOnce = 8;

interface FilesProps {
  title: string;
  files: PlanFile[];
  /** How many there are. */
  n: number;
  /** What was asked, for the diffs of files that came without. */
  asking: Asking;
  head: string;
}

/** Files with what changes in them. */
export function Files({ title, files, n, asking, head }: FilesProps) {
  const [shown, setShown] = useState(shownAtOnce);
  if (files.length === 0) return null;
  return (
    <Section title={title}>
      {files.slice(0, shown).map((file) => (
        <File key={file.path} file={file} opened={files.length <= openAtOnce} asking={asking} head={head} />
      ))}
      {n > shown && (
        <Group justify="space-between" mt="xs">
          <Text size="sm">
            {Math.min(shown, files.length).toLocaleString("en")} of {count(n, "file")}
          </Text>
          {files.length > shown && (
            <Button size="xs" variant="default" onClick={() => setShown(shown + shownAtOnce)}>
              More
            </Button>
          )}
        </Group>
      )}
    </Section>
  );
}

function File({ file, opened, asking, head }: { file: PlanFile; opened: boolean; asking: Asking; head: string }) {
  const [open, setOpen] = useState(opened);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <ChangeSign change={file.change} /> {plain(file.path)}
      </summary>
      {open && (file.diff ? <Diff path={file.path} diff={file.diff} /> : <DiffOf path={file.path} asking={asking} head={head} />)}
    </details>
  );
}

/** The diff of a file that came without. */
function DiffOf({ path, asking, head }: { path: string; asking: Asking; head: string }) {
  const asked = useQuery(planFile(asking, head, path));
  return (
    <>
      {asked.isError && <Failed what={`the difference of ${plain(path)}`} asked={asked} />}
      {asked.isPending && <Loading lines={2} />}
      {asked.data?.diff && <Diff path={path} diff={asked.data.diff} />}
    </>
  );
}

const signs = { added: "+", removed: "−", same: "", hunk: "", note: "" } as const;

/** A unified diff, line by line. */
export function Diff({ path, diff }: { path: string; diff: string }) {
  return (
    <div className="diff" tabIndex={0} role="region" aria-label={`Difference of ${plain(path)}`}>
      <table>
        <tbody>
          {diffLines(diff).map((line, index) => (
            <tr key={index} data-line={line.kind}>
              <td className="diff-number">{line.before}</td>
              <td className="diff-number">{line.after}</td>
              <td>
                {signs[line.kind] || " "} {plain(line.text)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
