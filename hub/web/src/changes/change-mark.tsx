import type { ReactNode } from "react";
import { type ChangeState, changeStates, changeWord } from "../words/change";
import "../parts/state-mark.css";

// as those of placements, in a box of 16: what is the same has the same shape
const shapes: Record<ChangeState, ReactNode> = {
  open: <path d="M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 1 1 0-13z" />,
  held: <path d="M5 2v12M11 2v12" strokeWidth="3" />,
  closed: <path d="M3 3l10 10M13 3L3 13" strokeWidth="2.2" />,
  rolling: <path d="M14 8a6 6 0 1 1-2-4.5M14 1v4h-4" />,
  failing: <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5zM5 5l6 6M11 5l-6 6" />,
  applied: <path d="M2 8.5l4 4 8-9" strokeWidth="2.5" />,
  none: <path d="M3 8h10" strokeWidth="2.2" />,
};

/** The state of a change as a shape and a word. */
export function ChangeMark({ state }: { state: ChangeState }) {
  return (
    <span className="state" title={changeStates[state]}>
      <svg className="state-shape" data-state={state} viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinejoin="round" aria-hidden="true">
        {shapes[state]}
      </svg>
      <span>{changeWord(state)}</span>
    </span>
  );
}
