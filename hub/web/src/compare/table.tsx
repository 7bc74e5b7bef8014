import { Code, Table, Text } from "@mantine/core";
import { Fragment } from "react";
import type { ComparisonRow, Environment } from "../api/types";
import { Outside, PositionLink, WorkloadLink } from "../parts/links";
import { plain } from "../words/text";
import { positionOf } from "../words/position";
import { oneSided, versionsText, wanted } from "./rows";
import "../parts/table/list-table.css";
import "./table.css";

/** The two sides: what they are called, and where the files of each are as they are now. */
export interface Sides {
  left: { name: string; environment: Environment | undefined };
  right: { name: string; environment: Environment | undefined };
}

/** Targets with their versions on both sides, and below each the configuration that differs. */
export function ComparisonTable({ label, rows, sides }: { label: string; rows: ComparisonRow[]; sides: Sides }) {
  return (
    <div className="list-table" tabIndex={0} role="region" aria-label={`Table: ${label}`}>
      <Table className="comparison" fz="sm" verticalSpacing={6}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th scope="col">Target</Table.Th>
            <Table.Th scope="col">{sides.left.name}</Table.Th>
            <Table.Th scope="col">{sides.right.name}</Table.Th>
            <Table.Th scope="col">On one side only</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Fragment key={`${row.workload}\n${row.target}`}>
              <Table.Tr className={row.config.length > 0 ? "comparison-target" : undefined}>
                <Table.Td>
                  {plain(row.target)}
                  <Text size="xs" c="dimmed">
                    {row.workload && <WorkloadLink name={row.workload} />}
                    {row.pullRequest && (
                      <>
                        {" · waits for "}
                        <Outside url={row.pullRequest.url}>#{row.pullRequest.number}</Outside>
                      </>
                    )}
                  </Text>
                </Table.Td>
                <Versions half={row.left} />
                <Versions half={row.right} />
                <Table.Td>
                  {oneSided(row).map(({ what, side, names }) => (
                    <div key={`${what} ${side}`}>
                      {sides[side].name}: {what} {names.map(plain).join(", ")}
                    </div>
                  ))}
                </Table.Td>
              </Table.Tr>
              {row.config.map((one, index) => (
                <Table.Tr key={`${one.clusterType} ${one.key}`} className={index < row.config.length - 1 ? "comparison-config comparison-target" : "comparison-config"}>
                  <Table.Td>
                    <Code>{plain(one.key)}</Code>
                    {one.clusterType && (
                      <Text span size="xs" c="dimmed">
                        {" "}
                        on {plain(one.clusterType)}
                      </Text>
                    )}
                  </Table.Td>
                  <Value value={one.left} environment={sides.left.environment} />
                  <Value value={one.right} environment={sides.right.environment} />
                  <Table.Td />
                </Table.Tr>
              ))}
            </Fragment>
          ))}
        </Table.Tbody>
      </Table>
    </div>
  );
}

function Versions({ half }: { half: ComparisonRow["left"] }) {
  const other = wanted(half);
  return (
    <Table.Td>
      {plain(versionsText(half))}
      {other && (
        <Text size="xs" c="dimmed">
          should be {plain(other)}
        </Text>
      )}
    </Table.Td>
  );
}

/** The value of a key, and the file that gives it. */
function Value({ value, environment }: { value: ComparisonRow["config"][number]["left"]; environment: Environment | undefined }) {
  if (!value) return <Table.Td>not set</Table.Td>;
  const { file, line } = positionOf(value.place);
  return (
    <Table.Td>
      <span className="reason">{plain(value.value)}</span>
      <Text size="xs" c="dimmed">
        {plain(value.source)} <PositionLink at={{ repo: environment?.controlPlane, branch: environment?.branch, file, line }} />
      </Text>
    </Table.Td>
  );
}
