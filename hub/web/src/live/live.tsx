import { type Query, useQueryClient } from "@tanstack/react-query";
import { createContext, type ReactNode, useContext, useEffect, useMemo, useRef, useState } from "react";
import type { LiveMeta } from "../api/queries";
import { type LiveMessage, listen } from "./stream";

/** Whether pages follow what happens. */
export interface Live {
  connected: boolean;
  paused: boolean;
  /** How many changes have come while paused. */
  waiting: number;
  pause(paused: boolean): void;
}

const LiveContext = createContext<Live>({ connected: false, paused: false, waiting: 0, pause: () => undefined });

export const useLive = () => useContext(LiveContext);

/** How often what is shown is read anew at most, and at least, in ms. A look that found no change makes no event, but a later "as of". */
const throttle = 1_000;
const slowest = 30_000;

/** Whether pages are paused: a window that is looked at again is no reason to read anew then. */
let halted = false;
export const isPaused = () => halted;

/** Whether a change makes an answer old. */
export function concerns(meta: Partial<LiveMeta> | undefined, message: LiveMessage): boolean {
  if (message.kind === "resync") return meta?.topics !== undefined;
  if (message.kind !== "changed" || !meta?.topics?.includes(message.topic)) return false;
  return !meta.environment || message.environments.length === 0 || message.environments.includes(meta.environment);
}

/** Reads anew what is shown when the hub says that it has changed. */
export function LiveProvider({ children }: { children: ReactNode }) {
  const queries = useQueryClient();
  const [connected, setConnected] = useState(false);
  const [paused, pause] = useState(false);
  const [waiting, setWaiting] = useState(0);
  const received = useRef<LiveMessage[]>([]);
  const pausedNow = useRef(paused);
  pausedNow.current = paused;
  halted = paused;

  useEffect(() => {
    let due: ReturnType<typeof setTimeout> | undefined;
    const stop = listen((message) => {
      if (message.kind === "state") setConnected(message.connected);
      if (message.kind !== "changed" && message.kind !== "resync") return;
      if (pausedNow.current) {
        setWaiting((n) => n + (message.kind === "changed" ? message.n : 1));
        return;
      }
      received.current.push(message);
      due ??= setTimeout(() => {
        due = undefined;
        const all = received.current.splice(0);
        const old = (query: Query) => all.some((one) => concerns(query.meta as Partial<LiveMeta> | undefined, one));
        // an answer that is on its way may be from before the change
        void queries.invalidateQueries({ predicate: old });
      }, throttle);
    });
    return () => {
      clearTimeout(due);
      stop();
    };
  }, [queries]);

  useEffect(() => {
    if (paused) return;
    const poll = setInterval(() => {
      if (!document.hidden) void queries.invalidateQueries({ predicate: (query) => query.meta?.topics !== undefined });
    }, slowest);
    return () => clearInterval(poll);
  }, [paused, queries]);

  const live = useMemo(
    () => ({
      connected,
      paused,
      waiting,
      pause: (next: boolean) => {
        pause(next);
        setWaiting(0);
        if (!next) void queries.invalidateQueries();
      },
    }),
    [connected, paused, waiting, queries],
  );
  return <LiveContext value={live}>{children}</LiveContext>;
}
