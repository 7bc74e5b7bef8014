import { useEffect, useState } from "react";
import { hubNow } from "../api/clock";
import { ageText, fullText, parseTime, zonedText } from "../words/time";

/** How long ago, with the time itself as its title; "not known" for a time that nobody says. */
export function Since({ time }: { time: string | undefined | null }) {
  const now = useNow();
  const at = parseTime(time);
  if (!at) return <>not known</>;
  return (
    <time dateTime={at.toISOString()} title={zonedText(at)}>
      {ageText(at, now)}
    </time>
  );
}

/** A time in full. */
export function Time({ time }: { time: string | undefined | null }) {
  const at = parseTime(time);
  if (!at) return <>not known</>;
  return (
    <time dateTime={at.toISOString()} title={zonedText(at)}>
      {fullText(at)}
    </time>
  );
}

/** The hub's time, anew every 10 s. */
export function useNow(): Date {
  const [now, setNow] = useState(hubNow);
  useEffect(() => {
    const tick = setInterval(() => setNow(hubNow()), 10_000);
    return () => clearInterval(tick);
  }, []);
  return now;
}
