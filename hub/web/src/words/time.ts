const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const full = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** A time as the API writes it, or undefined where there is none. */
export function parseTime(text: string | undefined | null): Date | undefined {
  if (!text) return undefined;
  const time = new Date(text);
  // Go's zero time stands for none
  return Number.isNaN(time.getTime()) || time.getUTCFullYear() < 1970 ? undefined : time;
}

/** The time of day where it is of today, else with the date. */
export function clockText(time: Date, now: Date): string {
  return time.toDateString() === now.toDateString() ? clock.format(time) : full.format(time).replace(",", "");
}

export function fullText(time: Date): string {
  return full.format(time).replace(",", "");
}

const zoned = new Intl.DateTimeFormat("en-CA", { year: "numeric", month: "2-digit", day: "2-digit", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short" });

/** A time in full with the browser's zone, which another reader may not have. */
export function zonedText(time: Date): string {
  return zoned.format(time).replace(",", "");
}

/** How long ago something was, as kubectl writes it: 45s, 12m, 3h20m, 5d. */
export function ageText(since: Date, now: Date): string {
  const seconds = Math.max(0, Math.floor((now.getTime() - since.getTime()) / 1000));
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 > 0 && hours < 8 ? `${hours}h${minutes % 60}m` : `${hours}h`;
  return `${Math.floor(hours / 24)}d`;
}

/** How long something took, in ms: <1s, 45s, 2m5s, 3h20m, 5d2h. */
export function durationText(ms: number): string {
  if (ms < 1000) return "<1s";
  const seconds = Math.floor(ms / 1000);
  const parts = [
    [Math.floor(seconds / 86_400), "d"],
    [Math.floor(seconds / 3600) % 24, "h"],
    [Math.floor(seconds / 60) % 60, "m"],
    [seconds % 60, "s"],
  ] as const;
  const first = parts.findIndex(([n]) => n > 0);
  return parts
    .slice(first, first + 2)
    .filter(([n]) => n > 0)
    .map(([n, unit]) => `${n}${unit}`)
    .join("");
}

const two = (n: number) => String(n).padStart(2, "0");

/** A time as a field for date and time has it, which is of the browser's zone and in minutes; "" for none. */
export function fieldOfTime(time: Date | undefined): string {
  if (!time) return "";
  return `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

/** The time of a field for date and time, as the API takes it; "" where the field has none. */
export function timeOfField(field: string): string {
  const time = field ? new Date(field) : undefined;
  return time && !Number.isNaN(time.getTime()) ? time.toISOString() : "";
}
