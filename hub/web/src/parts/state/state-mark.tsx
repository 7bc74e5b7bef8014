import type { ReactNode } from "react";
import { type ChangeState, changeStates, changeWord } from "../../words/change";
import { meanings, type State } from "../../words/states";
import "./state-mark.css";

// one shape for each state, so that colour alone says nothing; in a box of 16
const circle = <path d="M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 1 1 0-13z" />;
const bars = <path d="M5 2v12M11 2v12" strokeWidth="3" />;
const tick = <path d="M2 8.5l4 4 8-9" strokeWidth="2.5" />;
const shapes: Record<State | ChangeState, ReactNode> = {
  failing: <path d="M5 1h6l4 4v6l-4 4H5l-4-4V5zM5 5l6 6M11 5l-6 6" />,
  missing: <path d="M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 1 1 0-13z" strokeDasharray="2.6 2.5" />,
  extra: <path d="M8 2v12M2 8h12" strokeWidth="3" />,
  edited: <path d="M2 14l1-4 8-8 3 3-8 8zM9 4l3 3" />,
  late: <path d="M8 1.5a6.5 6.5 0 1 1 0 13a6.5 6.5 0 1 1 0-13zM8 4v4l3 2" />,
  suspended: bars,
  unknown: <path d="M4.5 5.5a3.5 3.5 0 1 1 5 3C8.3 9.2 8 9.8 8 11M8 13.5v1.3" strokeWidth="2" />,
  rolling: <path d="M14 8a6 6 0 1 1-2-4.5M14 1v4h-4" />,
  ok: tick,
  open: circle,
  held: bars,
  closed: <path d="M3 3l10 10M13 3L3 13" strokeWidth="2.2" />,
  applied: tick,
  none: <path d="M3 8h10" strokeWidth="2.2" />,
};

/** A state as a shape. The text beside it has the word. */
export function StateShape({ state }: { state: State | ChangeState }) {
  return (
    <svg className="state-shape" data-state={state} viewBox="0 0 16 16" width="14" height="14" fill="none" stroke="currentColor" strokeWidth="1.8" strokeLinejoin="round" aria-hidden="true">
      {shapes[state]}
    </svg>
  );
}

interface MarkProps {
  state: State | ChangeState;
  word: string;
  title?: string;
}

/** A shape and a word. */
export function Mark({ state, word, title }: MarkProps) {
  return (
    <span className="state" title={title}>
      <StateShape state={state} />
      <span>{word}</span>
    </span>
  );
}

/** The state of a placement. */
export function StateMark({ state }: { state: State }) {
  return <Mark state={state} word={state} title={meanings[state]} />;
}

/** The state of a change. */
export function ChangeMark({ state }: { state: ChangeState }) {
  return <Mark state={state} word={changeWord(state)} title={changeStates[state]} />;
}
