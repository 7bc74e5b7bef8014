import { useVirtualizer, type VirtualItem } from "@tanstack/react-virtual";
import { type KeyboardEvent, memo, type MouseEvent, useId, useRef, useState } from "react";
import { StateShape } from "../parts/state/state-mark";
import type { Part } from "../words/cell";
import { plain } from "../words/text";
import { type Col, type GridPosition, type Line, moved, shortName, textOf } from "./matrix";
import "./grid.css";

const nameWidth = 230;
const colWidth = 168;
const lineHeight = 34;
/** Two lines: workloads and targets. */
const headHeight = 60;

interface GridProps {
  label: string;
  cols: Col[];
  lines: Line[];
  /** A line with clusters is opened or closed, or more lines are asked for. */
  expand(line: Line): void;
  /** A cell is chosen; of a cell without a placement, too. */
  choose(line: Line & { kind: "type" | "cluster" }, col: Col): void;
}

/** The matrix as a grid, of which only what is in sight is in the page. The arrow keys move in it. */
export function Grid({ label, cols, lines, expand, choose }: GridProps) {
  const id = useId();
  const scroller = useRef<HTMLDivElement>(null);
  const [at, setAt] = useState<GridPosition>({ line: 0, col: 0 });
  const down = useVirtualizer({
    count: lines.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => lineHeight,
    overscan: 6,
    paddingStart: headHeight,
    scrollPaddingStart: headHeight,
    // both scroll at once, and are drawn together
    useFlushSync: false,
  });
  const across = useVirtualizer({
    horizontal: true,
    count: cols.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => colWidth,
    overscan: 2,
    paddingStart: nameWidth,
    scrollPaddingStart: nameWidth,
    useFlushSync: false,
  });
  const active = { line: Math.min(at.line, Math.max(0, lines.length - 1)), col: Math.min(at.col, cols.length) };

  const act = (position: GridPosition) => {
    const line = lines[position.line];
    const col = cols[position.col - 1];
    if (!line) return;
    if (line.kind === "more" || (line.kind === "type" && !col)) expand(line);
    else if (col) choose(line, col);
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      act(active);
      return;
    }
    const page = Math.max(1, Math.floor((scroller.current?.clientHeight ?? 0) / lineHeight) - 3);
    const next = moved(active, event.key, event.ctrlKey, lines.length, cols.length, page);
    if (!next) return;
    event.preventDefault();
    setAt(next);
    down.scrollToIndex(next.line);
    if (next.col > 0) across.scrollToIndex(next.col - 1);
  };
  const click = (event: MouseEvent) => {
    const cell = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-line]") : null;
    if (!cell) return;
    const position = { line: Number(cell.dataset.line), col: Number(cell.dataset.col) };
    setAt(position);
    act(position);
  };

  const shown = across.getVirtualItems();
  const width = across.getTotalSize();
  return (
    <div
      ref={scroller}
      className="grid"
      role="grid"
      aria-label={label}
      aria-rowcount={lines.some((line) => line.kind === "more") ? -1 : lines.length + 2}
      aria-colcount={cols.length + 1}
      aria-activedescendant={`${id}-${active.line}-${active.col}`}
      tabIndex={0}
      onKeyDown={press}
      onClick={click}
    >
      <div className="grid-all" role="presentation" style={{ width, height: down.getTotalSize() }}>
        <Head cols={cols} shown={shown} width={width} />
        <div role="rowgroup">
          {down.getVirtualItems().map(({ index, start }) => {
            const line = lines[index];
            return (
              line && (
                <GridLine
                  key={keyOf(line)}
                  line={line}
                  id={id}
                  index={index}
                  top={start}
                  width={width}
                  cols={cols}
                  first={shown[0]?.index ?? 0}
                  last={shown.at(-1)?.index ?? -1}
                  active={active.line === index ? active.col : -1}
                />
              )
            );
          })}
        </div>
      </div>
    </div>
  );
}

function keyOf(line: Line): string {
  return line.kind === "more" ? `more ${line.clusterType}` : `${line.kind} ${line.row.clusterType} ${line.row.name}`;
}

