import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Against, Edit } from "../../api/types";
import { useParameter } from "../../filters/use-filters";
import { type Asking, plan, refusedEdits } from "../queries";
import { againsts } from "./result";

/** How long no further key may be pressed before a plan is asked for, in ms. The first one asks at once: a press of a button is not followed by others. */
const debounce = 120;

/** The plan of edits. */
export function useAnswer(env: string, edits: Edit[]) {
  const queries = useQueryClient();
  const [wanted, setAgainst] = useParameter("against");
  const against: Against = Object.hasOwn(againsts, wanted) ? (wanted as Against) : "planned";
  const [base, setBase] = useState("");
  const [settled] = useDebouncedValue(edits, debounce, { leading: true });
  const asking: Asking = { env, base, edits: settled, against };
  const asked = useQuery({ ...plan(asking), enabled: settled.length > 0 });
  const found = settled.length > 0 ? asked.data : undefined;

  // what is shown is of this head; from here on the branch may move
  useEffect(() => {
    if (base !== "" || !found || asked.isPlaceholderData) return;
    const { head } = found.plan;
    // asked with that head the answer is the same, so it is not asked for again
    queries.setQueryData(plan({ ...found.asking, base: head }).queryKey, found, { updatedAt: asked.dataUpdatedAt });
    setBase(head);
  }, [base, found, asked.isPlaceholderData, asked.dataUpdatedAt, queries]);

  return {
    asked,
    /** The last answer, with what it is an answer to. */
    found: edits.length > 0 ? found : undefined,
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
