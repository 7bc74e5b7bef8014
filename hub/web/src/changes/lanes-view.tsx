import { Box, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { useId, useState } from "react";
import { changeClusters } from "../api/queries";
import type { ChangeCluster, ChangeDetail, ChangeLane } from "../api/types";
import { ClusterLink } from "../parts/links";
import { More } from "../parts/table/list-buttons";
import { Answered, Empty } from "../parts/notices";
import { useNow } from "../parts/when";
import { plain } from "../words/text";
import { after, type Bar, barsOfCluster, barsOfLane, spanOf, type Span, ticksOf } from "./lanes";
import "./lanes.css";

/** The way of a change to the clusters: a lane for each cluster type, and below one that is open a lane for each cluster. */
export function Lanes({ change }: { change: ChangeDetail }) {
  const span = spanOf(change, useNow());
  if (change.lanes.length === 0) return <Empty reason="No cluster follows the branch that it is on." />;
  return (
    <div className="lanes">
      {span && (
        <div className="lane lane-axis" aria-hidden="true">
          <span />
          <span className="lane-track">
            {ticksOf(span).map(({ at, text }) => (
              <span key={text} className="lane-tick" style={{ left: `${at * 100}%` }}>
                {text}
              </span>
            ))}
          </span>
        </div>
      )}
      <ul className="lane-list" aria-label="Cluster types">
        {change.lanes.map((lane) => (
          <TypeLane key={lane.clusterType} id={change.id} lane={lane} span={span} />
        ))}
      </ul>
    </div>
  );
}

function TypeLane({ id, lane, span }: { id: number; lane: ChangeLane; span: Span | undefined }) {
  const [open, setOpen] = useState(false);
  const inside = useId();
  const begun = span && after(lane.firstApplied, span);
  const ended = span && lane.reached >= lane.total ? after(lane.applied, span) : "";
  return (
    <li>
      <div className="lane">
        <UnstyledButton className="lane-name" aria-expanded={open} aria-controls={inside} onClick={() => setOpen(!open)}>
          <span aria-hidden="true">{open ? "▾" : "▸"}</span> {plain(lane.clusterType)}
        </UnstyledButton>
        {span && <Track bars={barsOfLane(lane, span)} failing={lane.failing > 0} label={[begun && `first applied after ${begun}`, ended && `on all after ${ended}`].filter(Boolean).join(", ") || "not applied yet"} />}
        <span className="lane-count">
          {lane.reached.toLocaleString("en")}/{lane.total.toLocaleString("en")}
          {lane.failing > 0 && <span className="reached-failing"> {lane.failing.toLocaleString("en")} failing</span>}
        </span>
        <span className="lane-took">{ended}</span>
      </div>
      <div id={inside}>{open && <Clusters id={id} clusterType={lane.clusterType} span={span} />}</div>
    </li>
  );
}

function Clusters({ id, clusterType, span }: { id: number; clusterType: string; span: Span | undefined }) {
  const asked = useInfiniteQuery(changeClusters(id, clusterType));
  const all = asked.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <Answered what={`the clusters of type ${plain(clusterType)}`} asked={asked}>
      <ul className="lane-list lane-clusters" aria-label={`Clusters of type ${plain(clusterType)}`}>
        {all.map((one) => (
          <ClusterLane key={`${one.cluster} ${one.subscription}`} one={one} span={span} />
        ))}
      </ul>
      <Box ml={24}>
        <More query={asked} size="compact-xs" />
      </Box>
    </Answered>
  );
}

function ClusterLane({ one, span }: { one: ChangeCluster; span: Span | undefined }) {
  const fetched = span && after(one.fetched, span);
  const applied = span && after(one.applied, span);
  return (
    <li>
      <div className="lane" data-state={one.state}>
        <span className="lane-name">
          <ClusterLink name={one.cluster} />
        </span>
        {span && <Track bars={barsOfCluster(one, span)} failing={one.state === "failing"} label={[fetched && `fetched after ${fetched}`, applied && `applied after ${applied}`].filter(Boolean).join(", ")} />}
        <span className="lane-count">{plain(one.state)}</span>
        <span className="lane-took">{applied}</span>
      </div>
      {one.reason && <div className="lane-reason reason">{plain(one.reason)}</div>}
    </li>
  );
}

function Track({ bars, failing, label }: { bars: Bar[]; failing: boolean; label: string }) {
  const last = bars.at(-1);
  return (
    <span className="lane-track" data-failing={failing || undefined} title={label}>
      <VisuallyHidden>{label}</VisuallyHidden>
      {bars.map((bar) => (
        <span key={bar.kind} className="lane-bar" data-kind={bar.kind} data-open={bar.open || undefined} style={{ left: `${bar.from * 100}%`, width: `${(bar.to - bar.from) * 100}%` }} />
      ))}
      {last && !last.open && <span className="lane-end" style={{ left: `${last.to * 100}%` }} />}
    </span>
  );
}
