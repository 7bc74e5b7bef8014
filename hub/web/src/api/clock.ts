/** A difference below this, in ms, is the way of the answer: the header has whole seconds. */
const least = 2_000;

/** How far the hub's clock is ahead of the browser's, in ms. */
let ahead = 0;

/** How far a clock is ahead that said a time, as an HTTP Date header has it, between two moments of this one. */
export function aheadOf(date: string | null, sent: number, received: number): number {
  const said = date ? Date.parse(date) : Number.NaN;
  if (Number.isNaN(said)) return 0;
  // the header leaves out what is after the second
  const difference = said + 500 - (sent + received) / 2;
  return Math.abs(difference) - (received - sent) / 2 > least ? difference : 0;
}

/** Takes the hub's time from an answer. */
export function setHubTime(date: string | null, sent: number, received: number): void {
  if (date) ahead = aheadOf(date, sent, received);
}

/** What the hub's clock says now. Ages of what the hub has seen are counted by it, since a browser's clock may be wrong. */
export function hubNow(): Date {
  return new Date(Date.now() + ahead);
}
