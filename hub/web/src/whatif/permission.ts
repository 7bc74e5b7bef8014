import { useQuery } from "@tanstack/react-query";
import { me } from "../api/queries";
import type { Me } from "../api/types";

/** Whether a user may propose changes of an environment; "" for any. */
export function mayPropose(user: Me | undefined, env: string): boolean {
  if (!user?.features.proposals || user.role === "viewer") return false;
  const { environments } = user.scope;
  return !environments?.length || env === "" || environments.includes(env);
}

export function useMayPropose(env: string): boolean {
  return mayPropose(useQuery(me).data, env);
}
