import createClient from "openapi-fetch";
import { plain } from "../words/text";
import { setHubTime } from "./clock";
import type { paths } from "./schema";

/** The API's answer when it refuses, or the reason that there is none. */
export class Problem extends Error {
  /** @param status the HTTP status, 0 where the hub could not be reached */
  constructor(
    readonly status: number,
    readonly title: string,
    readonly detail = "",
    readonly hint = "",
    /** The request's id, by which it is found in the log. */
    readonly request = "",
    /** What is wrong with which part of the request. */
    readonly errors: { location: string; message: string }[] = [],
  ) {
    super([title, detail, hint].filter(Boolean).join(": "));
    this.name = "Problem";
  }
}

let csrf = "";

/** Sets the token that changes have to carry; `/me` has it. */
export function setCSRF(token: string): void {
  csrf = token;
}

export const client = createClient<paths, "application/json">({ baseUrl: "/api/v1", credentials: "same-origin" });

/** When the requests were sent that have no answer yet. */
const sent = new WeakMap<Request, number>();

client.use({
  onRequest({ request }) {
    sent.set(request, Date.now());
    if (request.method !== "GET" && csrf) request.headers.set("X-CSRF", csrf);
    return request;
  },
  onResponse({ request, response }) {
    const at = sent.get(request);
    if (at !== undefined) setHubTime(response.headers.get("Date"), at, Date.now());
  },
  onError() {
    return new Problem(0, "the hub does not answer", "", "look at `kalypso status`, or at the hub's log");
  },
});

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of an answer. A refusal is thrown as a Problem. */
export async function read<T>(asked: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await asked;
  if (response.ok) return data as T;
  throw problemOf(response.status, response.statusText, error);
}

/** A Problem out of a problem document, or out of whatever came instead. */
export function problemOf(status: number, statusText: string, body: unknown): Problem {
  const document = typeof body === "object" && body !== null ? (body as Record<string, unknown>) : {};
  const text = (name: string) => (typeof document[name] === "string" ? plain(document[name]) : "");
  const errors = Array.isArray(document.errors) ? document.errors.map(partOf) : [];
  const detail = [text("detail"), ...errors.map(({ location, message }) => [location, message].filter(Boolean).join(": "))].filter(Boolean).join("; ");
  return new Problem(status, text("title") || statusText || `status ${status}`, detail, text("hint"), text("instance"), errors);
}

function partOf(error: unknown): { location: string; message: string } {
  const { location, message } = (error ?? {}) as { location?: unknown; message?: unknown };
  const text = (part: unknown) => (typeof part === "string" ? plain(part) : "");
  return { location: text(location), message: text(message) };
}
