import { useQuery } from "@tanstack/react-query";
import { environments } from "./queries";
import type { Environment } from "./types";

/** The environments in the order of their promotion, and how the query of them is. */
export function useEnvironments() {
  const asked = useQuery(environments);
  return { asked, all: inOrder(asked.data?.items ?? []) };
}

function inOrder(all: Environment[]): Environment[] {
  return [...all].sort((a, b) => a.position - b.position);
}
