import { VisuallyHidden } from "@mantine/core";
import type { Change } from "../api/types";
import { useNow } from "../parts/when";
import { changeStateOf } from "../words/change";
import { clockText, durationText, fullText, zonedText } from "../words/time";
import { shortStages, type Stage, type StageName, stagesOf, stageTitles } from "./stages";
import "./stage-bar.css";

const titles = { ...stageTitles, applied: "Applied" };

/** What stands above the stage bars of a list. */
export function StageHead() {
  return (
    <div className="stages stages-head" aria-hidden="true">
      {shortStages.map((name) => (
        <span key={name} className="stage">
          {titles[name]}
        </span>
      ))}
    </div>
  );
}

/** How far a change has come, in a line: a mark for each stage, and between two what the later one took. */
export function StageBar({ change }: { change: Change }) {
  const now = useNow();
  return (
    <ol className="stages">
      {stagesOf(change, shortStages, now).map((stage) => (
        <li key={stage.name} className="stage" data-state={stage.state} data-stage={stage.name} title={`${stageTitles[stage.name]}: ${sentence(stage)}`}>
          {stage.name !== shortStages[0] && (
            <span className="stage-line">
              {stage.took !== undefined && <span className="stage-took">{durationText(stage.took)}</span>}
            </span>
          )}
          <Dot failing={failingAt(change, stage.name)} />
          <VisuallyHidden>
            {stageTitles[stage.name]}: {sentence(stage)}
          </VisuallyHidden>
          {stage.name === "applied" && stage.state !== "never" && <Reached change={change} />}
        </li>
      ))}
    </ol>
  );
}

/** The stages of one change with their times. */
export function Stages({ change }: { change: Change }) {
  const now = useNow();
  return (
    <ol className="stages-full" aria-label="Stages">
      {stagesOf(change, Object.keys(stageTitles) as StageName[], now).map((stage) => (
        <li key={stage.name} className="stage-full" data-state={stage.state} data-stage={stage.name}>
          <span className="stage-rail" aria-hidden="true">
            <Dot failing={failingAt(change, stage.name)} />
          </span>
          <span className="stage-title">{stageTitles[stage.name]}</span>
          <span className="stage-at">
            {stage.at ? (
              <time dateTime={stage.at.toISOString()} title={zonedText(stage.at)}>
                {clockText(stage.at, now)}
              </time>
            ) : (
              words[stage.state]
            )}
          </span>
          <span className="stage-took">
            {stage.took !== undefined && (stage.state === "current" ? `for ${durationText(stage.took)}` : `after ${durationText(stage.took)}`)}
          </span>
        </li>
      ))}
    </ol>
  );
}

const words: Record<Stage["state"], string> = { done: "", unknown: "not known", current: "waiting", later: "not yet", never: "never" };

function sentence({ state, at, took }: Stage): string {
  if (at) return fullText(at) + (took === undefined ? "" : `, after ${durationText(took)}`);
  return state === "current" && took !== undefined ? `waiting for ${durationText(took)}` : words[state];
}

/** Where a change that fails does so. */
function failingAt(change: Change, stage: StageName): boolean {
  return stage === "applied" && changeStateOf(change.state) === "failing";
}

function Dot({ failing }: { failing: boolean }) {
  return (
    <svg className="stage-dot" data-failing={failing || undefined} viewBox="0 0 12 12" width="12" height="12" aria-hidden="true">
      {failing ? <path d="M2 2l8 8M10 2l-8 8" /> : <circle cx="6" cy="6" r="4.5" />}
    </svg>
  );
}

/** On how many clusters it is. */
export function Reached({ change }: { change: Pick<Change, "reached" | "failing" | "total"> }) {
  if (change.total === 0) return null;
  return (
    <span className="reached">
      {change.reached.toLocaleString("en")}/{change.total.toLocaleString("en")}
      {change.failing > 0 && <span className="reached-failing"> {change.failing.toLocaleString("en")} failing</span>}
    </span>
  );
}
