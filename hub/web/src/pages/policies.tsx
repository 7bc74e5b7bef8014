import { Code, Text } from "@mantine/core";
import type { Clause, Explanation } from "../api/types";
import { EditButton } from "../whatif/edit-button";
import { PositionLink } from "../parts/links";
import { Section } from "../parts/section";
import { plain } from "../words/text";

/** Clauses, each with whether it holds, and of one that does not, why and what to do. */
export function Clauses({ all }: { all: Clause[] }) {
  if (all.length === 0) return <Text size="sm">no clause, which selects everything</Text>;
  return (
    <ul className="clauses">
      {all.map((one, index) => (
        <li key={index}>
          <span aria-hidden="true">{one.holds ? "✓" : "✗"}</span> <Code>{plain(one.text)}</Code> {one.holds ? "holds" : "fails"} <PositionLink at={one.place} />
          {one.miss && (
            <Text size="sm">
              {plain(one.miss.reason)} <PositionLink at={one.miss.found ?? one.miss.add} />
              {one.miss.hint && ` ${plain(one.miss.hint)}`}
            </Text>
          )}
        </li>
      ))}
    </ul>
  );
}

/** How many cluster types of a policy are listed. */
const most = 20;

/** What each policy makes of the target and of the cluster types. */
export function Policies({ env, all }: { env: string; all: Explanation["policies"] }) {
  return (
    <Section title="Scheduling policies">
      {all.length === 0 && <Text size="sm">The environment has no SchedulingPolicy, so nothing is assigned.</Text>}
      {all.map((policy) => (
        <details key={policy.name} open={all.length === 1 || policy.selectsTarget}>
          <summary>
            {plain(policy.name)} {policy.selectsTarget ? "selects the target" : "does not select the target"}
            {policy.selectsTarget && `, and ${policy.clusterTypes.filter((one) => one.selected).length} of ${policy.clusterTypes.length} cluster types`}
          </summary>
          <PositionLink at={policy.place} />{" "}
          <EditButton env={env} kind="SchedulingPolicy" name={policy.name} label={`Change policy ${plain(policy.name)}`}>
            Change
          </EditButton>
          <Clauses all={policy.clauses} />
          {policy.clusterTypes.slice(0, most).map((one) => (
            <details key={one.clusterType}>
              <summary>
                {plain(one.clusterType)}: {one.selected ? "selected" : "not selected"}
              </summary>
              <Clauses all={one.clauses} />
            </details>
          ))}
          {policy.clusterTypes.length > most && <Text size="sm">and {policy.clusterTypes.length - most} more. Choose one above to see it.</Text>}
        </details>
      ))}
    </Section>
  );
}
