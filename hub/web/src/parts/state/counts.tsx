import { UnstyledButton } from "@mantine/core";
import { counted, meanings, type State, states } from "../../words/states";
import { StateMark } from "./state-mark";
import "./counts.css";

const number = new Intl.NumberFormat("en");

/** Counts by state in a line; "none" where there is nothing to count. */
export function Counts({ counts }: { counts: Record<string, number> | undefined }) {
  const all = counted(counts);
  if (all.length === 0) return <span>none</span>;
  return (
    <span className="counts">
      {all.map(([state, n]) => (
        <span key={state} className="counts-one">
          <span>{number.format(n)}</span> <StateMark state={state} />
        </span>
      ))}
    </span>
  );
}

interface LegendProps {
  counts: Record<string, number> | undefined;
  chosen: State[];
  toggle(state: State): void;
}

/** All states with their shapes and counts. Each is a filter. */
export function Legend({ counts, chosen, toggle }: LegendProps) {
  const n = new Map(counted(counts));
  return (
    <div className="legend" role="group" aria-label="Filter by state">
      {states.map((state) => (
        <UnstyledButton key={state} className="legend-one" aria-pressed={chosen.includes(state)} title={meanings[state]} onClick={() => toggle(state)}>
          <StateMark state={state} />
          {counts && <span className="legend-n">{number.format(n.get(state) ?? 0)}</span>}
        </UnstyledButton>
      ))}
    </div>
  );
}
