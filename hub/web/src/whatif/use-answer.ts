import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useParameter } from "../filters/use-filters";
import type { Against, Edit } from "../api/types";
import { type Asking, plan, refusedEdits } from "./queries";
import { againsts } from "./result";

/** How long after the last key a plan is asked for, in ms: with what the plan takes it is to be there within 300. */
const debounce = 120;

/** The plan of edits, asked for when no key has been pressed for a moment. */
export function useAnswer(env: string, edits: Edit[]) {
  const [wanted, setAgainst] = useParameter("against");
  const against: Against = wanted in againsts ? (wanted as Against) : "planned";
  const [base, setBase] = useState("");
  const [settled] = useDebouncedValue(edits, debounce);
  const asking: Asking = { env, base, edits: settled, against };
  const asked = useQuery({ ...plan(asking), enabled: settled.length > 0 });
  const found = settled.length > 0 ? asked.data : undefined;
  const head = found?.plan.head ?? "";

  // what is shown is of this head; from here on the branch may move
  useEffect(() => {
    if (base === "" && head !== "") setBase(head);
  }, [base, head]);

  return {
    asking,
    asked,
    plan: edits.length > 0 ? found?.plan : undefined,
    took: found?.took ?? 0,
    /** What is shown is of edits before these. */
    old: edits !== settled || asked.isPlaceholderData,
    refused: settled === edits ? refusedEdits(asked.error) : new Map<number, string>(),
    against,
    setAgainst: (next: Against) => setAgainst(next === "planned" ? "" : next),
    /** Goes on from another head. */
    rebase: setBase,
  };
}

export type AnswerState = ReturnType<typeof useAnswer>;
