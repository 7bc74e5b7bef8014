import { type Topic, topics } from "../api/queries";

/** What has changed, as one tab receives it from the hub and the others from that tab. */
export type LiveMessage =
  | { kind: "changed"; topic: Topic; environments: string[]; n: number }
  /** All that is shown may be old: something was missed. */
  | { kind: "resync" }
  | { kind: "state"; connected: boolean }
  /** A tab that has just been opened asks for the state. */
  | { kind: "hello" };

const name = "kalypso-hub-live";

/** How long to wait after the hub has closed the stream with an error. EventSource itself only tries again after a connection was lost. */
const retryAfter = 5_000;

/**
 * Listens to the hub's events until it is stopped. Of all tabs of a browser one has the
 * stream and hands on what it gets, since a browser opens six connections to a host.
 */
export function listen(receive: (message: LiveMessage) => void): () => void {
  const stopped = new AbortController();
  const others = new BroadcastChannel(name);
  let connected: boolean | undefined;
  const send = (message: LiveMessage) => {
    others.postMessage(message);
    receive(message);
  };
  others.onmessage = (event: MessageEvent<LiveMessage>) => {
    if (event.data.kind !== "hello") receive(event.data);
    else if (connected !== undefined) others.postMessage({ kind: "state", connected } satisfies LiveMessage);
  };
  others.postMessage({ kind: "hello" } satisfies LiveMessage);

  const lead = () =>
    follow(stopped.signal, (message) => {
      if (message.kind === "state") connected = message.connected;
      send(message);
    });
  // without locks, which only pages from this machine or by TLS have, every tab leads
  if (navigator.locks) navigator.locks.request(name, { signal: stopped.signal }, lead).catch(() => undefined);
  else void lead();
  return () => {
    stopped.abort();
    others.close();
  };
}

/** Reads the stream until the signal. */
function follow(signal: AbortSignal, send: (message: LiveMessage) => void): Promise<void> {
  return new Promise((resolve) => {
    let source: EventSource;
    let retry: ReturnType<typeof setTimeout> | undefined;
    let last = "";
    const open = () => {
      source = new EventSource(`/api/v1/events?${topics.map((topic) => `topics=${topic}`).join("&")}`);
      source.onopen = () => {
        send({ kind: "state", connected: true });
        // a stream that goes on sends what was missed; a new one begins with now
        if (!last) send({ kind: "resync" });
      };
      source.onerror = () => {
        send({ kind: "state", connected: false });
        if (source.readyState === EventSource.CLOSED) {
          last = "";
          retry = setTimeout(open, retryAfter);
        }
      };
      source.addEventListener("resync", () => send({ kind: "resync" }));
      for (const topic of topics) {
        source.addEventListener(topic, (event) => {
          last = event.lastEventId;
          send(changedOf(topic, event.data));
        });
      }
    };
    open();
    signal.addEventListener("abort", () => {
      clearTimeout(retry);
      source.close();
      resolve();
    });
  });
}

/** A message of the stream. One that cannot be read still says that something has changed. */
export function changedOf(topic: Topic, data: string): LiveMessage {
  let items: { environment?: string }[] = [];
  try {
    items = (JSON.parse(data) as { items?: { environment?: string }[] }).items ?? [];
  } catch {
    return { kind: "changed", topic, environments: [], n: 1 };
  }
  const environments = new Set(items.map((item) => item.environment ?? ""));
  // an item of no environment may be of any
  return { kind: "changed", topic, environments: environments.has("") ? [] : [...environments], n: Math.max(1, items.length) };
}