/** Workloads, and below each its targets. */
function Head({ cols, shown, width }: { cols: Col[]; shown: VirtualItem[]; width: number }) {
  const visible = new Set(shown.map((item) => cols[item.index]?.workload));
  const groups = groupsOf(cols).filter((group) => visible.has(group.workload));
  return (
    <div className="grid-head" role="rowgroup" style={{ width, height: headHeight }}>
      <div role="row" aria-rowindex={1} className="grid-head-line">
        <span role="columnheader" aria-colindex={1} className="grid-corner" style={{ width: nameWidth }}>
          Workload
        </span>
        {groups.map((group) => (
          <span
            key={group.workload}
            role="columnheader"
            aria-colindex={group.first + 2}
            aria-colspan={group.n}
            className="grid-group"
            style={{ left: nameWidth + group.first * colWidth, width: group.n * colWidth }}
          >
            <span className="grid-group-name" style={{ left: nameWidth + 8 }}>
              {plain(group.workload)}
            </span>
          </span>
        ))}
      </div>
      <div role="row" aria-rowindex={2} className="grid-head-line">
        <span role="columnheader" aria-colindex={1} className="grid-corner" style={{ width: nameWidth }}>
          Cluster type
        </span>
        {shown.map(({ index, start }) => {
          const col = cols[index];
          return (
            col && (
              <span key={index} role="columnheader" aria-colindex={index + 2} aria-label={plain(col.name)} className="grid-col" title={plain(col.name)} style={{ left: start, width: colWidth }}>
                {plain(shortName(col))}
              </span>
            )
          );
        })}
      </div>
    </div>
  );
}

function groupsOf(cols: Col[]): { workload: string; first: number; n: number }[] {
  const groups: { workload: string; first: number; n: number }[] = [];
  cols.forEach((col, index) => {
    const last = groups.at(-1);
    if (last?.workload === col.workload) last.n++;
    else groups.push({ workload: col.workload, first: index, n: 1 });
  });
  return groups;
}

interface GridLineProps {
  line: Line;
  id: string;
  index: number;
  top: number;
  width: number;
  cols: Col[];
  /** The columns that are in sight. */
  first: number;
  last: number;
  /** The column of the marked cell, -1 where it is on another line. */
  active: number;
}

// while the grid scrolls, only the lines that come are made
const GridLine = memo(function GridLine({ line, id, index, top, width, cols, first, last, active }: GridLineProps) {
  return (
    <div className="grid-line" role="row" aria-rowindex={index + 3} data-kind={line.kind} style={{ top, width }}>
      <NameCell line={line} id={id} index={index} active={active === 0} />
      {line.kind !== "more" &&
        cols.slice(first, last + 1).map((col, offset) => (
          <Cell key={col.name} parts={line.row.cells.get(col.name)} id={id} line={index} col={first + offset + 1} active={active === first + offset + 1} />
        ))}
    </div>
  );
});

const moreTexts = { loading: "Loading", more: "More", failed: "No answer. Try again" };

function NameCell({ line, id, index, active }: { line: Line; id: string; index: number; active: boolean }) {
  return (
    <span
      id={`${id}-${index}-0`}
      className="grid-name"
      role="rowheader"
      aria-colindex={1}
      aria-expanded={line.kind === "type" ? line.open : undefined}
      data-line={index}
      data-col={0}
      data-active={active || undefined}
      style={{ width: nameWidth }}
      title={line.kind === "more" ? undefined : plain(line.row.name)}
    >
      {line.kind === "more" && moreTexts[line.state]}
      {line.kind === "cluster" && <span className="grid-name-text">{plain(line.row.name)}</span>}
      {line.kind === "type" && (
        <>
          <span aria-hidden="true">{line.open ? "▾" : "▸"}</span>
          <span className="grid-name-text">{plain(line.row.name)}</span>
          <span className="grid-name-n">{line.row.clusters}</span>
        </>
      )}
    </span>
  );
}

interface CellProps {
  parts: Part[] | undefined;
  id: string;
  line: number;
  /** From 1: column 0 is that of the names. */
  col: number;
  active: boolean;
}

const Cell = memo(function Cell({ parts, id, line, col, active }: CellProps) {
  const found = parts && textOf(parts);
  const label = found ? plain(found.label) : "not assigned";
  return (
    <span
      id={`${id}-${line}-${col}`}
      className="grid-cell"
      role="gridcell"
      aria-colindex={col + 1}
      aria-label={label}
      data-line={line}
      data-col={col}
      data-state={found?.state}
      data-active={active || undefined}
      style={{ left: nameWidth + (col - 1) * colWidth, width: colWidth }}
      title={found ? label : "not assigned; choose it to see why"}
    >
      {found ? (
        <>
          <StateShape state={found.state} />
          <span className="grid-cell-text">{plain(found.text)}</span>
        </>
      ) : (
        "–"
      )}
    </span>
  );
});
