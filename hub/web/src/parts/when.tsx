import { useEffect, useState } from "react";
import { ageText, fullText, parseTime } from "../words/time";

/** How long ago, with the time itself as its title; "not known" for a time that nobody says. */
export function Since({ time }: { time: string | undefined | null }) {
  const now = useNow();
  const at = parseTime(time);
  if (!at) return <>not known</>;
  return (
    <time dateTime={at.toISOString()} title={fullText(at)}>
      {ageText(at, now)}
    </time>
  );
}

/** A time in full. */
export function Time({ time }: { time: string | undefined | null }) {
  const at = parseTime(time);
  if (!at) return <>not known</>;
  return <time dateTime={at.toISOString()}>{fullText(at)}</time>;
}

/** The time, anew every 10 s. */
export function useNow(): Date {
  const [now, setNow] = useState(() => new Date());
  useEffect(() => {
    const tick = setInterval(() => setNow(new Date()), 10_000);
    return () => clearInterval(tick);
  }, []);
  return now;
}
